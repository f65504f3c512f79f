from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from reports.progress import LineProgress, LiveProgress, run_progress
from reports.terminal import make_console
from reports.verdict import Verdict


def test_a_log_gets_failures_and_tenths(make_case: Any) -> None:
    stream = io.StringIO()
    with run_progress(make_console(stream, width=100), 20) as progress:
        for index in range(20):
            verdict = Verdict.FAIL if index == 3 else Verdict.PASS
            progress.started(f"c{index}")
            progress.finished(make_case(f"lm.get.c{index}", verdict, summary="wrong \x1b[2J"))
    lines = stream.getvalue().splitlines()
    assert lines[:4] == [
        "[2/20] 2 passed",
        r"FAIL  lm.get.c3[0.5.6-mock]  wrong \x1b[2J",
        "[4/20] 3 passed, 1 failed",
        "[6/20] 5 passed, 1 failed",
    ]
    assert len(lines) == 11


def test_a_log_is_not_silent_for_long(make_case: Any) -> None:
    stream = io.StringIO()
    now = iter([0.0, 1.0, 16.0, 16.0, 17.0])
    progress = LineProgress(make_console(stream), None, clock=lambda: next(now))
    for index in range(3):
        progress.finished(make_case(f"lm.get.c{index}"))
    assert stream.getvalue() == "[2/?] 2 passed\n"


def terminal(stream: io.StringIO) -> Console:
    return Console(file=stream, force_terminal=True, width=100, markup=False, emoji=False, highlight=False, legacy_windows=False)


def test_a_terminal_gets_a_bar(make_case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    stream = io.StringIO()
    progress = run_progress(terminal(stream), 2)
    assert isinstance(progress, LiveProgress)
    with progress:
        progress.started("lm.get.a[v\x1b[2J[bold]]")
        progress.finished(make_case("lm.get.a", Verdict.HANG, summary="no answer"))
        progress.started("lm.get.b[\x1b[2J[bold]]")
    shown = stream.getvalue()
    assert "lm.get.a[0.5.6-mock]" in shown
    assert "1/2" in shown
    assert r"lm.get.b[\x1b[2J[bold]]" in shown
    assert "\x1b[2J" not in shown


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_that_wants_no_bar_gets_lines(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(name, value)
    assert isinstance(run_progress(terminal(io.StringIO()), 2), LineProgress)
