from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from reports.conversation import WHATS, Conversation, ConversationEvent
from reports.diagnosis import Diagnosis, FieldDifference, FrameDump, ValueDifference
from reports.expectation import Listed, ListFile
from reports.parts import Merged, Part, Selection, Shard
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
    conversation=Conversation(
        "the mock",
        (
            ConversationEvent(0.0, 1, "client", "open"),
            ConversationEvent(0.25, 1, "server", "data", 4096, b"\x00\xff", "reply to GET"),
            ConversationEvent(0.5, 0, None, "silence", label="5.0 s without a word"),
        ),
        left_out=7,
        gap=1,
    ),
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
        (Conversation, "conversation"),
        (ValueDifference, "valueDifference"),
        (RunFooter, "footer"),
        (Listed, "listed"),
        (ListFile, "listFile"),
        (Selection, "selection"),
        (Shard, "shard"),
        (Merged, "merged"),
        (Part, "part"),
    ],
)
def test_the_schema_knows_every_member_and_no_other(kind: type, definition: str) -> None:
    properties = results_schema()["$defs"][definition]["properties"]
    assert set(properties) - {"record"} == {field.name for field in dataclasses.fields(kind)}


def test_the_schema_knows_every_member_of_an_event() -> None:
    event = results_schema()["$defs"]["conversationEvent"]["properties"]
    fields = {field.name for field in dataclasses.fields(ConversationEvent)}
    assert set(event) - {"from"} == fields - {"sender"}
    assert set(event["what"]["enum"]) == set(WHATS)


SELECTION = Selection(1402, "0" * 64, 40, 15.0, 30.0, "venv")
PART = Part(2, "2026-01-02T03:04:05Z", 1.5, "3.11.7", "Linux", ("lmconform", "run", "--shard", "2/4"))


@pytest.mark.parametrize(
    "changes",
    [
        {"selection": SELECTION, "shard": Shard(2, 4)},
        {"selection": SELECTION, "merged": Merged(4, (PART,), ("shards 1/4, 3/4 and 4/4 are missing",))},
        {"selection": dataclasses.replace(SELECTION, examples=None), "merged": Merged(1, (PART,))},
    ],
    ids=["shard", "merged in part", "merged"],
)
def test_headers_of_parts_survive_json_and_fit_the_schema(header: RunHeader, changes: dict[str, Any]) -> None:
    found = dataclasses.replace(header, **changes)
    line = through_json(found.to_json())
    assert RunHeader.from_json(line) == found
    assert Draft202012Validator(results_schema()).is_valid(line)
    assert fault_in(line) is None


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("shard", {"index": 0, "count": 4}),
        ("shard", {"index": 1}),
        ("selection", {**SELECTION.to_json(), "ids": "xyz"}),
        ("selection", {**SELECTION.to_json(), "cases": -1}),
        ("merged", {"count": 4}),
        ("merged", {"count": 4, "parts": [{"index": 1}]}),
    ],
)
def test_a_fault_in_a_part_names_the_member(header: RunHeader, member: str, value: Any) -> None:
    assert f"member {member}" in (fault_in({**through_json(header.to_json()), member: value}) or "")


def test_files_without_the_members_of_parts_are_read_as_whole_runs(header: RunHeader, make_case: Any) -> None:
    line = {name: value for name, value in header.to_json().items() if name not in {"selection", "shard", "merged"}}
    assert fault_in(line) is None
    assert RunHeader.from_json(line) == header
    case = {name: value for name, value in make_case().to_json().items() if name != "place"}
    assert fault_in(case) is None
    assert CaseRecord.from_json(case) == make_case()


def test_a_place_is_recorded(make_case: Any) -> None:
    line = through_json(make_case(place=7).to_json())
    assert (line["place"], CaseRecord.from_json(line).place) == (7, 7)
    assert "member place" in (fault_in({**line, "place": -1}) or "")


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
