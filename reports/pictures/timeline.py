"""Every rule of the wires over all releases: one lane each, cut where it changes."""

from __future__ import annotations

from collections.abc import Sequence

from reports.pictures.drawing import Drawing, Href
from reports.pictures.headers import nowhere
from reports.pictures.lanes import COLUMN, LABELS, axis, lane
from reports.pictures.legend import heading
from reports.pictures.picture import Picture, Table, drawn
from reports.pictures.releases import span
from reports.pictures.rules import Chapter, chapters
from wire.release import KNOWN_RELEASES


def timeline_picture(href: Href = nowhere) -> Picture:
    """All rules of all wires."""
    return draw(chapters(), KNOWN_RELEASES, href)


def draw(found: Sequence[Chapter], releases: Sequence[str], href: Href = nowhere) -> Picture:
    """The lanes of some chapters over releases."""
    title = "What changed when"
    description = (
        "Every rule of the wires that changed with a release, one lane each, over all releases from the oldest to the newest. "
        "A lane is cut where its rule changes; the words below a piece say what holds in it."
    )
    drawing = Drawing("wire-timeline", title, description)
    y = heading(drawing, "One lane for each rule, cut where the rule changes. Words below a piece say what holds from there on.")
    top = axis(drawing, releases, y + 4, href)
    cuts = _cuts(found, releases)
    marks = drawing.mark()
    y = top
    for chapter in found:
        drawing.text(0, y + 20, chapter.title, size=15, face="bold")
        drawing.line(LABELS, y + 16, LABELS + len(releases) * COLUMN, y + 16)
        y += 30
        for one in chapter.lanes:
            y = lane(drawing, one, releases, y, href) + 6
        y += 6
    with drawing.below(marks):
        for index in cuts:
            x = LABELS + index * COLUMN
            drawing.line(x, top, x, y - 8, dashed=True)
    return drawn(drawing, table(found))


def _cuts(found: Sequence[Chapter], releases: Sequence[str]) -> list[int]:
    """Columns before which any rule changes."""
    firsts = {segment.releases[0] for chapter in found for one in chapter.lanes for segment in one.segments}
    return [index for index, release in enumerate(releases) if index and release in firsts]


def table(found: Sequence[Chapter]) -> Table:
    """Every rule with the releases that it holds for."""
    return Table(
        ("wire", "rule", "releases", "what holds"),
        tuple(
            (chapter.title, one.title, span(segment.releases), segment.label)
            for chapter in found
            for one in chapter.lanes
            for segment in one.segments
            if segment.label
        ),
    )
