"""Rows of boxes that are as wide as their words: the fields of a record, the payloads of a request and its result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reports.pictures.drawing import Drawing
from reports.pictures.frames import Fate
from reports.pictures.legend import Entry
from reports.pictures.marks import MARKS
from reports.pictures.sequences import Item
from reports.pictures.widths import text_width

TALL: Final = 40.0
FLAT: Final = 25.0
GAP: Final = 4.0
LEGEND: Final = (
    Entry("A", "added", "good", "added"),
    Entry("R", "removed", "bad", "removed"),
    Entry("M", "moved", "warn", "moved: others stand before it now"),
    Entry("T", "resized", "odd", "another type or default"),
)
_LETTERS: Final = {fate: "T" if fate is Fate.RESIZED else mark.letter for fate, mark in MARKS.items()}


def letter_of(item: Item) -> str:
    """The letter of what became of a thing; empty if nothing did."""
    return _LETTERS[item.fate]


def width_of(item: Item) -> float:
    """The width of the box of a thing."""
    words = [text_width(item.name, 12, "mono"), text_width(_type(item), 11.5 if not item.name else 11, "mono")]
    return max(words) + 14 + (14 if item.fate is not Fate.SAME else 0)


def _type(item: Item) -> str:
    return f"{item.type} = {item.default}" if item.default else item.type


def row(drawing: Drawing, items: Sequence[Item], x: float, y: float, kind: str) -> float:
    """Boxes beside each other; gives the right edge of the last one."""
    for place, item in enumerate(items):
        x = box(drawing, item, x, y, kind, place) + GAP
    return x - GAP if items else x


def box(drawing: Drawing, item: Item, x: float, y: float, kind: str, place: int) -> float:
    """One box; gives its right edge. Things with a name have it above their type."""
    mark = MARKS[item.fate]
    width, height = width_of(item), TALL if item.name else FLAT
    gone = item.fate is Fate.REMOVED
    drawing.rect(
        x,
        y,
        width,
        height,
        fill="raised",
        stroke=mark.tone,
        hatch=mark.hatch,
        dashed=gone or bool(item.default),
        corner=3,
        tip=_tip(item),
        data={kind: item.name or place, "type": item.type, "fate": str(item.fate)},
    )
    left = x + 7
    if mark.letter:
        drawing.text(left, y + 16.5, letter_of(item), size=11.5, face="bold", tone=mark.tone, halo=True)
        left += 14
    halo = bool(mark.hatch)
    if item.name:
        drawing.text(left, y + 16, item.name, size=12, face="mono", halo=halo)
        drawing.text(left, y + 32, _type(item), size=11, face="mono", tone="dim", halo=halo)
    else:
        drawing.text(left, y + 16.5, _type(item), size=11.5, face="mono", halo=halo)
    return x + width


def _tip(item: Item) -> str:
    told = " ".join(filter(None, [item.name, _type(item)]))
    words = {Fate.ADDED: "added", Fate.REMOVED: "removed", Fate.MOVED: "moved", Fate.RESIZED: f"was {item.was}"}
    return f"{told} ({words[item.fate]})" if item.fate in words else ""
