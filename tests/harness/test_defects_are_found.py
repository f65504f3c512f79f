"""Defects that the matrix once let pass, each with the case that finds it now."""

import pytest

FOUND_BY = {
    "CountsElements": "lm.identity.reply-disagrees",
    "StoresTwice": "lm.request.put-on-the-wire",
    "SwallowsPutErrors": "lm.connection.puts-to-a-dead-server",
    "HealthyByConnecting": "lm.request.health-on-the-wire",
    "HealthyWhateverComes": "lm.broken.health-code-is-not-success",
    "CutsKeys": "lm.request.long-key-is-not-sent",
    "IgnoresTheTimeout": "lm.broken.reply-stalls",
    "StoresWithoutATimeout": "lm.connection.nobody-reads",
    "DropsTheLocation": "lm.request.put-on-the-wire",
    "ReopensWhatWasClosed": "lm.connection.close",
    "GivesUpListAtOnce": "lm.roundtrip.list-is-never-answered",
    "KeepsDescriptors": "lm.state.closed-connections-leave-no-descriptor",
    "KeepsWhatBroke": "lm.state.failed-connections-leave-no-descriptor",
    "KeepsThreads": "lm.state.closed-connections-leave-no-thread",
    "KeepsValues": "lm.state.loaded-values-are-not-kept",
    "LeavesConnectionsOpen": "lm.state.bye-ends-everything",
}


@pytest.mark.parametrize("name", FOUND_BY)
def test_a_defect_is_found_by_the_case_that_is_about_it(judged, name):
    run = judged(f"python:defective_clients:{name}", f"{FOUND_BY[name]}*")
    assert run.code == 1
    assert {case.verdict for case in run.cases} <= {"pass", "fail", "hang"}
    assert {case.name for case in run.cases if case.verdict != "pass"} == {FOUND_BY[name]}
