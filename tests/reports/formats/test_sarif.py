import json
import re

import pytest
from sarif_kit.validate import validation_errors

from harness.requirements import load_requirements
from harness.wanted import context_of
from reports.diagnosis import Diagnosis
from reports.formats.context import Context, Place
from reports.formats.sarif import sarif
from reports.verdict import Verdict


def written(results, context=None):
    """The only run of the log, which OASIS's schema and what code scanning demands beyond it allow."""
    log = json.loads(sarif(results, context))
    assert validation_errors(log) == []
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert re.fullmatch(r"[^/:][^:]*", place["artifactLocation"]["uri"])
        assert place["region"]["startLine"] >= 1
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"].strip()
        assert result["partialFingerprints"]["primaryLocationLineHash"]
    for rule in rules:
        assert all(rule[member]["text"].strip() for member in ("shortDescription", "fullDescription", "help"))
    return run


def broken(make_case, verdict=Verdict.FAIL, level="MUST", **more):
    diagnosis = Diagnosis("wrong", requirement="LM-GET-004", level=level, statement="A client asks.", why_it_matters="it is lost")
    return make_case(verdict=verdict, diagnosis=diagnosis, **more)


@pytest.mark.parametrize(
    ("verdict", "level", "shown"),
    [
        (Verdict.FAIL, "MUST", "error"),
        (Verdict.FAIL, "SHOULD", "warning"),
        (Verdict.SHORTFALL, "SHOULD", "warning"),
        (Verdict.FAIL, "MAY", "note"),
        (Verdict.CRASH, "MUST", "error"),
        (Verdict.KNOWN_FAILURE, "MUST", "note"),
    ],
)
def test_the_level_is_that_of_what_was_not_kept(run, make_case, verdict, level, shown):
    (result,) = written(run(broken(make_case, verdict, level)))["results"]
    assert (result["ruleId"], result["level"]) == ("LM-GET-004", shown)


def test_what_passed_is_no_finding_and_a_known_failure_is_suppressed(run, make_case):
    cases = (
        make_case(),
        make_case("lm.put.a", Verdict.UNSUPPORTED),
        broken(make_case, Verdict.KNOWN_FAILURE, reason="it rounds"),
    )
    (result,) = written(run(*cases))["results"]
    assert result["suppressions"] == [{"kind": "external", "status": "accepted", "justification": "it rounds"}]


@pytest.mark.parametrize("verdict", [Verdict.CRASH, Verdict.HANG, Verdict.FAIL, Verdict.UNEXPECTED_PASS])
def test_a_failure_that_cites_nothing_is_of_a_rule_of_its_own(run, make_case, verdict):
    (result,) = written(run(make_case(verdict=verdict, summary="it died")))["results"]
    assert result["ruleId"] == f"lmconform/{verdict.value}"


def test_rules_are_requirements_with_their_texts_and_links(run, make_case, tmp_path):
    case = make_case(verdict=Verdict.FAIL, diagnosis=Diagnosis("wrong", requirement="LM-GET-004", level="MUST"))
    context = context_of(tmp_path / "results.jsonl", specification="https://example.org/spec")
    (rule,) = written(run(case), context)["tool"]["driver"]["rules"]
    known = load_requirements()["LM-GET-004"]
    assert known.statement in rule["help"]["text"]
    assert known.why in rule["help"]["text"]
    assert rule["helpUri"] == f"https://example.org/spec/lm.md#{known.anchor}"


def test_a_finding_stands_at_its_record_unless_the_user_says_where(run, make_case):
    results = run(make_case(), broken(make_case, variant="v"))
    (result,) = written(results, Context(records="out put/results.jsonl"))["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("out%20put/results.jsonl", 3)
    (result,) = written(results, Context(place=Place("src/mine.py", 12)))["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("src/mine.py", 12)
    assert result["locations"][0]["logicalLocations"] == [
        {"name": "lm.get.partial-header", "fullyQualifiedName": "lm.get.partial-header[0.5.6-mock-v]"}
    ]


def fingerprints(run):
    return [result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]]


def test_fingerprints_outlive_other_messages_and_other_lines_and_tell_cases_apart(run, make_case):
    first = written(run(broken(make_case), broken(make_case, variant="v")))
    case = make_case(verdict=Verdict.FAIL, diagnosis=Diagnosis("wrong in another way", requirement="LM-GET-004", level="MUST"))
    assert fingerprints(written(run(make_case("lm.put.x"), case))) == fingerprints(first)[:1]
    assert len(set(fingerprints(first))) == 2


@pytest.mark.parametrize("verdict", [Verdict.MOCK_DRIFT, Verdict.HARNESS_ERROR, Verdict.ENVIRONMENT_ERROR])
def test_what_is_nobodys_fault_is_told_of_the_run(run, make_case, verdict):
    found = written(run(make_case(verdict=verdict, summary="no network")))
    (invocation,) = found["invocations"]
    assert found["results"] == []
    assert invocation["executionSuccessful"] is False
    assert "no network" in invocation["toolExecutionNotifications"][0]["message"]["text"]


def test_a_run_that_did_not_end_was_no_success(run, make_case):
    (invocation,) = written(run(make_case(), incomplete="there is no footer"))["invocations"]
    assert invocation["executionSuccessful"] is False


def test_a_run_that_passed_was_one(run, make_case):
    (invocation,) = written(run(make_case()))["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (True, 0)


def test_there_are_no_more_results_than_code_scanning_shows_and_the_gravest_are_kept(run, make_case, monkeypatch):
    monkeypatch.setattr("reports.formats.sarif.MOST", 5)
    known = [broken(make_case, Verdict.KNOWN_FAILURE, variant=str(number)) for number in range(5)]
    found = json.loads(sarif(run(*known, broken(make_case))))["runs"][0]
    assert len(found["results"]) == 5
    assert found["results"][0]["level"] == "error"
    assert "1 result more left out" in found["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]


def test_a_client_makes_no_link(run, make_case):
    (result,) = written(run(make_case(verdict=Verdict.FAIL, summary="[here](https://evil.example)")))["results"]
    assert "](" not in result["message"]["text"]
