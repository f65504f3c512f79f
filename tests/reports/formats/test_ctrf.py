import json
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from reports.diagnosis import Diagnosis
from reports.formats.ctrf import ctrf
from reports.verdict import Verdict

SCHEMA = Draft7Validator(
    json.loads(Path(__file__).with_name("ctrf-0.0.schema.json").read_text()), format_checker=Draft7Validator.FORMAT_CHECKER
)


def written(results):
    document = json.loads(ctrf(results))
    SCHEMA.validate(document)
    return document["results"]


@pytest.mark.parametrize(
    ("verdict", "status"),
    [
        (Verdict.PASS, "passed"),
        (Verdict.FAIL, "failed"),
        (Verdict.HANG, "failed"),
        (Verdict.CRASH, "failed"),
        (Verdict.UNEXPECTED_PASS, "failed"),
        (Verdict.KNOWN_FAILURE, "skipped"),
        (Verdict.SHORTFALL, "skipped"),
        (Verdict.UNSUPPORTED, "skipped"),
        (Verdict.MOCK_DRIFT, "failed"),
        (Verdict.HARNESS_ERROR, "failed"),
        (Verdict.ENVIRONMENT_ERROR, "failed"),
    ],
)
def test_every_verdict_has_its_status_and_is_told_as_it_is(run, make_case, verdict, status):
    results = written(run(make_case(verdict=verdict, summary="why")))
    (test,) = results["tests"]
    assert (test["status"], test["rawStatus"]) == (status, verdict.value)
    assert results["summary"][status] == results["summary"]["tests"] == 1


def test_a_failure_has_its_reason_its_explanation_and_what_it_wrote(run, make_case):
    diagnosis = Diagnosis("wrong", requirement="LM-GET-001", level="MUST", rerun="lmconform run --only x", client_stderr="a\nb")
    (test,) = written(run(make_case(verdict=Verdict.FAIL, diagnosis=diagnosis, requirements=("LM-GET-001",))))["tests"]
    assert (test["name"], test["message"]) == ("lm.get.partial-header[0.5.6-mock]", "wrong")
    assert test["suite"] == ["lmcache 0.5.6", "mock", "lm.get"]
    assert test["tags"] == ["LM-GET-001"]
    assert test["stderr"] == ["a", "b"]
    assert test["duration"] == 250
    assert "run it again" in test["trace"]
    assert test["extra"]["rerun"] == "lmconform run --only x"


def test_what_is_not_the_clients_fault_is_said_to_be_none(run, make_case):
    (test,) = written(run(make_case(verdict=Verdict.HARNESS_ERROR, summary="a bug")))["tests"]
    assert test["message"] == "not the client's fault: a bug"


def test_times_are_milliseconds_since_1970(run, make_case):
    summary = written(run(make_case()))["summary"]
    assert (summary["start"], summary["stop"], summary["duration"]) == (1767323045000, 1767323105000, 4250)


@pytest.mark.parametrize("incomplete", ["there is no footer", None])
def test_a_run_that_did_not_end_or_has_no_case_fails(run, incomplete):
    results = written(run(incomplete=incomplete))
    assert results["summary"]["failed"] == 1
    assert results["tests"][0]["message"] == (incomplete or "no case ran: the selection matched nothing")
    assert results["environment"]["healthy"] is (incomplete is None)
