"""Hexdumps that show where the stream was cut and which bytes differ.

One row is 16 bytes; ``|`` stands where one segment ends and the next begins, ``^^`` under bytes that differ::

    0000  c8 00 00 00 00 00 00 00 01 00|00 00 02 00 00 00  ................
          ^^

All functions return styled text; ``.plain`` of each line is the plain form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rich.text import Text

from reports.diagnosis import FrameDump
from reports.words import count

ROW: Final = 16
LONGEST: Final = 24
"""Rows shown at most; a dump that was built by ``reports.difference`` never has more."""


def hexdump(dump: FrameDump, *, mark_style: str = "bold red") -> list[Text]:
    """The rows of a dump, without its title.

    Rows that repeat the one before, with neither mark nor cut in them, shrink to ``*``.
    """
    rows = _rows(dump)
    lines: list[Text] = []
    for index, row in enumerate(rows[:LONGEST]):
        repeats = index > 0 and row.dull and rows[index - 1].dull and row.data == rows[index - 1].data
        if not repeats or index + 1 == len(rows):
            lines += row.lines(_digits(dump), mark_style)
        elif lines[-1].plain != "*":
            lines.append(Text("*", style="dim"))
    return [*lines, *_rest(dump, len(rows))] or [Text("(no bytes)", style="dim")]


def hexdump_pair(expected: FrameDump, got: FrameDump) -> list[Text]:
    """Two dumps in one: rows with equal bytes once, others below each other as ``-`` and ``+``.

    Where equal rows were cut in one of the two, the cuts are shown. Rows that differ in every byte need no ``^^``.
    """
    digits = max(_digits(expected), _digits(got))
    before = {row.offset: row for row in _rows(expected)}
    after = {row.offset: row for row in _rows(got)}
    lines: list[Text] = []
    repeated: bytes | None = None
    offsets = sorted({*before, *after})[:LONGEST]
    for offset in offsets:
        one, other = before.get(offset), after.get(offset)
        if one and other and one.data == other.data:
            row = other if other.cuts or not one.cuts else one
            if row.dull and row.data == repeated and offset != offsets[-1]:
                if lines[-1].plain != "  *":
                    lines.append(Text("  *", style="dim"))
                continue
            repeated = row.data if row.dull else None
            lines += _signed(" ", row.lines(digits, "bold red"), "")
        else:
            repeated = None
            lines += _signed("-", one.lines(digits, "bold green", under=not one.all_marked), "green") if one else []
            lines += _signed("+", other.lines(digits, "bold red", under=not other.all_marked), "red") if other else []
    return lines + _rest(expected if len(expected.data) > len(got.data) else got, len({*before, *after}))


def caption(dump: FrameDump) -> str:
    """The title with the number of bytes, and which of them are shown if not all are."""
    size = dump.truncated_from if dump.truncated_from is not None else len(dump.data)
    text = f"{dump.title}, {count(size, 'byte')}"
    if len(dump.data) < size:
        text += f", of which {len(dump.data)} from {dump.offset:04x} on"
    return text


@dataclass(frozen=True)
class _Row:
    offset: int
    data: bytes
    marks: frozenset[int]
    cuts: frozenset[int]
    """A cut at the end of the whole dump belongs to its last row."""

    @property
    def dull(self) -> bool:
        return not self.marks and not self.cuts

    @property
    def all_marked(self) -> bool:
        return len(self.marks) == len(self.data)

    def lines(self, digits: int, mark_style: str, *, under: bool = True) -> list[Text]:
        line = Text.assemble((f"{self.offset:0{digits}x}", "dim"), " ")
        carets = " " * (digits + 1)
        for place, byte in enumerate(self.data, start=self.offset):
            line.append(*self._gap(place))
            line.append(f"{byte:02x}", mark_style if place in self.marks else "")
            carets += " ^^" if place in self.marks else "   "
        line.append(*self._gap(self.offset + len(self.data)))
        line.append("   " * (ROW - len(self.data)) + " ")
        for place, byte in enumerate(self.data, start=self.offset):
            line.append(chr(byte) if 0x20 <= byte < 0x7F else ".", mark_style if place in self.marks else "dim")
        line.rstrip()
        return [line, Text(carets.rstrip(), style=mark_style)] if self.marks and under else [line]

    def _gap(self, place: int) -> tuple[str, str]:
        return ("|", "bold cyan") if place in self.cuts else (" ", "")


def _rows(dump: FrameDump) -> list[_Row]:
    return [_row(dump, start) for start in range(0, len(dump.data), ROW)]


def _row(dump: FrameDump, start: int) -> _Row:
    data = dump.data[start : start + ROW]
    first, end = dump.offset + start, dump.offset + start + len(data)
    marks = {place for offset, length in dump.marks for place in range(max(offset, first), min(offset + length, end))}
    at_end = end if start + ROW >= len(dump.data) else end - 1
    cuts = {cut for cut in dump.cuts if max(first, 1) <= cut <= at_end}
    return _Row(first, data, frozenset(marks), frozenset(cuts))


def _digits(dump: FrameDump) -> int:
    return max(4, len(f"{dump.offset + len(dump.data):x}"))


def _signed(sign: str, lines: list[Text], style: str) -> list[Text]:
    return [Text.assemble((sign, style), " ", lines[0]), *(Text("  ") + line for line in lines[1:])]


def _rest(dump: FrameDump, rows: int) -> list[Text]:
    left = len(dump.data) - LONGEST * ROW
    return [Text(f"... {left} more bytes", style="dim")] if rows > LONGEST and left > 0 else []
