"""The engine-driven data path: store, look up, retrieve; over shared memory, and over pickles where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from fixturegen.mp.launch import NO_DATA_PATH, SHARED_MEMORY
from fixturegen.mp.script import COUNTS_READERS, REGISTER, SETTLED, UNREGISTER, Script, tokens
from fixturegen.mp.transcript import Setting
from wire.mp.operations import operation_table
from wire.release import Release

Build = Callable[[Script], object]


def scripts(release: Release) -> Iterator[Script]:
    """The scripts of a release; none where no data can be moved without a GPU."""
    if NO_DATA_PATH[release] is not None:
        return
    if SHARED_MEMORY[release]:
        yield from _built(release, "shared-memory", {**BOTH, **SHARED})
        if COUNTS_READERS[release]:
            yield from _built(release, "shared-memory", READERS)
        if "SUBSCRIBE_KV_EVENTS" in operation_table(release):
            yield from _built(release, "shared-memory", EVENTS)
        yield from _built(release, "pickle", {name: BOTH[name] for name in PICKLED})
    else:
        yield from _built(release, "pickle", BOTH)


def _built(release: Release, setting: Setting, builds: dict[str, tuple[str, Build]]) -> Iterator[Script]:
    for name, (title, build) in builds.items():
        script = Script(release, name, title, setting)
        build(script)
        yield script


def _round_trip(script: Script) -> None:
    key = script.key(tokens(3))
    script.register().count().store(key, (1, 2, 3)).status()
    script.lookup(key).status().retrieve(key, (1, 2, 3)).status()
    script.end(key).status().clear().status().lookup(script.key(tokens(3), "r2"))


def _prefix(script: Script) -> None:
    script.register().store(script.key(tokens(2)), (1, 2))
    longer = script.key(tokens(4), "r2")
    script.lookup(longer).retrieve(script.key(tokens(4), "r2", end=32), (1, 2)).end(longer)
    script.lookup(script.key(tokens(2, extra=7), "r3")).lookup(script.key(tokens(1, extra=15), "r4"))
    script.lookup(script.key(tokens(2, first=9), "r5")).lookup(script.key([], "r6"))
    other = [*tokens(1, first=9), *tokens(2)[16:]]
    script.lookup(script.key(other, "r7"))


def _salts(script: Script) -> None:
    prompt = tokens(1)
    script.register().store(script.key(prompt, salt="alice"), (1,))
    for number, salt in enumerate(("bob", "", "Alice", "alice"), 2):
        script.lookup(script.key(prompt, f"r{number}", salt=salt))
    script.store(script.key(prompt, "r6", salt="bob"), (2,))
    script.retrieve(script.key(prompt, "r5", salt="alice"), (1,))
    bob = script.key(prompt, "r7", salt="bob")
    script.lookup(bob).retrieve(bob, (2,))


def _models(script: Script) -> None:
    prompt = tokens(1)
    other = f"{script.model}-2"
    script.register().register(instance_id=script.instance + 1, model_name=other)
    script.store(script.key(prompt), (1,))
    script.lookup(script.key(prompt, "r2", model=other)).lookup(script.key(prompt, "r3", model="nobody-registered-this"))
    script.lookup(script.key(prompt, "r4"))


def _worlds(script: Script) -> None:
    prompt = tokens(1)
    script.register(world_size=2).register(instance_id=script.instance + 1, world_size=2)
    script.store(script.key(prompt, world=2, worker=0), (1,))
    script.lookup(script.key(prompt, "r2", world=2))
    script.store(script.key(prompt, "r3", world=2, worker=1), (2,), script.instance + 1)
    both = script.key(prompt, "r4", world=2)
    script.lookup(both).lookup(script.key(prompt, "r5"))
    script.retrieve(script.key(prompt, "r4", world=2, worker=1), (2,), script.instance + 1)
    script.retrieve(script.key(prompt, "r4", world=2, worker=0), (1,))


def _no_lookup(script: Script) -> None:
    key = script.key(tokens(1))
    script.register().store(key, (1,))
    script.prepare_retrieve(script.key(tokens(1), "r2"))
    script.commit_retrieve(script.key(tokens(1), "r2")).prepare_retrieve(script.key(tokens(1, first=5), "r3"))


def _fewer(script: Script) -> None:
    key = script.key(tokens(2))
    script.register().count().store(key, (1, 2)).status()
    script.lookup(script.key(tokens(2), "r2")).status().end(script.key(tokens(2), "r2")).status()
    script.finding = "END_SESSION does not give back the locks of a lookup whose retrieve never came."


def _more(script: Script) -> None:
    key = script.key(tokens(1), "r2")
    script.register().count().store(script.key(tokens(1)), (1,)).lookup(key)
    script.retrieve(key, (1,)).status()
    script.prepare_retrieve(key)
    script.commit_retrieve(key).status()


def _twice(script: Script) -> None:
    first, second = script.key(tokens(1), "r2"), script.key(tokens(1), "r3")
    script.register().count().store(script.key(tokens(1)), (1,)).lookup(first).lookup(second).status()
    script.retrieve(first, (1,)).status().retrieve(second, (1,)).status()


def _freed(script: Script) -> None:
    key = script.key(tokens(2), "r2")
    script.register().count().store(script.key(tokens(2)), (1, 2)).lookup(key).status().free(key).status().free(key).status()
    script.prepare_retrieve(key)


def _wrong_salt(script: Script) -> None:
    key = script.key(tokens(1), "r2", salt="alice")
    script.register().count().store(script.key(tokens(1), salt="alice"), (1,)).lookup(key).status()
    script.free(script.key(tokens(1), "r2", salt="bob")).status().free(key).status()


def _part(script: Script) -> None:
    key = script.key(tokens(3), "r2")
    script.register().count().store(script.key(tokens(3)), (1, 2, 3)).lookup(key).status()
    script.free(script.key(tokens(3), "r2", end=16)).status()
    script.retrieve(script.key(tokens(3), "r2", start=16), (2, 3)).status()


def _store_again(script: Script) -> None:
    script.register().store(script.key(tokens(1)), (1,))
    again = script.key(tokens(1), "r2")
    if script.setting == "pickle":
        script.store(again, (2,))
    else:
        script.prepare_store(again)
        script.commit_store(again)
    longer = script.key(tokens(2), "r3")
    script.store(longer, (7,) if script.setting == "shared-memory" else (1, 2))
    found = script.key(tokens(2), "r4")
    script.lookup(found).retrieve(found, (1, 7) if script.setting == "shared-memory" else (1, 2))


def _later_part(script: Script) -> None:
    script.register().store(script.key(tokens(3), start=16), (2, 3))
    script.lookup(script.key(tokens(3), "r2")).store(script.key(tokens(3), "r3", end=16), (1,))
    script.lookup(script.key(tokens(3), "r4"))


def _partial(script: Script) -> None:
    script.register()
    for number, (prompt, start, end) in enumerate(((tokens(1, extra=9), 0, 25), (tokens(0, extra=9), 0, 9), (tokens(2), 8, 24))):
        script.prepare_store(script.key(prompt, f"r{number}", start=start, end=end), within=SETTLED)
    script.prepare_store(script.key(tokens(1, extra=9), "r4", end=16))
    script.alive()


def _not_registered(script: Script) -> None:
    key = script.key(tokens(1)).record(script.release)
    for operation, extra in (("PREPARE_STORE", ()), ("COMMIT_STORE", (b"",)), ("PREPARE_RETRIEVE", ()), ("COMMIT_RETRIEVE", ())):
        script.maybe(operation, key, script.instance, *extra)
    script.lookup(script.key(tokens(1), "r2")).free(script.key(tokens(1), "r2")).end(script.key(tokens(1), "r2")).alive()


def _registrations(script: Script) -> None:
    operation = REGISTER[script.release]
    assert operation is not None
    script.register().register().register(block_size=32, hidden_dim_size=64)
    script.maybe(operation, script.context(instance_id=script.instance + 1, dtype_str="no_such_type"))
    script.maybe(operation, script.context(instance_id=script.instance + 1, dtype_str="Tensor"))
    script.alive()


def _unregistered(script: Script) -> None:
    if UNREGISTER[script.release] is None:
        return
    key = script.key(tokens(1))
    script.register().store(key, (1,)).unregister().unregister()
    script.maybe("PREPARE_STORE", key.record(script.release), script.instance)
    script.lookup(script.key(tokens(1), "r2")).register().lookup(script.key(tokens(1), "r3"))


def _polls(script: Script) -> None:
    key = script.key(tokens(1), "r2")
    script.register().store(script.key(tokens(1)), (1,)).lookup(key).poll(key.request_id).poll("nobody asked for this")
    if script.has("WAIT_PREFETCH_STATUS"):
        later = script.key(tokens(1), "r3")
        record = script.key(tokens(1), "r3", worker=None).record(script.release)
        script.ask("LOOKUP", record, 1).ask("WAIT_PREFETCH_STATUS", later.request_id, 5.0)
        script.ask("WAIT_PREFETCH_STATUS", later.request_id, 0.0)
    if script.has("QUERY_PREFETCH_LOOKUP_HITS"):
        hits = script.key(tokens(1), "r4")
        record = script.key(tokens(1), "r4", worker=None).record(script.release)
        script.ask("LOOKUP", record, 1).ask("QUERY_PREFETCH_LOOKUP_HITS", hits.request_id).poll(hits.request_id)


def _long(script: Script) -> None:
    script.register().store(script.key(tokens(1)), (1,)).lookup(script.key(tokens(60, extra=5), "r2"))


def _restart(script: Script) -> None:
    key = script.key(tokens(1))
    script.register().store(key, (1,)).lookup(script.key(tokens(1), "r2")).restart()
    script.connect("b").ask("NOOP", connection="b").ask("NOOP")
    script.maybe("PREPARE_STORE", key.record(script.release), script.instance)
    script.lookup(script.key(tokens(1), "r3")).register().lookup(script.key(tokens(1), "r4"))
    script.finding = (
        "A server that was restarted knows no worker: a request that names one is not answered until it registers again."
    )


def _uncommitted(script: Script) -> None:
    key = script.key(tokens(1))
    script.register().count()
    places = script.prepare_store(key)
    script.status().lookup(script.key(tokens(1), "r2")).prepare_store(script.key(tokens(1), "r3"))
    script.write(places, (1,)).commit_store(key).status().commit_store(key)
    found = script.key(tokens(1), "r4")
    script.lookup(found).retrieve(found, (1,))


def _commit_alone(script: Script) -> None:
    script.register().commit_store(script.key(tokens(1))).commit_retrieve(script.key(tokens(1)))


def _clear_locked(script: Script) -> None:
    key = script.key(tokens(1), "r2")
    script.register().count().store(script.key(tokens(1)), (1,)).lookup(key).status()
    if script.table.named("CLEAR").payloads:
        script.clear(force=False).status()
    script.clear(force=True).status().prepare_retrieve(key)


def _readers(script: Script) -> None:
    key = script.key(tokens(1), "r2", readers=2)
    script.register().count().store(script.key(tokens(1)), (1,)).lookup(key).status()
    script.retrieve(key, (1,)).status().retrieve(key, (1,)).status().prepare_retrieve(key)
    freed = script.key(tokens(1), "r3", readers=3)
    script.lookup(freed).status().free(script.key(tokens(1), "r3", readers=1)).status().free(freed).status()


def _no_readers(script: Script) -> None:
    key = script.key(tokens(1), "r2", readers=0, worker=None)
    script.register().store(script.key(tokens(1), readers=0), (1,)).maybe("LOOKUP", key.record(script.release), 1)
    script.poll(key.request_id).alive()


def _kv_events(script: Script) -> None:
    script.register().subscribe()
    script.store(script.key(tokens(1)), (1,)).receive("events", within=SETTLED)
    script.clear().batch().acknowledge().unsubscribe()
    script.store(script.key(tokens(1, first=3), "r2"), (2,)).clear().receive("events", within=SETTLED)
    script.finding = "A chunk that the engine stores itself is not announced; its removal is."


BOTH: Final[dict[str, tuple[str, Build]]] = {
    "round-trip": ("Three chunks are stored, found, retrieved as they were, and gone after CLEAR.", _round_trip),
    "prefix": ("A lookup finds the stored chunks up to the first that is missing, whole chunks only.", _prefix),
    "salts": ("Prompts with different salts are strangers.", _salts),
    "models": ("A prompt of one model is not found for another.", _models),
    "worlds": ("With two ranks a chunk is found once both have stored it.", _worlds),
    "no-lookup": ("A retrieve without a lookup fails.", _no_lookup),
    "fewer-retrieves": ("A lookup whose retrieve never comes, and the end of its session.", _fewer),
    "more-retrieves": ("A second retrieve of one lookup.", _more),
    "two-lookups": ("Two lookups of the same prompt, and a retrieve for each.", _twice),
    "freed": ("Locks are given back without a retrieve, and once more.", _freed),
    "wrong-salt": ("FREE_LOOKUP_LOCKS with another salt, and then with the right one.", _wrong_salt),
    "part-freed": ("The locks of the first chunk are given back, the rest is retrieved.", _part),
    "store-again": ("A chunk that is there is not stored again; the rest of a longer prompt is.", _store_again),
    "later-part": ("The end of a prompt is stored before its beginning.", _later_part),
    "partial-chunks": ("Room for tokens behind the last whole chunk, and for ranges that are not aligned.", _partial),
    "not-registered": ("A worker that never registered.", _not_registered),
    "registrations": ("A worker that registers again, and types of data that do not exist.", _registrations),
    "unregistered": ("A worker that took its registration back.", _unregistered),
    "polls": ("The result of a lookup is given once.", _polls),
    "long-prompt": ("A lookup of 965 tokens.", _long),
    "restart": ("The server is restarted between two requests.", _restart),
}
PICKLED: Final = (
    "round-trip",
    "salts",
    "no-lookup",
    "fewer-retrieves",
    "more-retrieves",
    "store-again",
    "not-registered",
    "restart",
)
"""Those that are held over pickles as well; where there is no shared memory, all of them are held there."""
SHARED: Final[dict[str, tuple[str, Build]]] = {
    "uncommitted": ("A store that is prepared is not found before it is committed, once.", _uncommitted),
    "commit-alone": ("A commit without a preparation.", _commit_alone),
    "clear-locked": ("CLEAR while a lookup holds its locks.", _clear_locked),
}
EVENTS: Final[dict[str, tuple[str, Build]]] = {
    "kv-events": (
        "A subscription to what is stored and removed, until it is cancelled.",
        _kv_events,
    )
}
READERS: Final[dict[str, tuple[str, Build]]] = {
    "readers": ("A lookup for two readers, and one for three whose locks are given back.", _readers),
    "no-readers": ("A lookup that says nothing of its readers.", _no_readers),
}
