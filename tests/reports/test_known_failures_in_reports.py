"""What reports show of a list of known failures."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from reports.expectation import OUT_OF_DATE, Listed, ListFile, Standing
from reports.explain import explain_text
from reports.formats.junit import junit_xml
from reports.record import CaseRecord, RunFooter, RunHeader
from reports.results import Results
from reports.schema import fault_in, results_schema
from reports.tally import failure_groups, flaky_passes, list_faults
from reports.terminal import summary_lines
from reports.verdict import Verdict, count_verdicts, exit_code


def listed(standing: str = "as-listed", *, entry: int = 1, outcome: str = "fail", ended: str = "fail") -> Listed:
    return Listed(entry, outcome, Standing(standing), Verdict(ended), "it rounds down", "2027-03-31", None, "wrong length")


@pytest.fixture
def known(make_case: Any) -> CaseRecord:
    reason = "it rounds down (until 2027-03-31)"
    return make_case(verdict=Verdict.KNOWN_FAILURE, summary="wrong length: 1", reason=reason, expectation=listed())


@pytest.fixture
def results(header: RunHeader) -> Any:
    def make(*cases: CaseRecord) -> Results:
        counts = count_verdicts(case.verdict for case in cases)
        footer = RunFooter(counts, 4.25, exit_code(counts), "2026-01-02T03:05:05Z", complete=True)
        return Results(dataclasses.replace(header, expectations=ListFile("known.toml", "ab" * 32, 3)), cases, footer, None)

    return make


def text_of(results: Results) -> str:
    return "\n".join(line.plain for line in summary_lines(results, width=120))


def test_the_file_stands_at_the_head(results: Any, known: CaseRecord) -> None:
    assert "\nknown    known.toml (3 entries, sha256 abababababab)\n" in text_of(results(known))


def test_a_run_with_known_failures_has_no_new_one_and_is_not_called_conformant(results: Any, known: CaseRecord) -> None:
    text = text_of(results(known))
    assert "NO NEW FAILURE  1 case in 4.2 s: 1 known-failure." in text
    assert "CONFORMANT" not in text


def test_known_failures_are_neither_explained_nor_hidden(results: Any, known: CaseRecord) -> None:
    assert failure_groups([known]) == []
    assert "lm.get.partial-header  1 case: it rounds down (until 2027-03-31)" in text_of(results(known))


def test_flaky_cases_that_pass_are_counted_by_name(results: Any, make_case: Any) -> None:
    passed = make_case(reason="flaky: it races", expectation=listed(outcome="flaky", ended="pass"))
    assert [(group.subject, group.reason, group.count) for group in flaky_passes([passed, make_case("lm.get.x")])] == [
        ("lm.get.partial-header", "flaky: it races", 1)
    ]
    assert "Flaky, as listed, but passed this time:" in text_of(results(passed))


@pytest.mark.parametrize(
    ("standing", "words"),
    [
        ("passed", "passes"),
        ("unsupported", "is unsupported"),
        ("other-error", "fails with another error"),
        ("expired", "expired on 2027-03-31"),
        ("listed-twice", "lists what another entry lists"),
    ],
)
def test_what_is_out_of_date_is_told_by_entry(results: Any, make_case: Any, standing: str, words: str) -> None:
    case = make_case(verdict=Verdict.UNEXPECTED_PASS, reason="see there", expectation=listed(standing, entry=2))
    text = text_of(results(case))
    assert "known.toml must be edited:" in text
    assert f"entry 2    {words}: 1 case, such as lm.get.partial-header[0.5.6-mock]" in text


def test_a_list_that_holds_has_nothing_to_edit(results: Any, known: CaseRecord) -> None:
    assert list_faults([known]) == []
    assert "must be edited" not in text_of(results(known))


def test_faults_are_counted_by_entry_and_kind(make_case: Any) -> None:
    def case(number: int, entry: int, standing: str) -> CaseRecord:
        made: CaseRecord = make_case(f"lm.get.c{number}", Verdict.FAIL, expectation=listed(standing, entry=entry))
        return made

    found = list_faults([case(1, 2, "expired"), case(2, 1, "passed"), case(3, 2, "expired"), case(4, 2, "other-error")])
    assert [(fault.entry, fault.standing.value, fault.count) for fault in found] == [
        (1, "passed", 1),
        (2, "expired", 2),
        (2, "other-error", 1),
    ]


def test_a_failure_with_another_error_is_explained_with_both(make_case: Any) -> None:
    case = make_case(
        verdict=Verdict.FAIL, summary="wrong type", reason="entry 1 expects another", expectation=listed("other-error")
    )
    text = explain_text(case)
    assert "wrong type" in text
    assert "list of known failures  entry 1 expects another" in text


def test_in_junit_a_known_failure_is_skipped_with_reason_and_error(results: Any, known: CaseRecord) -> None:
    root = ET.fromstring(junit_xml(results(known)))
    (skipped,) = root.iter("skipped")
    assert skipped.get("message") == "known failure: it rounds down (until 2027-03-31): wrong length: 1"
    assert root.get("failures") == root.get("errors") == "0"
    properties = {found.get("name"): found.get("value") for found in root.iter("property")}
    assert properties["expectations"] == f"known.toml sha256 {'ab' * 32}"


def test_in_junit_an_unexpected_pass_is_a_failure(results: Any, make_case: Any) -> None:
    case = make_case(verdict=Verdict.UNEXPECTED_PASS, reason="passes, but", expectation=listed("passed", ended="pass"))
    (failure,) = ET.fromstring(junit_xml(results(case))).iter("failure")
    assert (failure.get("type"), failure.get("message")) == ("unexpected-pass", "passes, but")


def test_nothing_that_a_list_says_can_act(results: Any, known: CaseRecord) -> None:
    run = results(dataclasses.replace(known, reason="\x1b[31m[bold]<b>\u202e"))
    assert not set("\x1b\u202e") & set(text_of(run))
    assert b"\x1b" not in junit_xml(run)


def test_records_with_an_expectation_survive_the_file(known: CaseRecord, header: RunHeader) -> None:
    whole = dataclasses.replace(header, expectations=ListFile("known.toml", "ab" * 32, 3))
    assert (fault_in(known.to_json()), fault_in(whole.to_json())) == (None, None)
    assert CaseRecord.from_json(known.to_json()) == known
    assert RunHeader.from_json(whole.to_json()) == whole


def test_the_schema_knows_every_standing_and_no_other() -> None:
    assert results_schema()["$defs"]["listed"]["properties"]["standing"]["enum"] == [standing.value for standing in Standing]
    assert set(Standing) - OUT_OF_DATE == {Standing.AS_LISTED}


def test_a_standing_that_is_none_is_against_the_schema(known: CaseRecord) -> None:
    line = known.to_json()
    line["expectation"]["standing"] = "fine"
    assert "standing" in (fault_in(line) or "")
