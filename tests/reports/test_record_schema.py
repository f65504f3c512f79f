from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from reports.diagnosis import Diagnosis, FieldDifference, FrameDump, ValueDifference
from reports.record import CaseRecord, ClientInfo, RunFooter, RunHeader
from reports.schema import fault_in, results_schema
from reports.verdict import ExitCode, Verdict

FULL = Diagnosis(
    summary="wrong",
    requirement="LM-GET-004",
    level="MUST",
    statement="A client MUST.",
    why_it_matters="because",
    exchange="exchange 1 (GET)",
    delivery="sent in 2 segments",
    fields=(FieldDifference(0, 4, "code", "200 (success)", None, "not there"),),
    frames=(FrameDump("got", b"\x00\xff", 16, (17,), ((16, 1),), 4096),),
    values=(ValueDifference("keys[0]", None, [1, {"a": "b"}], "not expected"),),
    expected={"exists": True},
    got=0,
    client_answered="error",
    conformant_answer="exists = true",
    provenance="corpus 0.5.6",
    rerun="lmconform run",
    client_stderr="panic",
)
COUNTS = {verdict: index for index, verdict in enumerate(Verdict)}
FOOTER = RunFooter(COUNTS, 1.5, ExitCode.UNDECIDED, "2026-01-02T03:04:06.5Z", complete=True)


@pytest.fixture
def full_case(make_case: Any) -> CaseRecord:
    case: CaseRecord = make_case(
        verdict=Verdict.FAIL, variant="v1", requirements=("LM-GET-004",), reason="r", operation="get", diagnosis=FULL
    )
    return case


def through_json(value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(results_schema())


def test_records_survive_json(header: RunHeader, full_case: CaseRecord) -> None:
    assert RunHeader.from_json(through_json(header.to_json())) == header
    assert CaseRecord.from_json(through_json(full_case.to_json())) == full_case
    assert RunFooter.from_json(through_json(FOOTER.to_json())) == FOOTER


def test_records_fit_the_schema(header: RunHeader, full_case: CaseRecord, make_case: Any) -> None:
    whole = Draft202012Validator(results_schema())
    for record in (header, full_case, make_case(), FOOTER):
        line = through_json(record.to_json())
        assert fault_in(line) is None
        assert whole.is_valid(line)


@pytest.mark.parametrize(
    ("kind", "definition"),
    [
        (RunHeader, "header"),
        (ClientInfo, "client"),
        (CaseRecord, "case"),
        (Diagnosis, "diagnosis"),
        (FieldDifference, "fieldDifference"),
        (FrameDump, "frameDump"),
        (ValueDifference, "valueDifference"),
        (RunFooter, "footer"),
    ],
)
def test_the_schema_knows_every_member_and_no_other(kind: type, definition: str) -> None:
    properties = results_schema()["$defs"][definition]["properties"]
    assert set(properties) - {"record"} == {field.name for field in dataclasses.fields(kind)}


def test_the_schema_knows_every_verdict() -> None:
    assert results_schema()["$defs"]["verdict"]["enum"] == [verdict.value for verdict in Verdict]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"verdict": "maybe"}, "member verdict"),
        ({"seconds": -1}, "member seconds"),
        ({"seconds": "1"}, "member seconds"),
        ({"id": ""}, "member id"),
        ({"diagnosis": {}}, "member diagnosis"),
        ({"record": "verdict"}, '"record" must be one of header, case, footer'),
    ],
)
def test_a_fault_names_the_member(make_case: Any, change: dict[str, Any], fault: str) -> None:
    line = {**make_case().to_json(), **change}
    assert fault in (fault_in(line) or "")
    assert not Draft202012Validator(results_schema()).is_valid(line)


def test_a_line_must_be_an_object() -> None:
    assert fault_in([1]) == "a line must be a JSON object"


def test_members_of_later_versions_are_ignored(full_case: CaseRecord) -> None:
    line = through_json(full_case.to_json())
    line["news"] = 1
    line["diagnosis"]["news"] = 1
    assert fault_in(line) is None
    assert CaseRecord.from_json(line) == full_case


def test_wild_client_values_are_recorded_bounded(make_case: Any) -> None:
    diagnosis = Diagnosis(
        "s" * 10_000,
        got=[float("nan")] * 1000,
        client_answered="a" * 1_000_000,
        client_stderr="x" * 1_000_000 + "last words",
        values=(ValueDifference("p", None, float("inf")),),
    )
    line = through_json(make_case(verdict=Verdict.FAIL, diagnosis=diagnosis, reason="r" * 10**6).to_json())
    assert fault_in(line) is None
    assert len(json.dumps(line)) < 50_000
    assert line["diagnosis"]["client_stderr"].endswith("last words")


def test_why_is_the_summary_or_else_the_reason(make_case: Any) -> None:
    assert make_case(summary="wrong", reason="r").why == "wrong"
    assert make_case(reason="r").why == "r"
    assert make_case().why == ""
    assert make_case().column == "0.5.6-mock"
    assert make_case().name == "lm.get.partial-header"
