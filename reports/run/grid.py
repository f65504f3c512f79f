"""Topics against releases and targets as a page shows them: cells that open to their cases."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Final

from reports.results import Results
from reports.run.links import releases_wanted, view_link
from reports.run.tones import OUTCOME_TONES
from reports.tally import LETTERS, Cell, Column, matrix
from reports.verdict import Outcome

_GRAVITY: Final = (Outcome.SKIPPED, Outcome.PASSED, Outcome.FAILED, Outcome.ERROR)


@dataclass(frozen=True)
class GridCell:
    """The counts of a topic, how they look, and a link to the cases."""

    text: str
    tone: str
    link: str


@dataclass(frozen=True)
class GridColumn:
    """Neighbouring releases on one target."""

    first: str
    last: str
    """Empty for a single release."""
    number: int
    link: str


@dataclass(frozen=True)
class GridRow:
    """One topic."""

    topic: str
    link: str
    quiet: bool
    """Nothing in it failed."""
    cells: tuple[GridCell, ...]


@dataclass(frozen=True)
class Grid:
    """The whole table."""

    targets: tuple[tuple[str, int], ...]
    """Each with the number of its columns."""
    columns: tuple[GridColumn, ...]
    rows: tuple[GridRow, ...]
    quiet: int
    """Rows in which nothing failed, where there are others."""
    legend: str


def grid(results: Results) -> Grid:
    """The table of a run."""
    table = matrix(results.cases, results.header.releases, results.header.side)
    rows = tuple(_row(topic, table.columns) for topic in table.topics)
    quiet = sum(row.quiet for row in rows)
    return Grid(
        targets=tuple((target, len(list(columns))) for target, columns in groupby(table.columns, lambda column: column.target)),
        columns=tuple(map(_column, table.columns)),
        rows=rows,
        quiet=quiet if quiet < len(rows) else 0,
        legend=f"{table.legend}." if table.columns else "",
    )


def _column(column: Column) -> GridColumn:
    releases = column.releases
    link = view_link(release=releases_wanted(releases), target=column.target)
    return GridColumn(releases[0], releases[-1] if len(releases) > 1 else "", len(releases), link)


def _row(topic: str, columns: tuple[Column, ...]) -> GridRow:
    cells = tuple(_cell(topic, column, column.cells.get(topic, ())) for column in columns)
    quiet = all(cell.tone in {"good", "none", ""} for cell in cells)
    return GridRow(topic, view_link(topic=topic), quiet, cells)


def _cell(topic: str, column: Column, counts: Cell) -> GridCell:
    worst = max((outcome for outcome, _ in counts), key=_GRAVITY.index, default=None)
    text = " ".join(f"{number}{LETTERS[outcome]}" for outcome, number in counts)
    link = view_link(topic=topic, release=releases_wanted(column.releases), target=column.target) if counts else ""
    return GridCell(text, OUTCOME_TONES[worst] if worst is not None else "", link)
