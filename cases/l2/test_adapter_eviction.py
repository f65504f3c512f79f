"""What a ``plugin`` owes to those who evict: locks, deletes, what listeners are told, and how much is used."""

from cases.l2.adapter import (
    SIZE,
    about_adapters,
    about_deleting,
    about_eviction,
    adapter_case,
    found,
    loaded,
    locked,
    stored,
)
from harness.judge import Judge
from harness.l2.adapter_calls import AdapterCalls
from harness.l2.interface import LISTENING
from harness.l2.keys import L2Keys
from wire.release import Release

DELETE_BOUND = 10.0
"""Seconds that a delete may take."""
PATIENCE = 15.0
SALTED = "0.4.5 and later"


@about_adapters("PLUG-ADP-017")
def test_needless_unlocks(judge: Judge, adapter: AdapterCalls, l2_keys: L2Keys) -> None:
    """Unlocking what was never locked, never stored, or is unlocked already, does nothing."""
    key, unknown = l2_keys.some(2)
    (data,) = stored(judge, adapter, [key])
    for keys in ([unknown], [key], [unknown, key, unknown]):
        adapter.unlock(keys)
    locked(adapter, [key])
    for _ in range(3):
        adapter.unlock([key])
    bits = found(adapter, [key, unknown])
    judge.holds(bits == [True, False], "unlocks altered what is stored", expected=[True, False], got=bits)
    _, (held,) = loaded(adapter, [key])
    judge.holds(held == data, "unlocks altered the bytes of an object")


@about_deleting("PLUG-ADP-018", "PLUG-ADP-020")
def test_locks_balance(judge: Judge, adapter: AdapterCalls, l2_keys: L2Keys) -> None:
    """Once each lock was taken back, an object can be deleted like any other."""
    keys = l2_keys.some(3)
    stored(judge, adapter, keys)
    for _ in range(3):
        locked(adapter, keys)
    loaded(adapter, keys)
    adapter.unlock(keys)
    adapter.unlock([*keys, *keys])
    adapter.delete(keys, timeout=PATIENCE)
    bits, _ = loaded(adapter, keys)
    judge.holds(
        not any(bits),
        "objects without locks were not deleted",
        expected=[False] * 3,
        got=bits,
        cite="PLUG-ADP-018",
    )


@about_deleting("PLUG-ADP-019")
def test_locked_objects_stay(judge: Judge, adapter: AdapterCalls, l2_keys: L2Keys) -> None:
    """An object that a lookup locked can be loaded, also when it is deleted in between."""
    key = l2_keys.one()
    (data,) = stored(judge, adapter, [key])
    locked(adapter, [key])
    adapter.delete([key], timeout=PATIENCE)
    bits, (held,) = loaded(adapter, [key])
    judge.holds(bits == [True], "an object that a lookup had locked was deleted before its load", expected=[True], got=bits)
    judge.holds(held == data, "a locked object was loaded with other bytes after a delete")


@about_deleting("PLUG-ADP-020")
def test_deletes(judge: Judge, adapter: AdapterCalls, l2_keys: L2Keys) -> None:
    """What was deleted is gone when the delete returns, and nothing else is."""
    keys, unknown = l2_keys.some(4), l2_keys.some(2)
    objects = stored(judge, adapter, keys)
    adapter.delete([unknown[0], keys[0], keys[2], unknown[1]], timeout=PATIENCE)
    bits, held = loaded(adapter, keys)
    wanted = [False, True, False, True]
    judge.holds(bits == wanted, "a delete of the first and third of four objects", expected=wanted, got=bits)
    judge.holds(held[1] == objects[1] and held[3] == objects[3], "a delete altered the bytes of other objects")
    bits = found(adapter, keys)
    judge.holds(bits == wanted, "a lookup after a delete of the first and third of four objects", expected=wanted, got=bits)
    stored(judge, adapter, keys[:1])
    judge.holds(found(adapter, keys[:1]) == [True], "an object that was deleted cannot be stored again")


@about_deleting("PLUG-ADP-021")
def test_deletes_of_locked_objects_end(judge: Judge, adapter: AdapterCalls, l2_keys: L2Keys) -> None:
    """A delete returns in time when some of its objects are locked, or do not exist."""
    keys = l2_keys.some(3)
    stored(judge, adapter, keys)
    locked(adapter, keys[:2])
    seconds = adapter.delete([*keys, *l2_keys.some(2)], timeout=PATIENCE)
    judge.holds(seconds < DELETE_BOUND, f"a delete took {seconds:.1f} s because objects are locked")
    bits = found(adapter, keys[2:])
    judge.holds(bits == [False], "an object that is not locked was not deleted with others that are", cite="PLUG-ADP-020")


@about_eviction("PLUG-ADP-022", "PLUG-ADP-023")
def test_listeners(judge: Judge, adapter: AdapterCalls, l2_keys: L2Keys, release: Release) -> None:
    """Listeners hear of each object that was stored and of each that was deleted, with its size, and of no other."""
    cite = "PLUG-ADP-022" if has_capacity(adapter) else "PLUG-ADP-023"
    keys = l2_keys.some(3)
    stored(judge, adapter, keys)
    adapter.delete(l2_keys.some(1), timeout=PATIENCE)
    adapter.delete(keys[:1], timeout=PATIENCE)
    adapter.delete(keys[:1], timeout=PATIENCE)
    events = adapter.events()
    told = [key for event in events if event.what == "stored" for key in event.keys]
    judge.holds(sorted(told) == sorted(keys), f"3 objects were stored, and listeners heard of {len(told)}", cite=cite)
    if LISTENING[release] == "sizes":
        sizes = [size for event in events if event.what == "stored" for size in event.sizes or ()]
        judge.holds(sizes == [SIZE] * 3, f"3 objects of {SIZE} bytes were stored, and listeners heard of {sizes}", cite=cite)
    gone = [key for event in events if event.what == "deleted" for key in event.keys]
    judge.holds(
        gone == keys[:1],
        f"one object was deleted, and then something that is not there, and listeners heard of {len(gone)}",
        expected=keys[:1],
        got=gone,
        cite=cite,
    )


@about_eviction("PLUG-ADP-024")
def test_listeners_hear_of_loads(judge: Judge, adapter: AdapterCalls, l2_keys: L2Keys) -> None:
    """Listeners hear of each object that was loaded, and of none that was not."""
    keys = l2_keys.some(3)
    stored(judge, adapter, keys)
    adapter.events()
    loaded(adapter, [*keys[:2], l2_keys.one()])
    told = [key for event in adapter.events() if event.what == "accessed" for key in event.keys]
    judge.holds(
        sorted(told) == sorted(keys[:2]),
        f"2 objects were loaded, and listeners heard of {len(told)}",
        expected=keys[:2],
        got=told,
    )


@adapter_case("PLUG-ADP-025", "PLUG-ADP-026", needs=("plugin", "usage", "delete"), releases=SALTED)
def test_usage(judge: Judge, adapter: AdapterCalls, l2_keys: L2Keys) -> None:
    """The bytes in use, in all and for each salt, are those of the objects that are there."""
    cite = "PLUG-ADP-025" if has_capacity(adapter) else "PLUG-ADP-026"
    plain = l2_keys.some(2)
    salted = l2_keys.one(salt="tenant")
    used(judge, adapter, {}, "nothing was stored", cite)
    stored(judge, adapter, [*plain, salted])
    used(judge, adapter, {"": 2 * SIZE, "tenant": SIZE}, "three objects were stored, one of them with a salt", cite)
    stored(judge, adapter, plain)
    used(judge, adapter, {"": 2 * SIZE, "tenant": SIZE}, "two of them were stored again", cite)
    adapter.delete([plain[0], salted, l2_keys.one()], timeout=PATIENCE)
    used(judge, adapter, {"": SIZE}, "two were deleted, and one that is not there", cite)
    adapter.delete([plain[0]], timeout=PATIENCE)
    used(judge, adapter, {"": SIZE}, "one was deleted a second time", cite)


def used(judge: Judge, adapter: AdapterCalls, wanted: dict[str, int], because: str, cite: str) -> None:
    """So many bytes are in use for each salt."""
    usage = adapter.usage()
    judge.holds(
        usage.bytes == sum(wanted.values()) and usage.by_salt == wanted,
        f"{because}: {usage.bytes} bytes are in use, {usage.by_salt}",
        expected=wanted,
        got=usage.by_salt,
        cite=cite,
    )
    if usage.capacity:
        fraction = sum(wanted.values()) / usage.capacity
        judge.holds(abs(usage.fraction - fraction) < 1e-9, f"{because}: {usage.fraction} of the capacity is in use", cite=cite)


def has_capacity(adapter: AdapterCalls) -> bool:
    """Whether the server evicts from it: it has a capacity, or says which part of one is used."""
    usage = adapter.usage() if "usage" in adapter.plugin.offers else None
    return usage is not None and usage.fraction >= 0
