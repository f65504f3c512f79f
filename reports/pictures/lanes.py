"""Bands over releases: one lane for each rule of a wire, cut where the rule changes, with words below each cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reports.pictures.drawing import Drawing, Href
from reports.pictures.releases import span
from reports.pictures.widths import text_width, wrapped

COLUMN: Final = 30.0
LABELS: Final = 190.0
NAMES: Final = 86.0
"""CSS pixels of the names of releases, which stand upright."""
BAND: Final = 22.0
LINE: Final = 17.0
_TONES: Final = ("part-b", "part-a", "part-c", "part-f", "part-d", "part-e", "part-h", "part-g")


@dataclass(frozen=True)
class Segment:
    """Neighbouring releases with one rule."""

    releases: tuple[str, ...]
    label: str
    """The rule, in a few words; empty where the releases have nothing of it."""


@dataclass(frozen=True)
class Lane:
    """One rule through the releases."""

    title: str
    segments: tuple[Segment, ...]
    topic: str = ""
    """What a link from its title leads to."""


def letter(index: int) -> str:
    """The letter of a segment: A for the first."""
    return chr(ord("A") + index)


def tone_of(index: int) -> str:
    """The colour of a segment."""
    return _TONES[index % len(_TONES)]


def axis(
    drawing: Drawing, releases: Sequence[str], y: float, href: Href, *, left: float = LABELS, column: float = COLUMN
) -> float:
    """The names of releases, upright above their columns; gives the height below."""
    for index, release in enumerate(releases):
        x = left + index * column + column / 2 + 4
        with drawing.link(href("release", release)):
            drawing.text(x, y + NAMES - 4, release, size=11.5, face="mono", turned=-90, data={"release": release})
    drawing.grow(left + len(releases) * column, y + NAMES)
    return y + NAMES + 2


def lane(drawing: Drawing, found: Lane, releases: Sequence[str], y: float, href: Href) -> float:
    """One lane; gives the height below it."""
    places = {release: index for index, release in enumerate(releases)}
    for number, line in enumerate(wrapped(found.title, LABELS - 16, 12.5, "bold")):
        with drawing.link(href("topic", found.topic) if found.topic else None):
            drawing.text(0, y + 15.5 + number * 15, line, size=12.5, face="bold")
    named = [segment for segment in found.segments if segment.label]
    starts = []
    for index, segment in enumerate(named):
        x = LABELS + places[segment.releases[0]] * COLUMN
        width = (places[segment.releases[-1]] + 1) * COLUMN + LABELS - x
        starts.append(x)
        data = {"lane": found.title, "releases": " ".join(segment.releases)}
        with drawing.link(href("release", segment.releases[0])):
            tip = f"{span(segment.releases)}: {segment.label}"
            drawing.rect(x + 1, y, width - 2, BAND, fill="raised", stroke=tone_of(index), corner=3, tip=tip, data=data)
            drawing.text(x + width / 2, y + 15.5, letter(index), size=12, face="bold", tone=tone_of(index), anchor="middle")
    rows = _rows(starts, [text_width(segment.label, 12) for segment in named])
    for index, (segment, x, row) in enumerate(zip(named, starts, rows, strict=True)):
        base = y + BAND + 15 + row * LINE
        drawing.line(x + 5, y + BAND + 1, x + 5, base + 2, stroke=tone_of(index))
        drawing.text(x + 10, base, segment.label, size=12, tone="text")
    return y + BAND + 15 + (max(rows, default=0)) * LINE + 17


def _rows(starts: Sequence[float], widths: Sequence[float]) -> list[int]:
    """Lines for labels that begin at their segments, so that none meets another, nor the stroke that leads to another.

    A label lies above all labels of segments to its left that would reach it.
    """
    rows = [0] * len(starts)
    for index in range(len(starts) - 2, -1, -1):
        end = starts[index] + 10 + widths[index] + 8
        below = [rows[other] for other in range(index + 1, len(starts)) if starts[other] < end]
        rows[index] = max(below, default=-1) + 1
    return rows
