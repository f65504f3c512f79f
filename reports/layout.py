"""Lays out styled text in lines of a given width; everything is measured in terminal cells."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Final, Literal

from rich.console import Console
from rich.text import Text

WIDEST: Final = 120
"""Longer lines are hard to read, however wide the terminal is."""
NARROWEST: Final = 60

_CONSOLE: Final = Console(file=io.StringIO(), width=WIDEST)


def fit(width: int) -> int:
    """The width to lay out for in a terminal of this width."""
    return max(NARROWEST, min(width, WIDEST))


def wrap(text: Text | str, width: int) -> list[Text]:
    """The text in lines of at most ``width`` cells, broken at spaces or, in longer words, anywhere."""
    styled = Text(text) if isinstance(text, str) else text
    lines = list(styled.wrap(_CONSOLE, max(width, 8), overflow="fold"))
    for line in lines:
        line.rstrip()
    return lines or [Text()]


def indent(lines: Iterable[Text], by: int) -> list[Text]:
    """The lines moved to the right."""
    return [Text(" " * by) + line if line.plain else line for line in lines]


def paragraph(text: Text | str, width: int, by: int) -> list[Text]:
    """Wrapped text, indented."""
    return indent(wrap(text, width - by), by)


def labelled(label: str, text: Text | str, width: int, *, by: int, column: int, style: str = "") -> list[Text]:
    """A label, and beside it wrapped text that begins at cell ``column``."""
    return beside(label, wrap(text, width - column), by=by, column=column, style=style)


def beside(label: str, lines: Sequence[Text], *, by: int, column: int, style: str = "") -> list[Text]:
    """A label, and beside it lines that begin at cell ``column``."""
    head = Text.assemble(" " * by, (label, style))
    first = Text.assemble(head, " " * max(2, column - head.cell_len), lines[0])
    return [first, *indent(lines[1:], column)]


def ends(left: Text, right: Text, width: int, *, by: int) -> list[Text]:
    """Two texts at both ends of one line, or below each other if they do not fit."""
    gap = width - left.cell_len - right.cell_len
    if not right.plain:
        return wrap(left, width)
    if gap >= 2:
        return [Text.assemble(left, " " * gap, right)]
    return [*wrap(left, width), *paragraph(right, width, by)]


def columns(rows: Sequence[Sequence[Text]], align: Sequence[Literal["left", "right"]], *, gap: int = 2) -> list[Text]:
    """Rows of cells in aligned columns."""
    widths = [max(row[index].cell_len for row in rows) for index in range(len(align))]
    return [_row(row, widths, align, gap) for row in rows]


def _row(row: Sequence[Text], widths: Sequence[int], align: Sequence[str], gap: int) -> Text:
    line = Text()
    for index, (cell, width, side) in enumerate(zip(row, widths, align, strict=True)):
        space = Text(" " * (width - cell.cell_len))
        line = Text.assemble(line, " " * gap if index else "", *((space, cell) if side == "right" else (cell, space)))
    line.rstrip()
    return line
