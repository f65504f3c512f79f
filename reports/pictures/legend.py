"""The head of a picture: its title, how to read it, and what its marks mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports.pictures.drawing import Drawing, Hatch
from reports.pictures.widths import text_width, wrapped

READING = 1000.0
"""CSS pixels of the longest line of prose."""


@dataclass(frozen=True)
class Entry:
    """One mark: its letter, its hatch if it has one, its tone, and what it means."""

    letter: str
    hatch: Hatch | None
    tone: str
    words: str
    back: str = ""
    """The tone of the ground, where it is not the pale one of the tone."""
    ink: str = ""
    """The tone of the letter, where it is not the tone."""


def heading(drawing: Drawing, words: str, width: float = READING) -> float:
    """Title and a paragraph; gives the height that they take."""
    drawing.headline()
    y = 44.0
    for line in wrapped(words, width, 13):
        drawing.text(0, y, line, size=13, tone="dim")
        y += 18
    return y - 4


def legend(drawing: Drawing, y: float, entries: Sequence[Entry], width: float = READING) -> float:
    """What marks mean, in lines; gives the height below."""
    x = 0.0
    for entry in entries:
        needed = 30 + text_width(entry.words, 12) + 22
        if x and x + needed > width:
            x, y = 0.0, y + 24
        drawing.rect(x, y, 22, 18, hatch=entry.hatch, fill=entry.back or f"{entry.tone}-back", stroke=entry.tone)
        drawing.text(
            x + 11,
            y + 13.5,
            entry.letter,
            size=12,
            face="bold",
            tone=entry.ink or entry.tone,
            anchor="middle",
            halo=bool(entry.hatch),
        )
        drawing.text(x + 30, y + 13.5, entry.words, size=12)
        x += needed
    return y + (24 if entries else 0)
