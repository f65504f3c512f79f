"""Several threads, as in the server: one at a time submits, another one drains."""

from collections import Counter

from cases.l2.native import LONG, native, objects, stored
from harness.judge import Judge
from harness.l2.keys import L2Keys
from harness.l2.plugin_process import Plugin

EACH = 40
SIZE = 20_000


@native("PLUG-NAT-030", "PLUG-NAT-009")
def test_threads_of_the_server(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """Stores, prefetches and evictions of three threads complete in a fourth one, each once and each with its own answer."""
    there = objects(l2_keys.some(4), SIZE)
    keys, missing, fresh = [key for key, _ in there], l2_keys.some(2), objects(l2_keys.some(EACH), SIZE)
    stored(judge, plugin, there)
    sources = plugin.buffers([data for _, data in fresh])
    targets = [plugin.blank([SIZE] * 4) for _ in range(EACH)]
    threads = {
        "stores": [plugin.step("submit_store", keys=[key], buffers=[one]) for (key, _), one in zip(fresh, sources, strict=True)],
        "loads": [plugin.step("submit_load", keys=keys, buffers=memory) for memory in targets],
        "looks": [plugin.step("submit_lookup", times=EACH, keys=[*missing, *keys])],
    }
    answers = plugin.together({**threads, "drains": [plugin.step("collect", count=3 * EACH, timeout=LONG)]}, timeout=LONG + 5)
    for name, given in answers.items():
        failed = [one["text"] for one in given if "failed" in one]
        judge.holds(not failed, f"the thread that {name} failed: {' '.join(failed)}")
    came = answers["drains"][0]["completions"]
    ids = {name: [one["id"] for one in answers[name]] for name in threads}
    counted = Counter(one["id"] for one in came)
    lost = [f"{name} {number}" for name, numbers in ids.items() for number in numbers if counted[number] != 1]
    judge.holds(
        not lost and len(came) == 3 * EACH,
        f"of {3 * EACH} operations of three threads {len(lost)} did not complete exactly once: {', '.join(lost[:5])}",
        cite="PLUG-NAT-009",
    )
    by_id = {one["id"]: one for one in came}
    for number in ids["looks"]:
        judge.same_value([False] * 2 + [True] * 4, by_id[number]["results"], what="what a lookup beside other threads tells")
    for number, memory in zip(ids["loads"], targets, strict=True):
        judge.holds(
            by_id[number]["results"] in (None, [True] * 4) and plugin.read(memory) == [data for _, data in there],
            "a load beside other threads did not bring the objects",
            client_answered=by_id[number]["shown"],
        )
    refused = [by_id[number]["shown"] for number in ids["stores"] if not by_id[number]["ok"]]
    judge.holds(not refused, f"{len(refused)} of {EACH} stores beside other threads were refused: {refused[:1]}")
    loaded = plugin.load([key for key, _ in fresh], SIZE)
    judge.holds(
        list(loaded.data) == [data for _, data in fresh], "objects stored beside other threads are not loaded as they were"
    )
