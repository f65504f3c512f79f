"""The contract of a ``plugin``: descriptors, tasks, results, and the memory that it is given."""

import time

from cases.l2.adapter import QUIET, SIZE, SOON, about_adapters, content, found, loaded, locked, settled, stored
from harness.judge import Judge
from harness.l2.adapter_calls import OPERATIONS, AdapterCalls
from harness.l2.answers import Submitted
from harness.l2.interface import STORE_RESULT
from harness.l2.keys import L2Keys
from wire.release import Release

AT_ONCE = 0.5
"""Seconds that a submit may take on a busy machine."""
TRIES = 3
HEAVY = 16
MEGABYTE = 1024 * 1024
ROUNDS = 50
THREADS = 4


@about_adapters("PLUG-ADP-002")
def test_three_descriptors(judge: Judge, adapter: AdapterCalls, l2_keys: L2Keys) -> None:
    """An adapter has one descriptor for each of its three operations, and they stay the same."""
    first = adapter.descriptors()
    for name, one in first.items():
        judge.holds(one.number is not None, f"the descriptor of {name} is {one.shown}; it must be a number")
        judge.holds(not adapter.ready(name, 0).broken, f"the descriptor of {name}, {one.shown}, cannot be polled")
    numbers = {name: one.number for name, one in first.items()}
    judge.holds(len(set(numbers.values())) == len(OPERATIONS), f"two operations share a descriptor: {numbers}")
    stored(judge, adapter, [l2_keys.one()])
    again = {name: one.number for name, one in adapter.descriptors().items()}
    judge.holds(again == numbers, f"the descriptors were {numbers} and are {again} after a store", expected=numbers, got=again)


@about_adapters("PLUG-ADP-003")
def test_results_behind_signals(judge: Judge, adapter: AdapterCalls, l2_keys: L2Keys) -> None:
    """When a descriptor becomes ready, the result that it tells of is there."""
    key = l2_keys.one()
    for number in range(1, ROUNDS + 1):
        buffers = adapter.plugin.buffers([content(100)])
        submitted = adapter.submit_store([key], buffers)
        signalled(judge, adapter, "store")
        popped = [one.id for one in adapter.pop_stores()]
        judge.holds(
            popped == [submitted.id], f"store {number}: its descriptor was ready, and the stores that are complete were {popped}"
        )
        for operation in ("lookup", "load"):
            submitted = adapter.submit_lookup([key]) if operation == "lookup" else adapter.submit_load([key], buffers)
            signalled(judge, adapter, operation)
            judge.holds(
                adapter.query(operation, submitted.id) is not None,
                f"{operation} {number}: its descriptor was ready, and there was no result; the server does not ask again",
            )
        adapter.unlock([key])


@about_adapters("PLUG-ADP-004")
def test_quiet_descriptors(judge: Judge, adapter: AdapterCalls, l2_keys: L2Keys) -> None:
    """A descriptor is not ready before anything is complete, nor once it was read."""
    for operation in OPERATIONS:
        judge.holds(not adapter.ready(operation, 0).ready, f"the descriptor of {operation} is ready, and nothing was begun")
    key = l2_keys.one()
    stored(judge, adapter, [key])
    found(adapter, [key])
    loaded(adapter, [key])
    for operation in OPERATIONS:
        judge.holds(
            not adapter.ready(operation, QUIET).ready,
            f"the descriptor of {operation} was read once, nothing was complete since, and it is still ready",
        )


@about_adapters("PLUG-ADP-005", "PLUG-ADP-010")
def test_stores_are_told_once(judge: Judge, adapter: AdapterCalls, l2_keys: L2Keys) -> None:
    """Every store is among those that are complete, once, under the number that its submit gave."""
    submitted = [adapter.submit_store([key], adapter.plugin.buffers([content()])) for key in l2_keys.some(8)]
    popped = collected(adapter, len(submitted))
    wanted = sorted(one.id for one in submitted)
    judge.holds(sorted(popped) == wanted, f"stores {wanted} were begun, and these were told of: {popped}")
    time.sleep(QUIET)
    judge.holds(not adapter.pop_stores(), "stores that were told of already are told of again", cite="PLUG-ADP-005")


@about_adapters("PLUG-ADP-006")
def test_store_results(judge: Judge, adapter: AdapterCalls, l2_keys: L2Keys, release: Release) -> None:
    """What a completed store gives is what the server of the release asks it for."""
    key = l2_keys.one()
    buffers = adapter.plugin.buffers([content()])
    submitted = adapter.submit_store([key], buffers)
    signalled(judge, adapter, "store")
    (verdict,) = adapter.pop_stores()
    asked = {"flag": "True or False", "result": "an L2StoreResult"}[STORE_RESULT[release]]
    judge.holds(
        verdict.broken is None and verdict.id == submitted.id,
        f"the store ended with {verdict.shown}, a {verdict.type}: {verdict.broken}",
        client_answered=verdict.shown,
        conformant_answer=asked,
    )
    judge.holds(verdict.ok, f"the store ended with {verdict.shown}, which is a failure")
    judge.holds(verdict.bytes in {None, SIZE}, f"a store of {SIZE} bytes says that it wrote {verdict.bytes}")


@about_adapters("PLUG-ADP-007")
def test_results_are_given_once(judge: Judge, adapter: AdapterCalls, l2_keys: L2Keys) -> None:
    """The result of a lookup or load is None until it is complete, then there once, and then None again."""
    key = l2_keys.one()
    stored(judge, adapter, [key])
    for operation in ("lookup", "load"):
        buffers = adapter.plugin.blank([SIZE])
        submitted = adapter.submit_lookup([key]) if operation == "lookup" else adapter.submit_load([key], buffers)
        for unknown in (submitted.id + 1000, -1):
            bits = adapter.query(operation, unknown)
            judge.holds(
                bits is None, f"{operation} {unknown} was never begun, and its result is {bits}", conformant_answer="None"
            )
        signalled(judge, adapter, operation)
        bits = adapter.query(operation, submitted.id)
        judge.holds(bits == [True], f"the {operation} of a stored key gave {bits}", expected=[True], got=bits)
        bits = adapter.query(operation, submitted.id)
        judge.holds(bits is None, f"the result of a {operation} was taken, and is given again", conformant_answer="None")


@about_adapters("PLUG-ADP-008", "PLUG-ADP-015")
def test_bits_of_lookups(judge: Judge, adapter: AdapterCalls, l2_keys: L2Keys) -> None:
    """A lookup gives one bit for each key, in their order, whatever is there of them."""
    there, absent = l2_keys.some(5), l2_keys.some(5)
    stored(judge, adapter, there)
    for keys, wanted in batches(there, absent):
        bits = found(adapter, keys)
        judge.holds(
            len(bits) == len(keys), f"a lookup of {len(keys)} keys gave {len(bits)} bits", expected=len(keys), got=len(bits)
        )
        judge.holds(bits == wanted, "the bits of a lookup are not those of the keys", expected=wanted, got=bits)


@about_adapters("PLUG-ADP-008", "PLUG-ADP-016")
def test_bits_of_loads(judge: Judge, adapter: AdapterCalls, l2_keys: L2Keys) -> None:
    """A load gives one bit for each key, and the bytes of those that are there, also between others that are not."""
    there, absent = l2_keys.some(5), l2_keys.some(5)
    bytes_of = dict(zip(there, stored(judge, adapter, there), strict=True))
    for keys, wanted in batches(there, absent):
        bits, held = loaded(adapter, keys)
        judge.holds(
            len(bits) == len(keys), f"a load of {len(keys)} keys gave {len(bits)} bits", expected=len(keys), got=len(bits)
        )
        judge.holds(bits == wanted, "the bits of a load are not those of the keys", expected=wanted, got=bits)
        wrong = [key for key, one in zip(keys, held, strict=True) if key in bytes_of and one != bytes_of[key]]
        judge.holds(not wrong, f"loaded with other bytes than were stored: {len(wrong)} of {len(keys)} objects")


@about_adapters("PLUG-ADP-009", "PLUG-ADP-010")
def test_numbers_of_tasks(judge: Judge, adapter: AdapterCalls, l2_keys: L2Keys) -> None:
    """Tasks of an operation that are under way together have numbers of their own, and all of them complete."""
    keys = l2_keys.some(16)
    stored(judge, adapter, keys)
    lookups = [adapter.submit_lookup([key]) for key in keys]
    buffers = adapter.plugin.blank([SIZE] * len(keys))
    loads = [adapter.submit_load([key], [buffer]) for key, buffer in zip(keys, buffers, strict=True)]
    for name, tasks in (("lookups", lookups), ("loads", loads)):
        numbers = [one.id for one in tasks]
        judge.holds(len(set(numbers)) == len(tasks), f"{len(tasks)} {name} under way have the numbers {numbers}")
    settled(adapter, lookups)
    for one in loads:
        judge.holds(adapter.finish("load", one, timeout=SOON) == [True], "a load of a stored key found nothing")


@about_adapters("PLUG-ADP-011")
def test_submits_do_not_wait(judge: Judge, adapter: AdapterCalls, l2_keys: L2Keys) -> None:
    """A submit returns at once, however much there is to do."""
    slowest: dict[str, float] = {}
    for _ in range(TRIES):
        keys = l2_keys.some(HEAVY)
        sources = adapter.plugin.buffers([content(MEGABYTE)] * HEAVY)
        tasks = {"store": adapter.submit_store(keys, sources)}
        tasks["lookup"] = adapter.submit_lookup(keys)
        adapter.finish_store(tasks["store"])
        tasks["load"] = adapter.submit_load(keys, targets := adapter.plugin.blank([MEGABYTE] * HEAVY))
        for name in ("lookup", "load"):
            adapter.finish(name, tasks[name])
        for name, task in tasks.items():
            slowest[name] = min(task.seconds, slowest.get(name, task.seconds))
        adapter.unlock(keys)
        adapter.plugin.spend([*sources, *targets])
        if max(slowest.values()) < AT_ONCE:
            return
    judge.fail(f"submits of {HEAVY} objects of 1 MiB wait: {', '.join(f'{name} {s:.2f} s' for name, s in slowest.items())}")


@about_adapters("PLUG-ADP-012", "PLUG-ADP-013")
def test_memory_of_stores(judge: Judge, adapter: AdapterCalls, l2_keys: L2Keys) -> None:
    """A store has read its memory when it is complete, and leaves it as it is."""
    keys = l2_keys.some(4)
    objects = [content(MEGABYTE) for _ in keys]
    buffers = adapter.plugin.buffers(objects)
    adapter.finish_store(adapter.submit_store(keys, buffers))
    judge.holds(adapter.plugin.read(buffers) == objects, "a store altered the memory that it was given", cite="PLUG-ADP-013")
    for buffer in buffers:
        adapter.plugin.write(buffer, bytes(MEGABYTE))
    bits, held = loaded(adapter, keys, MEGABYTE)
    judge.holds(all(bits), "objects that were stored cannot be loaded")
    wrong = sum(one != other for one, other in zip(held, objects, strict=True))
    judge.holds(not wrong, f"{wrong} of {len(keys)} objects were read after their store was complete", cite="PLUG-ADP-012")


@about_adapters("PLUG-ADP-014")
def test_memory_of_loads(judge: Judge, adapter: AdapterCalls, l2_keys: L2Keys) -> None:
    """A load has written its memory when it is complete, touches it no more, and writes to nothing beside it."""
    keys = l2_keys.some(4)
    objects = stored(judge, adapter, keys, MEGABYTE)
    buffers = adapter.plugin.blank([MEGABYTE] * len(keys))
    bits = adapter.finish("load", adapter.submit_load(keys, buffers))
    judge.holds(all(bits), "objects that were stored cannot be loaded")
    wrong = sum(one != other for one, other in zip(adapter.plugin.read(buffers), objects, strict=True))
    judge.holds(not wrong, f"a load was complete, and {wrong} of {len(keys)} objects were not there")
    judge.holds(adapter.plugin.fenced(buffers), "a load wrote beside the memory that it was given")
    adapter.plugin.spend(buffers)
    time.sleep(QUIET)
    judge.holds(not adapter.plugin.disturbed(), "memory was written to after its load was complete")


@about_adapters("PLUG-ADP-027")
def test_status(judge: Judge, adapter: AdapterCalls, l2_keys: L2Keys) -> None:
    """The state that an adapter reports says whether it is healthy."""
    stored(judge, adapter, [l2_keys.one()])
    status = adapter.status()
    healthy = status.get("is_healthy")
    judge.holds(
        healthy is True, f"report_status of an adapter that works has is_healthy = {healthy!r}", expected=True, got=healthy
    )


@about_adapters("PLUG-ADP-028")
def test_several_threads(judge: Judge, adapter: AdapterCalls, l2_keys: L2Keys) -> None:
    """An adapter serves the threads that store, prefetch and unlock at the same time."""
    keys = l2_keys.some(THREADS)
    stored(judge, adapter, keys)
    others = l2_keys.some(THREADS)
    sources = adapter.plugin.buffers([content() for _ in others])
    answers = adapter.plugin.together(
        {
            **{
                f"store {number}": [adapter.step("submit_store", keys=[key], buffers=[source], times=ROUNDS)]
                for number, (key, source) in enumerate(zip(others, sources, strict=True))
            },
            **{f"lookup {number}": [adapter.step("submit_lookup", keys=keys, times=ROUNDS)] for number in range(2)},
            "unlock": [adapter.step("unlock", keys=keys, times=ROUNDS)],
        },
        timeout=SOON,
    )
    for name, given in answers.items():
        failed = [one["text"] for one in given if "failed" in one]
        judge.holds(not failed, f"thread {name}: {failed[:1]}")
    numbers = [one["id"] for name, given in answers.items() if name.startswith("store") for one in given]
    judge.holds(len(set(numbers)) == len(numbers), "stores of several threads were given the same number", cite="PLUG-ADP-009")
    popped = collected(adapter, len(numbers))
    judge.holds(
        sorted(popped) == sorted(numbers),
        f"of {len(numbers)} stores of several threads {len(set(popped))} completed",
    )
    for name, given in answers.items():
        if name.startswith("lookup"):
            for one in given:
                adapter.finish("lookup", Submitted.of(one), timeout=SOON)
    bits, _ = loaded(adapter, others)
    judge.holds(all(bits), "objects that several threads stored cannot be loaded")
    adapter.unlock(keys * 2 * ROUNDS)
    judge.holds(locked(adapter, keys) == [True] * len(keys), "objects are gone after lookups and unlocks of several threads")


def signalled(judge: Judge, adapter: AdapterCalls, operation: str) -> None:
    """Wait for a descriptor and read it, as the server does before it asks for results."""
    assert operation in OPERATIONS
    judge.holds(adapter.ready(operation, SOON).ready, f"a {operation} was begun, and its descriptor was not ready for {SOON:g} s")
    adapter.consume(operation)


def collected(adapter: AdapterCalls, count: int) -> list[int]:
    """Numbers of completed stores as the server sees them, until there are so many or none comes any more."""
    popped: list[int] = []
    while len(popped) < count and adapter.ready("store", SOON).ready:
        adapter.consume("store")
        popped += [-1 if one.id is None else one.id for one in adapter.pop_stores()]
    return popped


def batches(there: list[str], absent: list[str]) -> list[tuple[list[str], list[bool]]]:
    """Batches of keys, and which are there."""
    mixed = [key for pair in zip(there, absent, strict=True) for key in pair]
    return [
        (there[:1], [True]),
        (absent[:1], [False]),
        (there, [True] * 5),
        (absent, [False] * 5),
        (mixed, [True, False] * 5),
        (mixed[::-1], [False, True] * 5),
        ([absent[0], *there, *absent[1:]], [False, *[True] * 5, *[False] * 4]),
    ]
