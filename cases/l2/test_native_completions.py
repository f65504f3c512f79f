"""Numbers of operations, and what a drain says of each."""

import secrets
from collections import Counter
from collections.abc import Sequence

from cases.l2.native import QUIET, SOON, completed, contract, native, objects, readable, stored
from harness.judge import Judge
from harness.l2.answers import Completion, Submitted
from harness.l2.keys import L2Keys
from harness.l2.plugin_process import Plugin

MANY = 60
SIZE = 1000


def mixture(plugin: Plugin, l2_keys: L2Keys, rounds: int) -> list[Submitted]:
    """Operations of all kinds, submitted one right after the other."""
    keys = l2_keys.some(rounds)
    submitted = []
    for key in keys:
        (source,) = plugin.buffers([secrets.token_bytes(SIZE)])
        (target,) = plugin.blank([SIZE])
        submitted += [plugin.submit_store([key], [source]), plugin.submit_lookup([key]), plugin.submit_load([key], [target])]
        if plugin.has_delete:
            submitted.append(plugin.submit_delete([key]))
    return submitted


def repeated(ids: Sequence[int | None]) -> list[int | None]:
    """Those that are there more than once."""
    return [one for one, count in Counter(ids).items() if count > 1]


@native("PLUG-NAT-007")
def test_numbers_under_way(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """Operations under way have different numbers, whatever their kind."""
    twice = repeated([one.id for one in mixture(plugin, l2_keys, MANY // 4)])
    judge.holds(not twice, f"operations of which none was drained have the same numbers: {twice[:5]}", got=twice[:20])


@native("PLUG-NAT-007", "PLUG-NAT-030")
def test_numbers_of_threads(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """Operations that several threads submit have different numbers."""
    answers = plugin.together(
        {name: [plugin.step("submit_lookup", times=MANY, keys=[l2_keys.one()])] for name in ("stores", "prefetches", "evicts")}
    )
    failed = [one["text"] for given in answers.values() for one in given if "failed" in one]
    judge.holds(not failed, f"a submit of a thread failed: {' '.join(failed[:1])}", cite="PLUG-NAT-030")
    twice = repeated([one["id"] for given in answers.values() for one in given])
    judge.holds(not twice, f"operations of different threads have the same numbers: {twice[:5]}", got=twice[:20])


@native("PLUG-NAT-008")
def test_numbers_for_life(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """No number comes a second time, also not after its operation is complete."""
    ids = []
    for _ in range(MANY):
        submitted = plugin.submit_lookup([l2_keys.one()])
        plugin.wait([submitted], timeout=SOON)
        ids.append(submitted.id)
    judge.holds(not repeated(ids), f"numbers came again: {repeated(ids)[:5]}", got=repeated(ids)[:20])


@native("PLUG-NAT-009", "PLUG-NAT-010")
def test_each_completes_once(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """Every operation completes once, and nothing completes that was not begun."""
    ids = [one.id for one in mixture(plugin, l2_keys, MANY // 4)]
    absent, targets = l2_keys.some(2), plugin.blank([SIZE] * 2)
    ids += [plugin.submit_lookup(absent).id, plugin.submit_load(absent, targets).id]
    came = plugin.collect(len(ids), timeout=SOON)
    for completion in came:
        readable(judge, completion, "one of many operations")
    if plugin.poll(QUIET).ready:
        came += plugin.drain().completions
    found = Counter(one.id for one in came)
    missing = [one for one in ids if one not in found]
    judge.holds(not missing, f"{len(missing)} of {len(ids)} operations never completed", cite="PLUG-NAT-009", got=missing[:20])
    strange = [one for one in found if one not in ids]
    judge.holds(not strange, f"numbers completed that no submit gave: {strange[:5]}", cite="PLUG-NAT-010", got=strange[:20])
    twice = repeated([one.id for one in came])
    judge.holds(not twice, f"operations completed more than once: {twice[:5]}", cite="PLUG-NAT-010", got=twice[:20])


@native("PLUG-NAT-011")
def test_readable_completions(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """The server can take the completions of all kinds of operations apart."""
    for submitted in mixture(plugin, l2_keys, 2):
        completed(judge, plugin, submitted, "an operation")


@native("PLUG-NAT-012")
def test_types_of_completions(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """Completions have exactly the types of the contract."""
    for submitted in mixture(plugin, l2_keys, 2):
        completion = completed(judge, plugin, submitted, "an operation")
        types = [completion.types[0], *completion.types[1:4]]
        judge.same_value(["tuple", "int", "bool", "str"], types, what=f"the types of {completion.shown}")
        judge.holds(completion.types[4] in {"NoneType", "list"}, f"the results of {completion.shown} are a {completion.types[4]}")
        judge.holds(set(completion.result_types) <= {"bool"}, f"results of {completion.shown} are {completion.result_types}")


@native("PLUG-NAT-013")
def test_results_of_lookups(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """A lookup tells of each key, in its place, whether the object is there."""
    there, missing = l2_keys.some(2), l2_keys.some(3)
    stored(judge, plugin, objects(there, SIZE))
    keys = [missing[0], there[0], missing[1], there[1], missing[2]]
    completion = completed(judge, plugin, plugin.submit_lookup(keys), "a lookup")
    judge.holds(completion.ok, f"the lookup failed: {completion.error}", client_answered=completion.shown)
    judge.same_value([False, True, False, True, False], _list(completion), what="what the lookup tells")
    for wanted, expected in ((there, [True, True]), (missing, [False, False, False])):
        completion = completed(judge, plugin, plugin.submit_lookup(wanted), "a lookup")
        judge.same_value(expected, _list(completion), what="what the lookup tells")


@native("PLUG-NAT-014")
def test_results_of_loads(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """A load says yes to exactly the keys whose objects are in their memory afterwards."""
    there, missing = objects(l2_keys.some(3), SIZE), l2_keys.some(3)
    stored(judge, plugin, there)
    names = dict(there)
    for keys in (
        [missing[0], there[0][0], missing[1], there[2][0], there[1][0], missing[2]],
        [key for key, _ in reversed(there)],
        missing,
    ):
        targets = plugin.blank([SIZE] * len(keys))
        completion = completed(judge, plugin, plugin.submit_load(keys, targets), "a load")
        found = completion.results if completion.results is not None else [completion.ok] * len(keys)
        judge.holds(
            len(found) == len(keys),
            f"a load of {len(keys)} keys gave {len(found)} results",
            client_answered=completion.shown,
        )
        judge.same_value(
            [key in names for key in keys], list(found), what="what the load says, None with success being yes to all"
        )
        for place, (key, content) in enumerate(zip(keys, plugin.read(targets), strict=True)):
            if key in names:
                judge.same_bytes(names[key], content, what=f"the memory of key {place + 1} of {len(keys)}")


@contract("PLUG-NAT-015", needs=("native_plugin", "delete"))
def test_results_of_deletes(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """A delete tells of each key that was there, in its place, that it is gone."""
    there, missing = l2_keys.some(2), l2_keys.one()
    stored(judge, plugin, objects(there, SIZE))
    completion = completed(judge, plugin, plugin.submit_delete([there[0], missing, there[1]]), "a delete")
    judge.holds(
        completion.results is not None and len(completion.results) == 3,
        "a delete of 3 keys gave no 3 results",
        client_answered=completion.shown,
    )
    judge.holds(
        _list(completion)[::2] == [True, True],
        "a delete did not say that objects are gone that were there",
        client_answered=completion.shown,
    )
    judge.same_value([False, False], plugin.lookup(there), what="what a lookup tells of deleted objects")


def _list(completion: Completion) -> list[bool]:
    return list(completion.results or ())
