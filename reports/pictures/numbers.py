"""What each number means to the multiprocess server, generation by generation, and what it does when it was meant as another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from reports.collisions.effects import EFFECTS, UNKNOWN
from reports.collisions.harm import Harm
from reports.pictures.drawing import Drawing, Hatch, Href
from reports.pictures.harms import Mark, mark_of
from reports.pictures.headers import nowhere
from reports.pictures.legend import Entry, heading, legend
from reports.pictures.numbering import Numbering, Row, captured_numbering
from reports.pictures.picture import Picture, Table, drawn
from reports.pictures.releases import span
from reports.pictures.widths import text_width

LABELS: Final = 44.0
COLUMN: Final = 148.0
HEAD: Final = 40.0
_LEGEND: Final = (
    Entry("D", None, "bad", "destroys every stored object", back="bad", ink="page"),
    Entry("C", None, "bad", "corrupts memory, objects, registrations or locks"),
    Entry("L", None, "odd", "leaks locks"),
    Entry("·", None, "none", "changes nothing, or only takes an answer away"),
    Entry("×", "removed", "bad", "retired: means nothing"),
)


@dataclass(frozen=True)
class Block:
    """A number that means one operation in neighbouring generations."""

    number: int
    first: int
    last: int
    """Generations, both included."""
    name: str
    """The newest name of the operation."""
    names: tuple[str, ...]
    """The names that it has there."""
    retired: bool
    harm: Harm | None
    """What the operation does to a server that is asked for it by mistake; None for nothing."""


def numbers_picture(href: Href = nowhere) -> Picture:
    """The meaning of all numbers of all captured releases."""
    return draw(captured_numbering(), href)


def generations(found: Numbering) -> list[tuple[str, ...]]:
    """Releases with the same numbers, together."""
    made: list[tuple[str, ...]] = []
    for release in found.releases:
        if made and release not in found.borders:
            made[-1] = (*made[-1], release)
        else:
            made.append((release,))
    return made


def blocks(found: Numbering) -> list[Block]:
    """Every meaning of every number, by number and then by age."""
    made: list[Block] = []
    groups = generations(found)
    for number in range(1, _highest(found) + 1):
        current: Block | None = None
        for index, releases in enumerate(groups):
            owner = _owner(found, number, releases[0])
            if current and owner and current.name == owner[0].name and current.retired == owner[2] and current.last == index - 1:
                names = tuple(dict.fromkeys((*current.names, owner[1])))
                current = Block(number, current.first, index, current.name, names, current.retired, current.harm)
                continue
            if current:
                made.append(current)
            current = _block(number, index, owner) if owner else None
        if current:
            made.append(current)
    return made


def _block(number: int, index: int, owner: tuple[Row, str, bool]) -> Block:
    row, name, retired = owner
    effect = EFFECTS.get(row.name.partition(",")[0], UNKNOWN)
    return Block(number, index, index, row.name, (name,), retired, None if retired else effect.harm)


def _owner(found: Numbering, number: int, release: str) -> tuple[Row, str, bool] | None:
    for row in found.rows:
        cell = row.cells.get(release)
        if cell is not None and cell.number == number:
            return row, cell.name, cell.retired
    return None


def _highest(found: Numbering) -> int:
    return max((cell.number for row in found.rows for cell in row.cells.values() if isinstance(cell.number, int)), default=0)


def draw(found: Numbering, href: Href = nowhere) -> Picture:
    """The meanings of all numbers of a numbering."""
    title = "What a number means to the multiprocess server"
    description = (
        "One row for each operation number, one column for each generation of numbers; a block is an operation. "
        "Its colour and letter say what it does to a server that is asked for it by mistake."
    )
    drawing = Drawing("mp-number-meanings", title, description)
    y = heading(
        drawing,
        "Read a row to see what servers of other releases take one number for. "
        "Colour and letter say what the operation does where it was asked for by mistake.",
    )
    y = legend(drawing, y + 2, _LEGEND) + 10
    groups = generations(found)
    for index, releases in enumerate(groups):
        x = LABELS + index * COLUMN
        with drawing.link(href("release", releases[0])), drawing.group(releases=" ".join(releases)):
            for line, words in enumerate(_head(releases)):
                drawing.text(x + COLUMN / 2, y + 14 + line * 16, words, size=12, face="bold", anchor="middle")
    y += HEAD
    made = blocks(found)
    for number in range(1, _highest(found) + 1):
        row = [block for block in made if block.number == number]
        height = 13 * max([2, *(len(_name_lines(block)) for block in row)]) + 8
        drawing.text(LABELS - 12, y + height / 2 + 4, str(number), size=13, face="bold", anchor="end")
        for block in row:
            with drawing.link(href("operation", block.name.partition(",")[0])):
                _draw_block(drawing, block, y, height, groups)
        y += height
    return drawn(drawing, table(found))


def _head(releases: tuple[str, ...]) -> list[str]:
    words = span(releases)
    if text_width(words, 12, "bold") <= COLUMN - 8:
        return [words]
    first, _, last = words.partition(" to ")
    return [first, f"to {last}"]


def _name_lines(block: Block) -> list[str]:
    return list(_lines(block.names[-1], (block.last - block.first + 1) * COLUMN - 30))


def _draw_block(drawing: Drawing, block: Block, y: float, height: float, groups: Sequence[tuple[str, ...]]) -> None:
    x = LABELS + block.first * COLUMN
    width = (block.last - block.first + 1) * COLUMN
    mark = Mark("×", "bad", "bad-back", "bad") if block.retired else mark_of(block.harm)
    where = f"{groups[block.first][0]} to {groups[block.last][-1]}"
    tip = f"{block.number} from {where}: {'retired, was ' if block.retired else ''}{', '.join(block.names)}"
    data = {"number": block.number, "operation": block.name, "first": groups[block.first][0], "last": groups[block.last][-1]}
    hatch: Hatch | None = "removed" if block.retired else None
    drawing.rect(
        x + 1.5, y + 1.5, width - 3, height - 3, fill=mark.back, stroke=mark.tone, hatch=hatch, corner=3, tip=tip, data=data
    )
    drawing.text(x + 9, y + height / 2 + 4, mark.letter, size=11.5, face="bold", tone=mark.ink, halo=block.retired)
    ink = mark.ink if mark.ink == "page" else "text"
    lines = _name_lines(block)
    for index, line in enumerate(lines):
        base = y + height / 2 + 4 + (index - (len(lines) - 1) / 2) * 13
        drawing.text(x + 23, base, line, size=11, face="mono", tone=ink, halo=block.retired)


def _lines(name: str, width: float) -> Iterator[str]:
    """A name in as few lines as it needs, broken behind underscores."""
    line = ""
    for index, word in enumerate(name.split("_")):
        piece = f"{word}_" if index < name.count("_") else word
        if line and text_width(line + piece, 11, "mono") > width:
            yield line
            line = ""
        line += piece
    yield line


def table(found: Numbering) -> Table:
    """What each number means, one row each."""
    groups = generations(found)
    meanings = {(block.number, index): block for block in blocks(found) for index in range(block.first, block.last + 1)}
    rows = [
        (str(number), *(_word(meanings.get((number, index))) for index in range(len(groups))))
        for number in range(1, _highest(found) + 1)
    ]
    return Table(("number", *map(span, groups)), tuple(rows))


def _word(block: Block | None) -> str:
    if block is None:
        return ""
    return "retired" if block.retired else block.names[-1]
