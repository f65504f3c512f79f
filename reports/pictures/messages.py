"""The messages of the multiprocess protocol: payloads and result of every operation, generation by generation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from reports.collisions.effects import PLAIN, Family
from reports.pictures.boxes import FLAT, LEGEND, box, letter_of, row
from reports.pictures.drawing import Drawing, Href
from reports.pictures.frames import Fate
from reports.pictures.headers import nowhere
from reports.pictures.legend import heading, legend
from reports.pictures.numbering import Numbering, captured_numbering
from reports.pictures.operations import FAMILIES
from reports.pictures.picture import Picture, Table, drawn
from reports.pictures.releases import span
from reports.pictures.sequences import Item, Order, Story, captures, signatures

LABELS: Final = 176.0
COLUMN: Final = 760.0
"""CSS pixels of the words above the two columns, which are not to push them apart."""
STEP: Final = FLAT + 7
_LEGEND: Final = (*LEGEND[:2], replace(LEGEND[-1], words="another type"))


def messages_picture(href: Href = nowhere) -> Picture:
    """All operations of all captured releases."""
    numbers = captured_numbering()
    return draw(signatures(captures(), numbers), numbers, href)


def draw(stories: Sequence[Story], numbers: Numbering, href: Href = nowhere) -> Picture:
    """Payloads and results of some operations, by family."""
    title = "Messages of the multiprocess server"
    description = (
        "Every operation with its payloads, one box for each frame, and behind the arrow its result; one row for each "
        "generation of releases. What came, went or changed its type is hatched and lettered."
    )
    drawing = Drawing("mp-messages", title, description)
    y = heading(
        drawing,
        "Every frame but the uid is one msgpack value. T? may be nil, [T] is a list, (T, U) a pair; records go by their newest "
        "names. Below, payloads and results alone.",
        COLUMN,
    )
    y = _scheme(drawing, y + 6)
    top = legend(drawing, y + 6, _LEGEND, COLUMN) + 6
    families = {one.name: one.family for one in numbers.rows}
    x = 0.0
    for column in (PLAIN, [family for family in Family if family not in PLAIN]):
        y = top
        for group in column:
            members = [story for story in stories if families[story.name] is group]
            if members:
                drawing.text(x, y + 20, FAMILIES[group], size=15, face="bold", tone="dim")
                y += 32
            for story in members:
                y = _operation(drawing, story, x, y, href)
        x = drawing.width + 40
    return drawn(drawing, table(stories))


def _scheme(drawing: Drawing, y: float) -> float:
    """The frames of a request and of a reply."""
    schemes = {
        "request": ("uid", "operation", "payload", "payload", "..."),
        "reply": ("uid", "operation", "result"),
    }
    for label, frames in schemes.items():
        drawing.text(12, y + 16.5, label, size=12)
        row(drawing, [Item("", frame) for frame in frames], LABELS, y, "scheme")
        y += STEP
    return y


def operation_picture(stories: Sequence[Story], name: str, href: Href = nowhere) -> Picture:
    """One operation alone.

    Raises:
        KeyError: there is no such operation.
    """
    story = {story.name: story for story in stories}[name]
    title = f"{name} through the releases"
    description = "Payloads, one box for each frame, and behind the arrow the result; one row for each generation of releases."
    drawing = Drawing(f"mp-message-{name.partition(',')[0].lower().replace('_', '-')}", title, description)
    _operation(drawing, story, 0, 0, href)
    return drawn(drawing, table([story]))


def _operation(drawing: Drawing, story: Story, x: float, y: float, href: Href) -> float:
    name, _, later = story.name.partition(",")
    with drawing.link(href("operation", name)):
        width = drawing.text(x, y + 16, name, size=13, face="mono")
    told = [f"{before} until {last}" for before, last in story.before]
    told += ["another operation has this name later"] if later else []
    if told:
        drawing.text(x + width + 12, y + 16, "; ".join(told), size=12, tone="dim")
    y += 24
    for order in story.generations:
        _generation(drawing, story, order, x, y, href)
        y += STEP
    return y + 10


def _generation(drawing: Drawing, story: Story, order: Order, left: float, y: float, href: Href) -> None:
    with drawing.group(operation=story.name, releases=" ".join(order.releases)):
        with drawing.link(href("release", order.releases[0])):
            drawing.text(left + 12, y + 16.5, span(order.releases), size=12)
        x = left + LABELS
        if order.items:
            x = row(drawing, order.items, x, y, "payload")
        else:
            x += drawing.text(x, y + 16.5, "no payload", size=12, tone="dim")
        if order.removed:
            x = row(drawing, order.removed, x + 4, y, "removed")
        drawing.text(x + 10, y + 17, "→", size=14, tone="dim")
        x += 32
        if order.result is None or order.result.fate is Fate.REMOVED:
            x += drawing.text(x, y + 16.5, "no result", size=12, tone="dim") + 8
        if order.result is not None:
            box(drawing, order.result, x, y, "result", 0)


def table(stories: Sequence[Story]) -> Table:
    """Payloads and result of every operation in every generation."""
    rows = [
        (story.name, span(order.releases), ", ".join(map(_word, (*order.items, *order.removed))), _result(order.result))
        for story in stories
        for order in story.generations
    ]
    return Table(("operation", "releases", "payloads", "result"), tuple(rows))


def _word(item: Item) -> str:
    letter = letter_of(item)
    return f"{item.type} ({letter})" if letter else item.type


def _result(item: Item | None) -> str:
    if item is None:
        return "none"
    return f"none; was {item.type}" if item.fate is Fate.REMOVED else _word(item)
