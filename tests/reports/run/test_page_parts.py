"""The parts of the page of a run: hexdumps, conversations, links, the table, and what is left out to keep it small."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from reports.conversation import Conversation, ConversationEvent
from reports.diagnosis import Diagnosis, FrameDump
from reports.requirement_text import RequirementText
from reports.results import Results
from reports.run import page
from reports.run.bytes import dumps
from reports.run.links import releases_wanted, view_link
from reports.run.page import html
from reports.run.timeline import BEGIN, END, timeline, why_none
from reports.verdict import Verdict
from tests.reports.run.made import made_run


def data_of(text: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_bytes_that_differ_are_marked_in_both_columns_of_a_dump() -> None:
    (dump,) = dumps([FrameDump("got", b"\x00A\x02\x03", marks=((1, 2),))])
    assert "".join(piece.text for piece in dump.rows[0]).split() == ["0000", "00", "41", "02", "03", ".A.."]
    assert [piece.text for piece in dump.rows[0] if piece.kind == "mark"] == ["41 02", "A."]


def test_the_cut_of_a_stream_stands_between_its_bytes() -> None:
    (dump,) = dumps([FrameDump("got", bytes(32), offset=16, cuts=(18, 32, 48))])
    first, second = ("".join(piece.text for piece in row) for row in dump.rows)
    assert first.startswith("0010  00 00|00 00")
    assert second.startswith("0020 |00 00")
    assert "00|" in second


def test_a_frame_of_which_all_differs_and_one_that_is_too_long() -> None:
    whole, other = dumps([FrameDump("expected", bytes(8), marks=((0, 8),)), FrameDump("got", bytes(1000))])
    assert (whole.whole, whole.expected, whole.more) == (True, True, 0)
    assert (other.whole, other.expected, other.more, len(other.rows)) == (False, False, 1000 - 24 * 16, 24)


def talk(count: int, **more: Any) -> Conversation:
    events = (ConversationEvent(number, 1, "client", "data", 1, b"x", f"event {number}") for number in range(count))
    return Conversation("the mock", tuple(events), **more)


def test_a_short_conversation_is_shown_whole_and_the_middle_of_a_long_one_is_folded() -> None:
    short = timeline(talk(BEGIN + END + 4))
    assert (len(short.begin), short.middle, short.end) == (BEGIN + END + 4, (), ())
    long = timeline(talk(60))
    assert (len(long.begin), len(long.middle), len(long.end)) == (BEGIN, 60 - BEGIN - END, END)
    assert long.end[-1].label == "event 59"


def test_events_that_are_left_out_are_counted_where_they_would_be() -> None:
    lines = timeline(talk(6, left_out=940, gap=2)).begin
    assert [line.label or line.what for line in lines] == [
        *("event 0", "event 1", "940 events left out", "event 2", "event 3", "event 4", "event 5")
    ]


@pytest.mark.parametrize("gap", [3, 9])
def test_events_that_are_left_out_are_told_also_behind_the_last(gap: int) -> None:
    assert timeline(talk(3, left_out=7, gap=gap)).begin[-1].what == "7 events left out"
    assert [line.what for line in timeline(talk(0, left_out=7, gap=gap)).begin] == ["7 events left out"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"target": "fixtures"}, "On the target fixtures nothing crosses a wire"),
        ({"target": "live"}, "The client spoke with the real server"),
        ({"target": "alone", "judges": "plugin"}, "The case calls the plugin as a class"),
        ({"not_run": True}, "The client was not asked any more."),
        ({}, "The harness saw nothing cross the wire"),
    ],
)
def test_where_there_is_no_conversation_the_page_says_why(make_case: Any, more: dict[str, Any], said: str) -> None:
    assert why_none(make_case(verdict=Verdict.FAIL, **more)).startswith(said)


def test_links_hold_whatever_a_name_holds() -> None:
    assert view_link(topic="a&b=c d", verdict="fail") == "#topic=a%26b%3Dc+d&verdict=fail"
    assert releases_wanted(["0.5.5"]) == "0.5.5"
    assert releases_wanted(["0.5.3", "0.5.4", "0.5.5"]) == "0.5.3~0.5.5"


def test_every_case_is_in_the_data_under_its_id() -> None:
    run = made_run(700, 7)
    data = data_of(html(run))
    ids = []
    for place, (name, column, variant, *_) in enumerate(data["cases"]):
        topic, case = data["names"][name][:2]
        release, target = data["columns"][column]
        ids.append(data["ids"].get(str(place)) or f"{topic}.{case}[{release}-{target}-{data['variants'][variant]}]")
    assert ids == [case.id for case in run.cases]
    verdicts = [data["verdicts"][case[3]][0] for case in data["cases"]]
    assert verdicts == [case.verdict.value for case in run.cases]


def test_an_id_that_is_not_made_of_its_parts_is_kept(make_case: Any, header: Any) -> None:
    odd = make_case()
    odd = type(odd)(**{**vars(odd), "id": "made-up"})
    assert data_of(html(Results(header, (odd,), None, "cut short")))["ids"] == {"0": "made-up"}


def test_requirements_bring_their_words_where_they_are_known(make_case: Any, header: Any) -> None:
    cases = (make_case(requirements=("LM-GET-004", "LM-GET-005")),)
    words = {"LM-GET-004": RequirementText("SHOULD", "A client waits.", "it breaks")}
    data = data_of(html(Results(header, cases, None, "cut short"), words))
    assert data["requirements"] == [["LM-GET-004", "SHOULD", "A client waits.", "it breaks"], ["LM-GET-005"]]


def test_musts_and_shoulds_that_are_missed_stand_side_by_side(make_case: Any, header: Any) -> None:
    def missed(name: str, level: Any, verdict: Verdict, requirement: str) -> Any:
        told = Diagnosis("s", requirement=requirement, level=level, statement=f"Words of {requirement}.")
        return make_case(name, verdict, diagnosis=told)

    cases = (missed("a.b", "MUST", Verdict.FAIL, "SRV-LM-001"), missed("a.c", "SHOULD", Verdict.SHORTFALL, "SRV-LM-040"))
    text = html(Results(header, cases, None, "cut short"))
    must, should = re.findall(r'<div class="card">(.*?)</div>', text, re.DOTALL)
    assert "Words of SRV-LM-001." in must
    assert "Words of SRV-LM-040." in should
    assert "1 not met" in must
    assert "1 not met" in should


def test_the_first_cause_is_named_below_the_verdict() -> None:
    text = html(made_run(60, 2))
    assert "Of 2 causes repair this first" in text
    assert text.index("repair this first") < text.index('id="matrix"')


def test_where_room_is_scarce_explanations_become_shorter_and_then_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    run = made_run(600, 300)
    all_of_them = html(run)
    monkeypatch.setattr(page, "ROOM", 200_000)
    few = html(run)
    assert len(few) < len(all_of_them) - 500_000
    assert few.count("are left out here to keep the page small") >= 1
    assert len(data_of(few)["causes"]) == len(data_of(all_of_them)["causes"]) == 300 - page.SHOWN


def test_five_thousand_cases_take_less_than_three_megabytes() -> None:
    assert len(html(made_run(5000, 0)).encode()) < 300_000
    assert len(html(made_run(5000, 500)).encode()) < 3_000_000
