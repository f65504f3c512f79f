"""One frame to scale, line by line, with the bytes that are wrong: what came, and below it what was expected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from reports.pictures.drawing import Drawing
from reports.pictures.frames import Field, Layout, metadata_layout, reply_layout, request_layout
from reports.pictures.picture import Picture, Table, drawn
from reports.pictures.widths import shortened
from reports.words import count
from wire.lm.profile import HEADER_LAYOUTS
from wire.release import Release

BYTE: Final = 20.0
LABELS: Final = 74.0
PER_ROW: Final = 36
BOX: Final = 22.0
LINE: Final = 20.0


@dataclass(frozen=True)
class Mark:
    """Bytes that are pointed at, and why."""

    offset: int
    size: int
    words: str = ""


def layout_of(kind: str, release: Release) -> Layout:
    """The layout of a ``request`` or ``reply`` header, or of ``metadata`` with one group, in a release.

    Raises:
        KeyError: there is no such kind.
    """
    table = HEADER_LAYOUTS[release]
    return {"request": request_layout(table), "reply": reply_layout(table), "metadata": metadata_layout(1)}[kind]


def differences(got: bytes, expected: bytes) -> list[Mark]:
    """The stretches in which two frames differ; where one is shorter its missing bytes differ."""
    found: list[Mark] = []
    for offset in range(max(len(got), len(expected))):
        if got[offset : offset + 1] == expected[offset : offset + 1]:
            continue
        if found and found[-1].offset + found[-1].size == offset:
            found[-1] = Mark(found[-1].offset, found[-1].size + 1)
        else:
            found.append(Mark(offset, 1))
    return found


def frame_strip(
    layout: Layout,
    marks: Sequence[Mark] = (),
    *,
    got: bytes = b"",
    expected: bytes = b"",
    name: str = "frame",
    title: str = "The frame, byte by byte",
    per_row: int = PER_ROW,
) -> Picture:
    """A frame in lines of ``per_row`` bytes: its fields, what came, and what was expected where that is something else.

    Marked are the bytes of ``marks`` and, where both frames are given, those that differ. Bytes behind the layout are boxes of
    their own; lines in which nothing is marked are left out where many follow each other. 16 bytes in a row fit on a phone.
    """
    shown = [*marks, *(differences(got, expected) if got and expected else [])]
    wrong = {offset for mark in shown for offset in range(mark.offset, mark.offset + mark.size)}
    size = max(layout.size, len(got), len(expected), max(wrong, default=-1) + 1)
    fields = [*layout.fields, *([Field("behind the frame", "", layout.size, size - layout.size)] if size > layout.size else [])]
    told = f"{count(len(wrong), 'byte')} of {size} marked" if wrong else f"{size} bytes, none marked"
    drawing = Drawing(name, title, f"{title}: {told}.")
    y = 0.0
    for start, end, skipped in _rows(size, per_row, wrong):
        if skipped:
            drawing.text(LABELS, y + 15, f"··· {count(end - start, 'byte')} with nothing marked", size=12, tone="dim")
            y += 26
        else:
            y = _row(drawing, fields, got, expected, wrong, start, end, y) + 12
    for mark in shown:
        if mark.words:
            drawing.text(LABELS, y + 14, f"{_place(mark)}: {mark.words}", size=12)
            y += 18
    return drawn(drawing, table(fields, got, expected, wrong))


def _place(mark: Mark) -> str:
    return f"byte {mark.offset}" if mark.size == 1 else f"bytes {mark.offset} to {mark.offset + mark.size - 1}"


def _rows(size: int, per_row: int, wrong: set[int]) -> Iterator[tuple[int, int, bool]]:
    """Lines of the frame; behind the first one, those without a mark are drawn together as one that is left out."""
    start = 0
    while start < size:
        end = min(start + per_row, size)
        if start == 0 or wrong & set(range(start, end)):
            yield start, end, False
        else:
            while end < size and not wrong & set(range(end, min(end + per_row, size))):
                end = min(end + per_row, size)
            yield start, end, True
        start = end


def _row(
    drawing: Drawing, fields: Sequence[Field], got: bytes, expected: bytes, wrong: set[int], start: int, end: int, y: float
) -> float:
    def x(offset: int) -> float:
        return LABELS + (offset - start) * BYTE

    drawing.text(LABELS - 8, y + 15, str(start), size=11, face="mono", tone="dim", anchor="end")
    for field in fields:
        first, last = max(field.offset, start), min(field.end, end)
        if first < last:
            hit = any(offset in wrong for offset in range(first, last))
            width = (last - first) * BYTE
            data = {"box": field.name, "offset": first, "size": last - first}
            drawing.rect(x(first), y, width, BOX, fill="raised", stroke="bad" if hit else "dim", data=data)
            label = shortened(field.name, width - 6, 12, "mono")
            drawing.text(
                x(first) + width / 2, y + 15, label, size=12, face="mono", tone="bad" if hit else "text", anchor="middle"
            )
    y += BOX
    if got:
        y = _bytes(drawing, "came", got, wrong, start, end, y, hatched=True)
    if expected and any(offset in wrong for offset in range(start, end)):
        y = _bytes(drawing, "expected", expected, wrong, start, end, y, hatched=False)
    if not got:
        for offset in sorted(wrong & set(range(start, end))):
            drawing.rect(x(offset), y + 2, BYTE, 8, hatch="removed", stroke="bad", data={"mark": offset})
        y += 12
    return y


def _bytes(drawing: Drawing, label: str, data: bytes, wrong: set[int], start: int, end: int, y: float, *, hatched: bool) -> float:
    drawing.text(LABELS - 8, y + 15, label, size=11, tone="dim", anchor="end")
    for offset in range(start, end):
        hit = offset in wrong
        if not hatched and not hit:
            continue
        x = LABELS + (offset - start) * BYTE
        word = f"{data[offset]:02x}" if offset < len(data) else "--"
        if hit and hatched:
            drawing.rect(x, y, BYTE, LINE, hatch="removed", stroke="bad", data={"mark": offset})
        tone = ("bad" if hatched else "good") if hit else "text" if word != "00" else "dim"
        drawing.text(x + BYTE / 2, y + 14.5, word, size=11.5, face="mono", tone=tone, anchor="middle", halo=hit and hatched)
    return y + LINE


def table(fields: Sequence[Field], got: bytes, expected: bytes, wrong: set[int]) -> Table:
    """Every field with its bytes."""
    rows = []
    for field in fields:
        hit = [offset for offset in range(field.offset, field.end) if offset in wrong]
        came, due = (data[field.offset : field.end].hex(" ") for data in (got, expected))
        rows.append((field.name, str(field.offset), str(field.size), came, due, ", ".join(map(str, hit))))
    return Table(("field", "offset", "bytes", "came", "expected", "marked"), tuple(rows))
