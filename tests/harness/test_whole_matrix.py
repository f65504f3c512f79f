"""What the project promises: the reference client is conformant on fixtures and mock for every captured release."""

from generations import CAPTURED

from reports.verdict import Verdict


def test_the_reference_client_passes_every_case_of_every_captured_release(judged):
    run = judged("reference", lmcache="all", jobs=2)
    assert [(case.id, case.diagnosis.summary) for case in run.cases if case.verdict is not Verdict.PASS] == []
    assert run.code == 0
    assert {case.release for case in run.cases} == set(map(str, CAPTURED))
    assert {case.target for case in run.cases} == {"fixtures", "mock"}
