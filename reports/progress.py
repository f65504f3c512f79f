"""What a person watches while a run goes on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column as TableColumn
from rich.text import Text

from reports.escape import escape
from reports.explain import verdict_text
from reports.layout import fit
from reports.plain import clip
from reports.record import CaseRecord
from reports.verdict import OUTCOMES, Outcome, Verdict, count_outcomes, count_verdicts

SILENCE: Final = 15.0
"""Seconds after which a log gets a line even if nothing of note happened."""


class RunProgress(Protocol):
    """Told of every case; a context manager around the run."""

    def started(self, case_id: str) -> None:
        """A case begins."""

    def finished(self, record: CaseRecord) -> None:
        """A case ended."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


def run_progress(console: Console, total: int | None) -> RunProgress:
    """A live bar on a terminal; plain lines in a log, on a dumb terminal, or with ``NO_COLOR``."""
    live = console.is_terminal and not console.is_dumb_terminal and not os.environ.get("NO_COLOR")
    return LiveProgress(console, total) if live else LineProgress(console, total)


class LineProgress:
    """One line for each case that does not pass, and one for each tenth of the run or 15 s of silence."""

    def __init__(self, console: Console, total: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._total = total
        self._clock = clock
        self._spoke = clock()
        self._tenths = 0
        self._counts = count_verdicts(())

    def started(self, case_id: str) -> None:
        """Nothing to show: a log would hold two lines for each case."""

    def finished(self, record: CaseRecord) -> None:
        """Show the case if it matters, and how far the run is."""
        self._counts[record.verdict] += 1
        if _notable(record):
            self._say(_headline(record, fit(self._console.width)))
        done = sum(self._counts.values())
        tenths = done * 10 // self._total if self._total else 0
        if tenths > self._tenths or self._clock() - self._spoke >= SILENCE:
            self._tenths = tenths
            self._say(Text(f"[{done}/{self._total or '?'}] {_totals(self._counts)}", style="dim"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def _say(self, line: Text) -> None:
        self._spoke = self._clock()
        self._console.print(line, soft_wrap=True)


class LiveProgress:
    """A bar at the bottom with counts and the case that runs; cases that do not pass scroll by above it."""

    def __init__(self, console: Console, total: int | None) -> None:
        remaining = TableColumn(ratio=1, no_wrap=True, overflow="ellipsis")
        self._progress = Progress(
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[totals]}", markup=False),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False, style="dim", table_column=remaining),
            console=console,
            transient=True,
            expand=True,
        )
        self._counts = count_verdicts(())
        self._task = self._progress.add_task("", total=total, totals="")

    def started(self, case_id: str) -> None:
        """Show which case runs."""
        self._progress.update(self._task, description=escape(case_id))

    def finished(self, record: CaseRecord) -> None:
        """Move the bar; show the case if it matters."""
        self._counts[record.verdict] += 1
        if _notable(record):
            self._progress.console.print(_headline(record, fit(self._progress.console.width)), soft_wrap=True)
        self._progress.update(self._task, advance=1, totals=_totals(self._counts))

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._progress.stop()


def _notable(record: CaseRecord) -> bool:
    return OUTCOMES[record.verdict] in {Outcome.FAILED, Outcome.ERROR}


def _headline(record: CaseRecord, width: int) -> Text:
    why = (f"  {escape(clip(record.why, 200))}", "dim")
    line = Text.assemble(verdict_text(record.verdict), f"  {escape(record.id)}", why)
    line.truncate(width, overflow="ellipsis")
    return line


def _totals(counts: dict[Verdict, int]) -> str:
    totals = count_outcomes(counts)
    return ", ".join(f"{count} {outcome}" for outcome, count in totals.items() if count)
