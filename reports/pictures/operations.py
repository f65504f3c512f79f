"""The map of operation numbers of the multiprocess server: operations down the side, releases along the top."""

from __future__ import annotations

from typing import Final

from reports.collisions.effects import Family
from reports.pictures.drawing import Drawing, Hatch, Href
from reports.pictures.harms import entry, letter_of, mark_of
from reports.pictures.headers import nowhere
from reports.pictures.lanes import axis
from reports.pictures.legend import Entry, heading, legend
from reports.pictures.numbering import COLLIDES, Cell, Numbering, Row, captured_numbering
from reports.pictures.picture import Picture, Table, drawn
from reports.pictures.widths import Face

LABELS: Final = 306.0
COLUMN: Final = 42.0
ROW: Final = 24.0
FAMILIES: Final = {
    Family.ENGINE: "Every engine and every server",
    Family.ENGINE_DRIVEN: "Engines that copy themselves, through shared memory or pickles",
    Family.BLEND: "Blending",
    Family.PEERS: "Servers among each other",
    Family.EXPERIMENTAL: "Only servers that say that they have it",
}
_LEGEND: Final = (
    Entry("7", None, "none", "as in the release before"),
    Entry("8", "moved", "warn", "renumbered"),
    Entry("9", "added", "good", "new"),
    Entry("×", "removed", "bad", "retired: the number means nothing any more"),
)


def operations_picture(href: Href = nowhere) -> Picture:
    """All operations of all captured releases."""
    return draw(captured_numbering(), href)


def draw(found: Numbering, href: Href = nowhere) -> Picture:
    """The map of a numbering."""
    title = "Operation numbers of the multiprocess server"
    description = (
        "One row for each operation, one column for each release, in each cell the number that stands for the operation. "
        "Numbers that changed are hatched. A letter says the worst that the number does at a server of some other release, "
        "where it means another operation."
    )
    drawing = Drawing("mp-operation-numbers", title, description)
    y = heading(
        drawing,
        "Nothing on the wire says which release is spoken: a number that moved is executed as whatever it means to the server. "
        "A letter is the worst that comes of sending the number to a server of another release, where it means something else.",
    )
    y = legend(drawing, y + 2, [*_LEGEND, *map(entry, COLLIDES)]) + 6
    y = axis(drawing, found.releases, y, href, left=LABELS, column=COLUMN)
    top = y
    marks = drawing.mark()
    group: Family | None = None
    for row in found.rows:
        if row.family is not group:
            group = row.family
            drawing.text(0, y + 20, FAMILIES[group], size=13, face="bold", tone="dim", halo=True)
            y += 28
        _row(drawing, found, row, y, href)
        y += ROW
    with drawing.below(marks):
        for border in found.borders:
            x = LABELS + found.releases.index(border) * COLUMN
            drawing.line(x, top, x, y, stroke="dim", dashed=True)
    return drawn(drawing, table(found))


def _row(drawing: Drawing, found: Numbering, row: Row, y: float, href: Href) -> None:
    name, _, later = row.name.partition(",")
    with drawing.group(operation=row.name):
        drawing.line(0, y + ROW, LABELS + len(found.releases) * COLUMN, y + ROW, stroke="none-back")
        with drawing.link(href("operation", name)):
            width = drawing.text(0, y + 16.5, name, size=11.5, face="mono", tip=_names(row))
        if later:
            drawing.text(
                width + 8, y + 16.5, "(1)", size=11, tone="dim", tip=f"{name}{later}: another operation has this name later"
            )
        for index, release in enumerate(found.releases):
            cell = row.cells.get(release)
            x = LABELS + index * COLUMN
            if cell is not None:
                with drawing.link(href("number", f"{release}/{cell.number}")):
                    _cell(drawing, found, row, release, cell, x, y)


def _names(row: Row) -> str:
    return f"{row.name}; before: {', '.join(row.names[:-1])}" if len(row.names) > 1 else row.name


def _cell(drawing: Drawing, found: Numbering, row: Row, release: str, cell: Cell, x: float, y: float) -> None:
    hatch: Hatch | None = None
    if cell.retired:
        hatch = "removed"
    elif found.moved(row, release):
        hatch = "moved"
    elif found.added(row, release):
        hatch = "added"
    tone = {"removed": "bad", "moved": "warn", "added": "good", None: "line"}[hatch]
    tip = _tip(release, cell)
    drawing.rect(
        x + 1,
        y + 1,
        COLUMN - 2,
        ROW - 2,
        fill="page",
        stroke=tone,
        hatch=hatch,
        corner=2,
        tip=tip,
        data={"release": release, "number": cell.number},
    )
    word = "text" if isinstance(cell.number, str) else str(cell.number)
    collision = None if cell.retired else cell.collision
    middle = x + (COLUMN / 2 if collision is None else 14)
    face: Face = "mono" if hatch is None else "bold"
    drawing.text(
        middle,
        y + 16.5,
        word,
        size=12 if face == "mono" else 12.5,
        face=face,
        anchor="middle",
        halo=bool(hatch),
        struck=cell.retired,
    )
    if collision:
        mark = mark_of(collision.harm)
        drawing.rect(x + COLUMN - 17, y + 4, 14, ROW - 8, fill=mark.back, stroke=mark.tone, corner=2)
        drawing.text(
            x + COLUMN - 10,
            y + 16,
            mark.letter,
            size=11,
            face="bold",
            tone=mark.ink,
            anchor="middle",
            data={"harm": str(collision.harm)},
        )


def _tip(release: str, cell: Cell) -> str:
    if cell.retired:
        return f"{release}: {cell.number} was {cell.name} and means nothing any more"
    if cell.collision is None:
        return ""
    return f"{release}: {cell.name} is {cell.number}; a server of {cell.collision.server} {cell.collision.what}"


def table(found: Numbering) -> Table:
    """Every number in every release, with the letter of the worst collision."""
    rows = [(row.name, *(_word(row.cells.get(release)) for release in found.releases)) for row in found.rows]
    return Table(("operation", *found.releases), tuple(rows))


def _word(cell: Cell | None) -> str:
    if cell is None:
        return ""
    if cell.retired:
        return f"{cell.number} (retired)"
    return f"{cell.number} {letter_of(cell.collision.harm)}" if cell.collision else str(cell.number)
