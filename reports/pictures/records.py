"""The records of the multiprocess protocol through the releases: their fields in the order in which lmcache writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reports.pictures.boxes import LEGEND, TALL, letter_of, row
from reports.pictures.drawing import Drawing, Href
from reports.pictures.headers import nowhere
from reports.pictures.legend import heading, legend
from reports.pictures.picture import Picture, Table, drawn
from reports.pictures.releases import span
from reports.pictures.sequences import Order, Story, captures, records
from reports.words import count

LABELS: Final = 180.0
STEP: Final = TALL + 8


def records_picture(href: Href = nowhere) -> Picture:
    """All records of all captured releases."""
    return draw(records(captures()), href)


def draw(stories: Sequence[Story], href: Href = nowhere) -> Picture:
    """The fields of some records."""
    title = "Records of the multiprocess server"
    description = (
        "Every record that crosses as a msgpack map, with its fields in the order in which lmcache writes them, one row for each "
        "generation of releases. Fields that came, went, moved or changed their type are hatched and lettered."
    )
    drawing = Drawing("mp-records", title, description)
    y = heading(
        drawing,
        "A record is a map by field name. Fields with a dashed edge may be missing; what stands for them is behind the equals. "
        "Members that a reader does not know are ignored.",
    )
    y = legend(drawing, y + 2, LEGEND) + 8
    for story in stories:
        y = _record(drawing, story, y, href)
    return drawn(drawing, table(stories))


def _record(drawing: Drawing, story: Story, y: float, href: Href) -> float:
    with drawing.link(href("record", story.name)):
        width = drawing.text(0, y + 18, story.name, size=14, face="bold")
    for name, last in story.before:
        width += 10 + drawing.text(width + 10, y + 18, f"{name} until {last}", size=12, tone="dim")
    y += 28
    for order in story.generations:
        _generation(drawing, story, order, y, href)
        y += STEP
    return y + 14


def _generation(drawing: Drawing, story: Story, order: Order, y: float, href: Href) -> None:
    with drawing.group(record=story.name, releases=" ".join(order.releases)):
        with drawing.link(href("release", order.releases[0])):
            drawing.text(0, y + 17, span(order.releases), size=12.5, face="bold")
        drawing.text(0, y + 33, count(len(order.items), "field"), size=11, tone="dim")
        x = row(drawing, order.items, LABELS, y, "field")
        if order.removed:
            row(drawing, order.removed, x + 16, y, "removed")


def table(stories: Sequence[Story]) -> Table:
    """Every field of every generation."""
    rows = [
        (story.name, span(order.releases), item.name, item.type, item.default or "must be there", letter_of(item))
        for story in stories
        for order in story.generations
        for item in (*order.items, *order.removed)
    ]
    return Table(("record", "releases", "field", "type", "if missing", "since the generation before"), tuple(rows))
