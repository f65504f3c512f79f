from __future__ import annotations

import io
from functools import partial
from typing import Any

import pytest
from rich.cells import cell_len

from reports.conversation import Conversation, ConversationEvent
from reports.diagnosis import Diagnosis, FieldDifference, FrameDump, ValueDifference
from reports.difference import frame_difference
from reports.escape import escape
from reports.explain import explain_lines, explain_text, label_of
from reports.terminal import make_console, show
from reports.verdict import Verdict
from wire.lm.frames import Reply, describe_reply, encode_reply
from wire.lm.profile import lm_profile
from wire.release import Release

PROFILE = lm_profile(Release.parse("0.5.6"))
HIT = encode_reply(PROFILE, Reply("SUCCESS"))
WILD = "\x1b]0;owned\x07 [bold red]x[/] :boom: <script>alert(1)</script> \u202e \udc80 \r\n end"
SPLIT = Diagnosis(
    summary="the client gave an error where the key exists",
    requirement="LM-REPLY-003",
    level="MUST",
    statement="A client assembles the 36-byte reply header however the stream is segmented.",
    why_it_matters="on a real network a header arrives split now and then.",
    exchange="exchange 2 (EXIST), connection 1",
    delivery="sent in 2 segments: 10 + 26 bytes",
    frames=(FrameDump("reply as served", HIT, cuts=(10,)),),
    client_answered='error internal: "buffer of 36 bytes needed"',
    conformant_answer="exists = true",
    provenance="corpus 0.5.6, vector lm.reply.exist-hit",
    rerun="lmconform run --only lm.reply.split-header",
)


def test_a_failure_reads_like_the_picture_in_the_house_style(make_case: Any) -> None:
    title = "A client assembles the 36-byte reply header however the stream is segmented."
    record = make_case("lm.reply.split-header", Verdict.FAIL, title=title, diagnosis=SPLIT)
    assert explain_text(record, 90).splitlines() == [
        "FAIL  lm.reply.split-header[0.5.6-mock]                                 LM-REPLY-003  MUST",
        "      A client assembles the 36-byte reply header however the stream is segmented.",
        "      Why it matters: on a real network a header arrives split now and then.",
        "",
        "      the client gave an error where the key exists",
        "      exchange 2 (EXIST), connection 1                   sent in 2 segments: 10 + 26 bytes",
        "",
        "        reply as served, 36 bytes",
        "        0000  c8 00 00 00 00 00 00 00 01 00|00 00 02 00 00 00  ................",
        "        0010  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  ................",
        "        0020  00 00 00 00                                      ....",
        "",
        '      the client answered   error internal: "buffer of 36 bytes needed"',
        "      a conformant answer   exists = true",
        "      expected value from   corpus 0.5.6, vector lm.reply.exist-hit",
        "      run it again          lmconform run --only lm.reply.split-header",
    ]


def test_fields_and_bytes_that_differ_are_shown_together(make_case: Any) -> None:
    found = frame_difference(HIT, encode_reply(PROFILE, Reply("FAIL")), partial(describe_reply, PROFILE))
    diagnosis = Diagnosis(found.summary, fields=found.fields, frames=found.frames)
    text = explain_text(make_case(verdict=Verdict.FAIL, diagnosis=diagnosis))
    assert "        0000    code   200 (success)  400 (fail)" in text
    assert "      - 0000  c8 00 " in text
    assert "      + 0000  90 01 " in text


def wild_case(make_case: Any) -> Any:
    diagnosis = Diagnosis(
        summary=WILD,
        requirement=WILD,
        statement=WILD,
        why_it_matters=WILD,
        exchange=WILD,
        delivery=WILD,
        client_answered=WILD,
        conformant_answer=WILD,
        provenance=WILD,
        rerun=WILD * 3,
        client_stderr=WILD,
        fields=(FieldDifference(0, 4, WILD, WILD, WILD, WILD),),
        frames=(FrameDump(WILD, WILD.encode(errors="replace")),),
        values=(ValueDifference(WILD, WILD, [WILD], WILD),),
    )
    return make_case(verdict=Verdict.FAIL, title=WILD, diagnosis=diagnosis, variant=WILD)


def test_nothing_that_a_client_says_can_act(make_case: Any) -> None:
    text = explain_text(wild_case(make_case))
    assert all(line.isprintable() for line in text.split("\n"))
    stream = io.StringIO()
    show(make_console(stream, width=100), explain_lines(wild_case(make_case), 100))
    assert stream.getvalue().rstrip("\n") == text
    assert "[bold red]x[/] :boom: <script>alert(1)</script>" in text
    assert r"\x1b]0;owned\x07" in text
    assert r"\u202e" in text


@pytest.mark.parametrize("width", [80, 100, 120])
def test_lines_fit_the_terminal_but_for_the_command(make_case: Any, width: int) -> None:
    lines = explain_text(wild_case(make_case), width).split("\n")
    assert [line.strip() for line in lines if cell_len(line) > width] == [escape(WILD * 3)]


def test_wide_characters_are_measured_in_cells(make_case: Any) -> None:
    record = make_case(verdict=Verdict.FAIL, diagnosis=Diagnosis("東京" * 100))
    assert max(cell_len(line) for line in explain_text(record, 80).split("\n")) <= 80


def test_a_long_command_stays_whole(make_case: Any) -> None:
    command = "lmconform run --client 'stdio:./mine " + "--flag " * 30 + "'"
    text = explain_text(make_case(verdict=Verdict.FAIL, diagnosis=Diagnosis("wrong", rerun=command)), 80)
    assert f"        {command}" in text.split("\n")


def test_long_values_are_stacked(make_case: Any) -> None:
    field = FieldDifference(36, 150, "key", "a" * 100, "b" * 100)
    lines = explain_text(make_case(verdict=Verdict.FAIL, diagnosis=Diagnosis("wrong", fields=(field,))), 80).split("\n")
    assert "        0024  key" in lines
    assert any(line.startswith("          expected  aaaa") for line in lines)


def test_long_lists_are_cut(make_case: Any) -> None:
    fields = tuple(FieldDifference(index, 4, f"f{index}", "1", "2") for index in range(50))
    values = tuple(ValueDifference(f"v{index}", 1, 2) for index in range(50))
    text = explain_text(make_case(verdict=Verdict.FAIL, diagnosis=Diagnosis("wrong", fields=fields, values=values)))
    assert "and 30 more fields" in text
    assert "and 30 more places" in text
    assert "f20" not in text


def test_huge_values_are_cut(make_case: Any) -> None:
    diagnosis = Diagnosis("s" * 10**6, client_answered="a" * 10**6, expected="e" * 10**6, got=["g"] * 10**5)
    assert len(explain_text(make_case(verdict=Verdict.FAIL, diagnosis=diagnosis))) < 10_000


def test_stderr_keeps_its_start_and_its_end(make_case: Any) -> None:
    said = "\n".join(f"line {index}" for index in range(100))
    text = explain_text(make_case(verdict=Verdict.CRASH, diagnosis=Diagnosis("crashed", client_stderr=said)))
    assert "line 2\n" in text
    assert "... 90 lines left out ..." in text
    assert text.endswith("line 99")


def test_whole_values_are_shown_side_by_side(make_case: Any) -> None:
    text = explain_text(make_case(verdict=Verdict.FAIL, diagnosis=Diagnosis("wrong", expected=None, got={"a": "ü"})))
    assert "expected  null" in text
    assert 'got       {"a": "ü"}' in text


def test_missing_and_surplus_members_show_one_side(make_case: Any) -> None:
    values = (ValueDifference("a", 1, None, "missing"), ValueDifference("b", None, 2, "not expected"))
    text = explain_text(make_case(verdict=Verdict.FAIL, diagnosis=Diagnosis("wrong", values=values)))
    assert "null" not in text


def test_without_a_diagnosis_the_reason_stands_in(make_case: Any) -> None:
    assert "the wheel is gone" in explain_text(make_case(verdict=Verdict.ENVIRONMENT_ERROR, reason="the wheel is gone"))
    assert "no explanation was recorded" in explain_text(make_case(verdict=Verdict.HARNESS_ERROR))


def test_requirements_of_the_case_stand_in_for_one_of_the_diagnosis(make_case: Any) -> None:
    first = explain_text(make_case(verdict=Verdict.FAIL, summary="wrong", requirements=("A-1", "B-2"))).split("\n")[0]
    assert first.endswith("A-1  B-2")


def test_labels_are_words() -> None:
    assert label_of(Verdict.MOCK_DRIFT) == "MOCK DRIFT"


def test_an_explanation_says_where_the_conversation_is(make_case):
    event = ConversationEvent(0.0, 1, "client", "open")
    told = Diagnosis("wrong", conversation=Conversation("the mock", (event, event), left_out=3))
    lines = explain_text(make_case(verdict=Verdict.FAIL, diagnosis=told)).split("\n")
    assert lines[-1] == "      the conversation      5 events seen by the mock: see report.html"
    assert "conversation" not in explain_text(make_case(verdict=Verdict.FAIL, diagnosis=Diagnosis("wrong")))
