"""The frames of ``lm://`` drawn to scale, generation below generation, with ribbons from where bytes stood to where they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from reports.pictures.drawing import Drawing, Href
from reports.pictures.examples import Example, captured
from reports.pictures.frames import HISTORIES, Fate, Field, Generation, History
from reports.pictures.legend import Entry, heading, legend
from reports.pictures.marks import MARKS
from reports.pictures.picture import Picture, Table, drawn
from reports.pictures.releases import span
from reports.pictures.ruler import BYTE, GAP, Ruler
from reports.words import count

LABELS: Final = 168.0
BOX: Final = 52.0
BYTES: Final = 20.0
CHARACTERS: Final = 14.0
BETWEEN: Final = 44.0
_SPACE: Final = 0x20
_KEY_SHOWN: Final = 8
_TAIL_SHOWN: Final = 2
_LEGEND: Final = (
    Entry("M", "moved", "warn", "moved: the same field at another offset"),
    Entry("A", "added", "good", "added"),
    Entry("R", "removed", "bad", "removed"),
    Entry("S", "resized", "odd", "another size"),
)


def nowhere(_kind: str, _name: str) -> None:
    """The :data:`Href` of a picture without links."""


def headers_picture(href: Href = nowhere) -> Picture:
    """Request header, reply header and remote metadata, of all generations."""
    histories = [history() for history in HISTORIES]
    return draw(histories, [captured(history) for history in histories], href)


def draw(histories: Sequence[History], examples: Sequence[Sequence[Example | None]], href: Href = nowhere) -> Picture:
    """The frames of some histories, with a captured frame of each generation where there is one."""
    title = "lm:// frames through the releases"
    description = (
        "Every frame of fixed layout in every generation of releases, to scale: a box for each field, as wide as its bytes. "
        "Ribbons lead from where a field stood to where it is; what moved, came, went or changed size is hatched and lettered."
    )
    drawing = Drawing("lm-headers", title, description)
    y = heading(drawing, "All integers are little-endian. Boxes are to scale; a long key is cut where the torn edge is.")
    y = legend(drawing, y, [entry for entry in _LEGEND if entry.hatch in _used(histories)])
    for history, shown in zip(histories, examples, strict=True):
        y = _section(drawing, history, shown, y + 14, href)
    return drawn(drawing, table(histories))


def table(histories: Sequence[History]) -> Table:
    """Every field of every generation, with its offset and what became of it."""
    rows = [
        (history.title, span(generation.releases), field.name, field.type, *_place(field), _words(field))
        for history in histories
        for generation in history.generations
        for field in (*generation.layout.fields, *generation.removed)
    ]
    return Table(("frame", "releases", "field", "type", "offset", "bytes", "since the generation before"), tuple(rows))


def _place(field: Field) -> tuple[str, str]:
    return str(field.offset), str(field.size)


def _words(field: Field) -> str:
    moved = "" if field.was is None else f"moved from {field.was}"
    found = {Fate.SAME: "", Fate.MOVED: "", Fate.ADDED: "added", Fate.REMOVED: "removed", Fate.RESIZED: "another size"}[
        field.fate
    ]
    return ", ".join(filter(None, [found, moved, "may be missing" if field.optional else ""]))


def _used(histories: Sequence[History]) -> set[str | None]:
    return {
        MARKS[field.fate].hatch
        for history in histories
        for generation in history.generations
        for field in (*generation.layout.fields, *generation.removed)
    }


def ruler_of(history: History) -> Ruler:
    """The scale that all generations of a frame share; it leaves out the middle of a long last field."""
    layouts = [generation.layout for generation in history.generations]
    long = [field for layout in layouts for field in layout.fields if field.size > 2 * _KEY_SHOWN]
    if not long:
        return Ruler(LABELS)
    return Ruler(LABELS, max(field.offset for field in long) + _KEY_SHOWN, min(field.end for field in long) - _TAIL_SHOWN)


def _section(drawing: Drawing, history: History, examples: Sequence[Example | None], y: float, href: Href) -> float:
    ruler = ruler_of(history)
    drawing.text(0, y + 16, history.title, size=16, face="bold")
    _scale(drawing, ruler, max(generation.layout.size for generation in history.generations), y + 40)
    y += 46
    height = BOX + BYTES + (CHARACTERS if any(field.is_text for field in history.generations[0].layout.fields) else 0)
    before: Generation | None = None
    for generation, example in zip(history.generations, examples, strict=True):
        if before:
            _ribbons(drawing, ruler, before, generation, y - BETWEEN)
        _generation(drawing, ruler, history, generation, example, y, before, href)
        y += height + BETWEEN
        before = generation
    y -= BETWEEN
    if ruler.cut is not None:
        y = _whole(drawing, history, ruler, y + 12)
    told = _caption(examples)
    if told:
        drawing.text(LABELS, y + 20, told, size=11, tone="dim")
        y += 26
    return y + 10


def _whole(drawing: Drawing, history: History, ruler: Ruler, y: float) -> float:
    """The frames without a break, at a smaller scale: as wide as the broken ones together."""
    longest = max(generation.layout.size for generation in history.generations)
    byte = (ruler.x(longest) - ruler.origin) / longest
    drawing.text(ruler.origin - 10, y + 2 + 8 * len(history.generations), "unbroken", size=11, tone="dim", anchor="end")
    for generation in history.generations:
        with drawing.group(whole=history.kind, releases=" ".join(generation.releases), byte=byte):
            for field in generation.layout.fields:
                drawing.rect(
                    ruler.origin + field.offset * byte,
                    y,
                    field.size * byte,
                    12,
                    fill="raised",
                    stroke=MARKS[field.fate].tone,
                    hatch=MARKS[field.fate].hatch,
                    tip=f"{span(generation.releases)}: {field.name}, {field.size} bytes",
                    data={"whole": field.name},
                )
        y += 16
    return y


def _caption(examples: Sequence[Example | None]) -> str:
    found = [example for example in examples if example]
    if not found:
        return ""
    names = ", ".join(dict.fromkeys(example.vector for example in found))
    return f"Bytes below the boxes were captured from {' and '.join(example.release for example in found)}: {names}"


def _scale(drawing: Drawing, ruler: Ruler, size: int, y: float) -> None:
    """Offsets in bytes above the boxes."""
    drawing.text(LABELS - 10, y, "byte", size=11, tone="dim", anchor="end")
    for offset in [*range(0, size + 1, 4)]:
        if ruler.cut is not None and ruler.cut < offset < ruler.resume:
            continue
        if offset == ruler.cut:
            continue
        drawing.text(ruler.x(offset), y - 2, str(offset), size=11, face="mono", tone="dim", anchor="middle")
        drawing.line(ruler.x(offset), y + 1, ruler.x(offset), y + 6, stroke="dim")
    if size % 4:
        drawing.text(ruler.x(size), y - 2, str(size), size=11, face="mono", tone="dim", anchor="middle")
        drawing.line(ruler.x(size), y + 1, ruler.x(size), y + 6, stroke="dim")


def _generation(
    drawing: Drawing,
    ruler: Ruler,
    history: History,
    generation: Generation,
    example: Example | None,
    y: float,
    before: Generation | None,
    href: Href,
) -> None:
    data = {"frame": history.kind, "releases": " ".join(generation.releases), "origin": ruler.origin, "byte": ruler.byte}
    with drawing.group(**data):
        with drawing.link(href("release", generation.releases[0])):
            drawing.text(0, y + 22, span(generation.releases), size=13, face="bold")
            drawing.text(0, y + 38, count(len(generation.releases), "release"), size=11, tone="dim")
        for field in generation.layout.fields:
            _box(drawing, ruler, history, field, y, href)
        if example:
            _bytes(drawing, ruler, generation, example.data, y + BOX)
        _size(drawing, ruler, generation, before, y)


def _size(drawing: Drawing, ruler: Ruler, generation: Generation, before: Generation | None, y: float) -> None:
    layout = generation.layout
    x = ruler.x(layout.size) + 12
    drawing.text(x, y + 22, count(layout.least, "byte"), size=13, face="bold")
    if layout.size != layout.least:
        drawing.text(x, y + 38, f"{layout.size - layout.least} more for each", size=11, tone="dim")
        drawing.text(x, y + 51, "further group", size=11, tone="dim")
    elif before and before.layout.size != layout.size:
        drawing.text(x, y + 38, f"{layout.size - before.layout.size:+d}", size=12, face="mono", tone="warn")


def _box(drawing: Drawing, ruler: Ruler, history: History, field: Field, y: float, href: Href) -> None:
    hatch = MARKS[field.fate].hatch
    pieces = ruler.pieces(field.offset, field.size)
    tip = f"{field.name}: {field.type}, {field.size} bytes at offset {field.offset}"
    with drawing.link(href("field", f"{history.kind}.{field.name}")), drawing.group(field=field.name):
        for offset, size in pieces:
            drawing.rect(
                ruler.x(offset),
                y,
                size * ruler.byte,
                BOX,
                fill="raised",
                stroke=MARKS[field.fate].tone,
                hatch=hatch,
                dashed=field.optional,
                tip=tip,
                data={"box": field.name, "offset": offset, "size": size},
            )
        if len(pieces) > 1:
            _torn(drawing, ruler, y, MARKS[field.fate].tone)
        first, size = pieces[0]
        middle = ruler.x(first) + size * ruler.byte / 2
        drawing.text(middle, y + 17, field.name, size=12, face="mono", anchor="middle", halo=bool(hatch))
        drawing.text(middle, y + 31, _type(field), size=11, tone="dim", anchor="middle", halo=bool(hatch))
        drawing.text(
            middle, y + 45, _offset(field), size=11, face="mono", tone=MARKS[field.fate].tone, anchor="middle", halo=bool(hatch)
        )


def _type(field: Field) -> str:
    return field.type if field.size <= _KEY_SHOWN else f"{field.size} bytes, {field.type.partition(',')[0]}"


def _offset(field: Field) -> str:
    letter = MARKS[field.fate].letter
    place = f"at {field.offset}" if field.was is None else f"{field.was}→{field.offset}"
    return f"{letter} {place}" if letter else place


def _torn(drawing: Drawing, ruler: Ruler, y: float, tone: str) -> None:
    """The two edges of a cut, and the bytes that are left out."""
    assert ruler.cut is not None
    left = ruler.x(ruler.cut)
    for edge in (left, left + GAP):
        steps = " ".join(f"L{edge + (4 if index % 2 else -4):g} {y + index * BOX / 6:g}" for index in range(1, 6))
        drawing.path(f"M{edge:g} {y:g} {steps} L{edge:g} {y + BOX:g}", stroke=tone, width=1.5)
    drawing.text(left + GAP / 2, y + BOX / 2 + 4, "···", size=14, face="bold", tone="dim", anchor="middle")


def _bytes(drawing: Drawing, ruler: Ruler, generation: Generation, data: bytes, y: float) -> None:
    """The bytes of a captured frame, and below those of text its characters."""
    text = {offset for field in generation.layout.fields if field.is_text for offset in range(field.offset, field.end)}
    with drawing.group(bytes=data.hex()):
        for offset, value in enumerate(data):
            if ruler.shows(offset):
                x = ruler.x(offset) + ruler.byte / 2
                drawing.text(x, y + 14, f"{value:02x}", size=11, face="mono", tone="text" if value else "dim", anchor="middle")
                if offset in text and chr(value).isprintable() and value != _SPACE:
                    drawing.text(x, y + 28, chr(value), size=12, face="mono", tone="link", anchor="middle")


def _ribbons(drawing: Drawing, ruler: Ruler, before: Generation, after: Generation, y: float) -> None:
    top, bottom = y, y + BETWEEN
    old = {field.name: field for field in before.layout.fields}
    for field in after.layout.fields:
        if field.name not in old:
            continue
        for start, end in _shared(ruler, old[field.name], field):
            above, below = old[field.name].offset, field.offset
            corners = [(above + start, top), (above + end, top), (below + end, bottom), (below + start, bottom)]
            points = [(_edge(ruler, offset, last=index in {1, 2}), height) for index, (offset, height) in enumerate(corners)]
            _ribbon(drawing, points, moved=field.fate is Fate.MOVED)
    for field in after.removed:
        for offset, size in ruler.pieces(field.offset, field.size):
            x, width = ruler.x(offset), size * ruler.byte
            drawing.rect(x, top + 4, width, 20, hatch="removed", stroke="bad", dashed=True, data={"removed": field.name})
            drawing.text(x + width / 2, top + 18, f"R {field.name}", size=11, face="mono", tone="bad", anchor="middle", halo=True)


def _ribbon(drawing: Drawing, points: Sequence[tuple[float, float]], *, moved: bool) -> None:
    drawing.polygon(points, fill="warn-back" if moved else "raised")
    (x1, y1), (x2, y2), (x3, y3), (x4, y4) = points
    for ends in ((x1, y1, x4, y4), (x2, y2, x3, y3)):
        drawing.line(*ends, stroke="warn" if moved else "line")


def _edge(ruler: Ruler, offset: int, *, last: bool) -> float:
    """The left edge of a byte, or as ``last`` the right edge of the byte before it: they differ at the cut."""
    return ruler.x(offset - 1) + ruler.byte if last else ruler.x(offset)


def _shared(ruler: Ruler, old: Field, new: Field) -> Iterator[tuple[int, int]]:
    """The stretches of a field, counted from its first byte, that are drawn in both generations."""
    length = min(old.size, new.size)
    shown = [ruler.shows(old.offset + index) and ruler.shows(new.offset + index) for index in range(length)]
    start: int | None = None
    for index, seen in enumerate([*shown, False]):
        if seen and start is None:
            start = index
        elif not seen and start is not None:
            yield start, index
            start = None


__all__ = ["BYTE", "draw", "headers_picture", "ruler_of", "table"]
