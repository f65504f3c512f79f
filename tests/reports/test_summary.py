from __future__ import annotations

import dataclasses
import io
import re
from pathlib import Path
from typing import Any

import pytest

from reports.record import CaseRecord, RunFooter, RunHeader
from reports.results import Results
from reports.terminal import last_line, make_console, print_summary, summary_lines
from reports.verdict import Verdict, count_verdicts, exit_code


@pytest.fixture
def run(header: RunHeader) -> Any:
    def make(*cases: CaseRecord, incomplete: str | None = None) -> Results:
        counts = count_verdicts(case.verdict for case in cases)
        footer = RunFooter(counts, 4.25, exit_code(counts), "2026-01-02T03:05:05Z", complete=True)
        return Results(header, cases, None if incomplete else footer, incomplete)

    return make


def text_of(results: Results, **options: Any) -> str:
    return "\n".join(line.plain for line in summary_lines(results, **options))


def test_a_conformant_run(run: Any, make_case: Any) -> None:
    assert text_of(run(make_case()), path=Path("out dir/results.jsonl")).split("\n") == [
        "client   mine 1.2 (Rust)",
        "         stdio:./mine",
        "against  lmcache 0.5.5, 0.5.6 on mock",
        "run      2026-01-02T03:04:05Z, seed 7, corpus sha256:0123456789ab",
        "         lmconform 0.1.0, CPython 3.11.7, Linux-x86_64",
        "",
        "CONFORMANT  1 case in 4.2 s: 1 pass.",
        "",
        "topic    0.5.6",
        "         mock",
        "lm.get   1p",
        "p passed",
        "",
        "CONFORMANT  1 case in 4.2 s: 1 pass.",
        "every case: 'out dir/results.jsonl'",
        "",
        "1 passed, 0 failed, 0 skipped",
    ]


def test_topics_in_which_no_client_takes_part_are_named(run: Any, make_case: Any) -> None:
    cases = [make_case(), make_case("servers.transcripts.replay", judges="server"), make_case("lm.put.any", Verdict.UNSUPPORTED)]
    said = " ".join(text_of(run(*cases)).split())
    assert "p passed, s skipped: unsupported or known; cases of servers.transcripts hold the server to" in said


@pytest.mark.parametrize(
    ("verdicts", "word", "last"),
    [
        ([Verdict.PASS], "CONFORMANT", "1 passed, 0 failed, 0 skipped"),
        ([Verdict.PASS, Verdict.FAIL, Verdict.HANG], "NOT CONFORMANT", "1 passed, 2 failed, 0 skipped"),
        ([Verdict.PASS, Verdict.HARNESS_ERROR], "UNDECIDED", "1 passed, 1 failed, 0 skipped"),
        ([Verdict.UNSUPPORTED, Verdict.KNOWN_FAILURE], "NO NEW FAILURE", "0 passed, 0 failed, 2 skipped"),
        ([], "NO CASE RAN", "0 passed, 0 failed, 0 skipped"),
    ],
)
def test_the_verdict_stands_at_both_ends(run: Any, make_case: Any, verdicts: list[Verdict], word: str, last: str) -> None:
    cases = [make_case(f"lm.get.c{index}", verdict, summary="s") for index, verdict in enumerate(verdicts)]
    lines = text_of(run(*cases)).split("\n")
    assert len([line for line in lines if line.startswith(f"{word}  ")]) == 2
    assert lines[-1] == last


def test_an_incomplete_run_never_looks_like_a_pass(run: Any, make_case: Any) -> None:
    results = run(make_case(), incomplete="there is no footer")
    text = text_of(results)
    assert text.count("INCOMPLETE  there is no footer. Nothing is claimed about the client.") == 2
    assert last_line(results).plain == "incomplete after 1 case: no verdict"
    assert not re.search(r"\d+ passed", text)
    assert "CONFORMANT" not in text


def test_everything_skipped_says_that_nothing_was_shown(run: Any, make_case: Any) -> None:
    assert "so nothing was shown." in text_of(run(make_case(verdict=Verdict.UNSUPPORTED)))


def test_failures_are_explained_once_and_their_like_counted(run: Any, make_case: Any) -> None:
    cases = [make_case(verdict=Verdict.FAIL, variant=f"v{index:02}", summary="the same") for index in range(20)]
    text = text_of(run(*cases))
    assert text.count("the same") == 1
    assert "The same in 19 more: 0.5.6-mock-v01, 0.5.6-mock-v02" in text
    assert "and 13 more" in text


@pytest.mark.parametrize(("limit", "explained"), [(0, 0), (2, 2), (10, 5)])
def test_explanations_are_limited_but_every_failure_is_named(run: Any, make_case: Any, limit: int, explained: int) -> None:
    cases = [make_case(f"lm.get.c{index}", Verdict.FAIL, summary=f"reason {index}") for index in range(5)]
    text = text_of(run(*cases), limit=limit)
    assert text.count("A client waits.") == explained
    assert all(case.id in text for case in cases)
    assert ("not explained here:" in text.lower()) == (explained < 5)


def test_unsupported_is_told_by_operation_with_reasons(run: Any, make_case: Any) -> None:
    cases = [make_case(f"mp.x.c{index}", Verdict.UNSUPPORTED, operation="lookup", reason="no MP yet") for index in range(3)]
    assert "  lookup  3 cases: no MP yet" in text_of(run(make_case(), *cases))


def test_known_failures_are_told_with_their_reason(run: Any, make_case: Any) -> None:
    known = make_case("lm.get.old", Verdict.KNOWN_FAILURE, reason="issue 12")
    assert "  lm.get.old  1 case: issue 12" in text_of(run(make_case(), known))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_wide_matrix_is_split_to_fit(run: Any, make_case: Any, width: int) -> None:
    cases = [
        make_case(f"lm.t{index}.c", Verdict.FAIL if index == number % 7 else Verdict.PASS, release=f"0.{number}.0", summary="s")
        for number in range(33)
        for index in range(7)
    ]
    lines = text_of(run(*cases), width=width, limit=0).split("\n")
    assert max(len(line) for line in lines) <= width
    assert all(any(f"0.{number}.0" in line for line in lines if line.startswith("topic")) for number in range(33))


def test_nothing_that_a_client_says_can_act(run: Any, make_case: Any) -> None:
    wild = "\x1b[2J[bold]x[/bold]\u202e\udc80\n" * 50
    skipped = make_case("lm.get.a", Verdict.UNSUPPORTED, operation=wild, reason=wild)
    results = run(skipped, make_case("lm.get.b", Verdict.CRASH, summary=wild))
    client = dataclasses.replace(results.header.client, spec=wild, name=wild, version=wild, language=wild)
    results = dataclasses.replace(results, header=dataclasses.replace(results.header, client=client))
    for limit in (0, 10):
        stream = io.StringIO()
        print_summary(make_console(stream, width=80), results, Path(wild), limit=limit)
        lines = stream.getvalue().split("\n")
        assert all(line.isprintable() for line in lines)
        assert "[bold]x[/bold]" in stream.getvalue()


def test_a_console_prints_what_its_encoding_lacks_as_escapes(run: Any, make_case: Any) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    print_summary(make_console(stream, width=80), run(make_case(verdict=Verdict.FAIL, summary="Grüße 東")))
    stream.flush()
    assert rb"Gr\xfc\xdfe \u6771" in raw.getvalue()


def test_a_wire_that_was_left_out_is_named_in_one_line(run: Any, make_case: Any) -> None:
    whole = run(make_case())
    part = dataclasses.replace(whole, header=dataclasses.replace(whole.header, left_out=("mp",)))
    more = set(text_of(part).split("\n")) - set(text_of(whole).split("\n"))
    assert more == {"without  cases of mp: the client declares none of their operations"}
    assert RunHeader.from_json(part.header.to_json()) == part.header
