"""The six methods, and the descriptor that tells when something is complete."""

from cases.l2.native import LONG, QUIET, SOON, native, objects
from harness.judge import Judge
from harness.l2.keys import L2Keys
from harness.l2.plugin_process import Plugin

ROUNDS = 200
STORM = 2000


@native("PLUG-NAT-001")
def test_methods(judge: Judge, plugin: Plugin) -> None:
    """A plugin takes its parameters and has the six methods that the server demands."""
    judge.holds(
        not plugin.lacks,
        f"the instance has no method {', '.join(plugin.lacks)}",
        conformant_answer="event_fd, submit_batch_get, submit_batch_set, submit_batch_exists, drain_completions and close",
    )


@native("PLUG-NAT-002")
def test_one_descriptor(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """A plugin tells of its completions by one descriptor, the same at all times."""
    first = plugin.event_fd()
    judge.holds(not plugin.poll(0).broken, f"event_fd gave {first}, which is no descriptor that can be polled")
    plugin.lookup([l2_keys.one()])
    for moment in ("after an operation", "the next time"):
        again = plugin.event_fd()
        judge.holds(again == first, f"event_fd gave {first} at first and {again} {moment}", expected=first, got=again)


@native("PLUG-NAT-003")
def test_quiet_while_idle(judge: Judge, plugin: Plugin) -> None:
    """The descriptor of a plugin that has done nothing yet is not readable."""
    judge.holds(not plugin.poll(QUIET).ready, "the descriptor is readable, and nothing was ever begun")


@native("PLUG-NAT-004")
def test_readable_until_drained(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """The descriptor becomes readable with a completion, and stays so until that is drained."""
    submitted = plugin.submit_lookup([l2_keys.one()])
    judge.holds(
        plugin.poll(SOON).ready, f"nothing was ever complete: a lookup was begun, and for {SOON:g} s the descriptor was silent"
    )
    for _ in range(3):
        plugin.idle(QUIET / 10)
        judge.holds(plugin.poll(0).ready, "the descriptor fell silent before anything was drained")
    drained = plugin.drain()
    judge.holds(
        [one.id for one in drained.completions] == [submitted.id],
        f"the descriptor was readable, and a drain gave {len(drained.completions)} completions; the lookup's was expected",
    )


@native("PLUG-NAT-004")
def test_wakes_every_time(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """The descriptor becomes readable for every completion, however fast one follows the other."""
    key = l2_keys.one()
    for number in range(1, ROUNDS + 1):
        plugin.submit_lookup([key])
        judge.holds(
            plugin.poll(SOON).ready, f"lookup {number} of {ROUNDS} was never told of: the descriptor was silent for {SOON:g} s"
        )
        judge.holds(
            plugin.drain().completions, f"lookup {number} of {ROUNDS}: the descriptor was readable, and a drain gave nothing"
        )


@native("PLUG-NAT-004", "PLUG-NAT-030")
def test_wakes_in_a_storm(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """No completion stays behind while one thread submits as fast as it can and another one drains."""
    answers = plugin.together(
        {
            "submits": [plugin.step("submit_lookup", times=STORM, keys=[l2_keys.one()])],
            "drains": [plugin.step("collect", count=STORM, timeout=SOON)],
        },
        timeout=SOON + 5,
    )
    for name, given in answers.items():
        failed = [one["text"] for one in given if "failed" in one]
        judge.holds(not failed, f"the thread that {name} failed: {' '.join(failed)}", cite="PLUG-NAT-030")
    came = len(answers["drains"][0]["completions"])
    judge.holds(
        came >= STORM,
        f"{came} of {STORM} completions came, and then for seconds none, while the descriptor was polled all the time",
        expected=STORM,
        got=came,
    )


@native("PLUG-NAT-005")
def test_silent_once_drained(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """A drain of everything makes the descriptor silent, after one completion and after many."""
    for count in (1, 20):
        for key in l2_keys.some(count):
            plugin.submit_lookup([key])
        came = plugin.collect(count, timeout=SOON)
        judge.holds(len(came) == count, f"{len(came)} of {count} lookups were complete within {SOON:g} s", cite="PLUG-NAT-009")
        judge.holds(
            not plugin.poll(QUIET).ready, f"all of {count} completions were drained, and the descriptor is still readable"
        )


@native("PLUG-NAT-006")
def test_drain_of_nothing(judge: Judge, plugin: Plugin) -> None:
    """A drain gives an empty list at once where nothing is complete."""
    for _ in range(3):
        drained = plugin.drain()
        judge.holds(not drained.completions, f"nothing was begun, and a drain gave {len(drained.completions)} completions")
        judge.holds(drained.seconds < QUIET, f"a drain of nothing took {drained.seconds:.2f} s")


@native("PLUG-NAT-006")
def test_drain_while_storing(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """A drain does not wait for a store that is under way."""
    batch = objects(l2_keys.some(16), 4 * 1024 * 1024)
    sources = plugin.buffers([data for _, data in batch])
    submitted = plugin.submit_store([key for key, _ in batch], sources)
    waited, longest = 0.0, 0.0
    completion = None
    while completion is None:
        drained = plugin.drain()
        waited, longest = waited + drained.seconds, max(longest, drained.seconds)
        completion = next((one for one in drained.completions if one.id == submitted.id), None)
        if completion is None:
            plugin.poll(0.02)
        judge.holds(waited < LONG and drained.at - submitted.at < LONG, "the store never completed", cite="PLUG-NAT-009")
    took = completion.at - submitted.at
    judge.holds(
        longest < max(QUIET, took / 2),
        f"a store of 16 objects of 4 MiB took {took:.2f} s, and a drain meanwhile took {longest:.2f} s of it",
        conformant_answer="an empty list at once",
    )
