"""Many batches under way at once, from several threads: each gets its own answer, and loads do not wait behind stores."""

from collections.abc import Mapping, Sequence
from typing import Any

from cases.l2.objects import MIB, content, holds, store
from harness.case import ALONE, case
from harness.judge import Judge
from harness.l2.answers import Completion, Submitted
from harness.l2.keys import L2Keys
from harness.l2.plugin_process import Plugin

THREADS = 4
BATCHES = 12
SIZES = (100, 5000, 40_000)
QUEUED = 24
BIG = 2 * MIB
ENOUGH = 8
"""So many stores must wait when the load is submitted, or nothing can be said about who goes first."""
MOST = 192


@case("PLUG-SEM-014", targets=ALONE, judges="plugin", needs=("native_plugin",), once_for="contract")
def test_batches_of_threads(plugin: Plugin, l2_keys: L2Keys, judge: Judge) -> None:
    """Stores, loads and lookups that four threads submit at once are each answered for their own keys, with their own bytes."""
    there = [
        {key: content(key, size) for key, size in zip(l2_keys.some(3), SIZES, strict=True)} for _ in range(THREADS * BATCHES)
    ]
    for begin in range(0, len(there), BATCHES):
        merged = {key: data for objects in there[begin : begin + BATCHES] for key, data in objects.items()}
        store(plugin, judge, merged, cite="PLUG-SEM-002")
    new = [{key: content(key, 3000) for key in l2_keys.some(2)} for _ in range(THREADS * BATCHES)]
    absent = l2_keys.some(THREADS * BATCHES)
    targets = [plugin.blank([*map(len, objects.values()), 10]) for objects in there]
    sources = [plugin.buffers(list(objects.values())) for objects in new]
    steps: dict[str, list[Any]] = {f"thread-{number}": [] for number in range(THREADS)}
    for number in range(THREADS * BATCHES):
        keys = [*there[number], absent[number]]
        steps[f"thread-{number % THREADS}"] += [
            plugin.step("submit_store", keys=[*new[number]], buffers=sources[number]),
            plugin.step("submit_load", keys=keys, buffers=targets[number]),
            plugin.step("submit_lookup", keys=[absent[number], *there[number]]),
        ]
    answers = plugin.together(steps)
    submitted = [one for name in steps for one in submits(judge, answers[name])]
    judge.holds(len({one.id for one in submitted}) == len(submitted), "two batches have the same number", cite="PLUG-NAT-007")
    completions = iter(plugin.wait(submitted))
    numbers = [number for thread in range(THREADS) for number in range(thread, THREADS * BATCHES, THREADS)]
    for number in numbers:
        stored, loaded, looked = next(completions), next(completions), next(completions)
        judge.holds(stored.ok, "a store among many failed", cite="PLUG-SEM-002", client_answered=f"not ok: {stored.error}")
        judge.same_value([True, True, True, False], results(loaded), what="what one load among many finds")
        judge.same_value([False, True, True, True], results(looked), what="what one lookup among many finds")
        for data, expected in zip(plugin.read(targets[number]), there[number].values(), strict=False):
            judge.same_bytes(expected, data, what="an object that one load among many brought")
    for objects in new:
        holds(plugin, judge, objects, when="after many batches at once")


@case("PLUG-SEM-015", targets=ALONE, judges="plugin", needs=("native_plugin",), once_for="contract")
def test_loads_before_stores(plugin: Plugin, l2_keys: L2Keys, judge: Judge) -> None:
    """A load that is submitted while many stores wait is complete before most of them."""
    wanted = l2_keys.one()
    objects = {wanted: content(wanted, 5000)}
    store(plugin, judge, objects, cite="PLUG-SEM-002")
    count = QUEUED
    while True:
        waiting, before, found = behind(plugin, judge, l2_keys, objects, count)
        judge.holds(found, "a load beside many stores does not find what is there", cite="PLUG-SEM-002")
        if waiting >= ENOUGH or count >= MOST:
            break
        count *= 2
    judge.holds(
        waiting < ENOUGH or before <= waiting // 2,
        f"{before} of the {waiting} stores that were waiting when a load was submitted were complete before it",
        client_answered=f"the load after {before} stores",
        conformant_answer=f"the load after {waiting // 2} of them at most",
    )


def behind(plugin: Plugin, judge: Judge, l2_keys: L2Keys, objects: Mapping[str, bytes], count: int) -> tuple[int, int, bool]:
    """How many of so many stores waited when a load was submitted, how many of these were complete before it, and what it found.

    A store that was refused does not count: it never waited.
    """
    keys = l2_keys.some(count)
    sources = plugin.buffers([content(key, BIG) for key in keys])
    (key, data), *_ = objects.items()
    target = plugin.blank([len(data)])
    stores = [plugin.step("submit_store", keys=[name], buffers=[source]) for name, source in zip(keys, sources, strict=True)]
    load = plugin.step("submit_load", keys=[key], buffers=target)
    answers = plugin.together({"server": [*stores, plugin.step("drain"), load]})["server"]
    drained = [Completion.of(members) for members in answers[count]["completions"]]
    (loading,) = submits(judge, [answers[-1]])
    later = plugin.collect(count + 1 - len(drained))
    order = [one.id for one in later if one.ok or one.id == loading.id]
    judge.holds(loading.id in order, "a load behind many stores never ends", cite="PLUG-NAT-009")
    place = order.index(loading.id)
    (completion,) = [one for one in later if one.id == loading.id]
    right = results(completion) == [True] and plugin.read(target) == [data]
    plugin.spend([*sources, *target])
    return len(order) - 1, place, right


def submits(judge: Judge, answers: Sequence[Mapping[str, Any]]) -> list[Submitted]:
    """What the submits of a thread gave."""
    for answer in answers:
        judge.holds("failed" not in answer, f"a submit failed: {answer.get('text')}", cite="PLUG-NAT-007")
    return [Submitted.of(answer) for answer in answers]


def results(completion: Completion) -> list[bool]:
    """The results of a completion, one for each key."""
    return list(completion.results or ())
