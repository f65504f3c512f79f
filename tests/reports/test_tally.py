from __future__ import annotations

from typing import Any

from reports.diagnosis import Diagnosis
from reports.record import CaseRecord
from reports.tally import failure_groups, matrix, skip_groups
from reports.verdict import Outcome, Verdict


def test_neighbouring_releases_that_ended_alike_share_a_column(make_case: Any) -> None:
    verdicts = {"0.5.4": Verdict.PASS, "0.5.5": Verdict.PASS, "0.5.6": Verdict.FAIL}
    cases = [make_case(verdict=verdict, release=release) for release, verdict in verdicts.items()]
    assert [column.releases for column in matrix(cases).columns] == [("0.5.4", "0.5.5"), ("0.5.6",)]


def test_columns_follow_the_order_of_the_header(make_case: Any) -> None:
    cases = [make_case(release="0.5.6"), make_case(release="0.3.1", verdict=Verdict.FAIL)]
    assert [column.releases for column in matrix(cases, ["0.3.1", "0.5.6"]).columns] == [("0.3.1",), ("0.5.6",)]


def test_targets_never_share_a_column(make_case: Any) -> None:
    table = matrix([make_case(target="mock"), make_case(target="live")])
    assert [column.target for column in table.columns] == ["mock", "live"]


def test_cells_count_outcomes(make_case: Any) -> None:
    verdicts = [Verdict.PASS, Verdict.HANG, Verdict.CRASH, Verdict.UNSUPPORTED, Verdict.MOCK_DRIFT]
    table = matrix([make_case(f"lm.get.c{index}", verdict) for index, verdict in enumerate(verdicts)])
    expected = ((Outcome.PASSED, 1), (Outcome.FAILED, 2), (Outcome.SKIPPED, 1), (Outcome.ERROR, 1))
    assert table.topics == ("lm.get",)
    assert table.columns[0].cells == {"lm.get": expected}


def test_failures_of_one_case_for_one_reason_make_one_group(make_case: Any) -> None:
    same = [make_case(verdict=Verdict.FAIL, variant=f"v{index}", summary="wrong") for index in range(5)]
    other = make_case(verdict=Verdict.FAIL, variant="v9", summary="wrong in another way")
    hang = make_case(verdict=Verdict.HANG, variant="v8", summary="wrong")
    groups = failure_groups([make_case(), *same, other, hang])
    assert [(group.first, len(group.others)) for group in groups] == [(same[0], 4), (other, 0), (hang, 0)]


def test_failures_stand_in_the_order_in_which_they_are_to_be_repaired(make_case: Any) -> None:
    def failed(name: str, verdict: Verdict, level: Any = None, number: int = 1) -> list[CaseRecord]:
        told = Diagnosis("wrong", requirement="LM-GET-004", level=level)
        return [make_case(f"lm.get.{name}", verdict, variant=f"v{index}", diagnosis=told) for index in range(number)]

    cases = [
        *failed("listed", Verdict.UNEXPECTED_PASS, number=9),
        *failed("should", Verdict.FAIL, "SHOULD", 8),
        *failed("early", Verdict.FAIL, "MUST"),
        *failed("most", Verdict.FAIL, "MUST", 7),
        *failed("crashes", Verdict.CRASH, "SHOULD", 6),
        *failed("hangs", Verdict.HANG, "MAY", 5),
        *failed("unknown", Verdict.FAIL, None, 4),
        *failed("late", Verdict.FAIL, "MUST"),
        *failed("drift", Verdict.MOCK_DRIFT, "MUST"),
    ]
    names = [group.first.case for group in failure_groups(cases)]
    assert names == ["drift", "most", "crashes", "hangs", "unknown", "early", "late", "should", "listed"]


def test_numbers_tell_failures_apart_unless_the_client_said_them(make_case: Any) -> None:
    answers = [f"get should have succeeded; the client answered error refused: length {n} at 0xc0{n}f0" for n in (1, 23)]
    measured = ["1 of 186 bytes differs, the first at 0xc", "4 of 186 bytes differ, the first at 0x20"]
    cases = [make_case(verdict=Verdict.FAIL, variant=why[-4:], summary=why) for why in (*answers, *measured)]
    assert [len(group.others) for group in failure_groups(cases)] == [1, 0, 0]


def test_skipped_cases_are_no_failures(make_case: Any) -> None:
    assert failure_groups([make_case(verdict=Verdict.UNSUPPORTED), make_case(verdict=Verdict.KNOWN_FAILURE)]) == []


def test_unsupported_is_grouped_by_operation_and_reason(make_case: Any) -> None:
    cases = [make_case(verdict=Verdict.UNSUPPORTED, operation="list", reason=reason) for reason in ("a", "a", "b")]
    cases += [make_case("lm.get.x", Verdict.UNSUPPORTED, reason="c"), make_case("lm.get.y", Verdict.KNOWN_FAILURE, reason="d")]
    found = [(group.subject, group.reason, group.count) for group in skip_groups(cases, Verdict.UNSUPPORTED)]
    assert found == [("list", "a", 2), ("list", "b", 1), ("lm.get", "c", 1)]
    assert [group.subject for group in skip_groups(cases, Verdict.KNOWN_FAILURE)] == ["lm.get.y"]
