"""How key strings are spelled: lanes over the releases, and below them a captured key of each grammar, its parts in columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reports.pictures.drawing import Drawing, Href
from reports.pictures.headers import nowhere
from reports.pictures.lanes import LABELS, Lane, Segment, axis, lane, letter, tone_of
from reports.pictures.legend import Entry, heading, legend
from reports.pictures.picture import Picture, Table, drawn
from reports.pictures.releases import span
from reports.pictures.rules import keys
from reports.pictures.spellings import Part, Spelling, key_spellings, object_spellings
from reports.pictures.widths import shortened, text_width
from wire.release import KNOWN_RELEASES

SIZE: Final = 13.0
CHIP: Final = 26.0
BETWEEN: Final = 16.0
LONGEST: Final = 184.0
"""CSS pixels of the longest part; a longer one is shown without its middle, and whole in the line below."""
_ORDER: Final = ("fmt", "model", "world", "worker", "rank", "group", "hash", "dtype", "layer", "tag", "salt")
_TONES: Final = {
    "fmt": "part-a",
    "model": "part-b",
    "world": "part-c",
    "worker": "part-d",
    "rank": "part-c",
    "group": "part-d",
    "hash": "part-e",
    "dtype": "part-f",
    "layer": "part-g",
    "tag": "part-h",
    "salt": "part-h",
}
_LEGEND: Final = (
    Entry("A", "added", "good", "this part is new"),
    Entry("W", "moved", "warn", "the same key, written another way"),
    Entry("R", "removed", "bad", "this part is gone"),
)


def keys_picture(href: Href = nowhere) -> Picture:
    """Key strings of ``lm://`` and names of objects of the multiprocess server."""
    return draw(keys().lanes, key_spellings(), object_spellings(), KNOWN_RELEASES, href)


def draw(
    lanes: Sequence[Lane], spelled: Sequence[Spelling], objects: Sequence[Spelling], releases: Sequence[str], href: Href = nowhere
) -> Picture:
    """Lanes over releases, and the spellings of keys and of objects."""
    title = "How a key is spelled"
    description = (
        "The rules for key strings over all releases, and below them one captured key for each grammar, cut into its parts. "
        "Equal parts stand in one column, so that a part that came, went or is written another way stands out."
    )
    drawing = Drawing("key-grammar", title, description)
    y = heading(
        drawing,
        "Two programs that spell a key in two ways never see an error, only misses. "
        "The lettered pieces of the first lane are spelled out below.",
    )
    y = axis(drawing, releases, y, href)
    band = Lane("Grammar", tuple(Segment(one.releases, _short(one)) for one in spelled))
    for one in (band, *lanes):
        y = lane(drawing, one, releases, y + 4, href)
    drawing.text(0, y + 30, "Key strings of lm:// and of remote backends", size=16, face="bold")
    y = legend(drawing, y + 44, _LEGEND)
    y = _spellings(drawing, spelled, y + 4, href)
    if objects:
        drawing.text(0, y + 26, "Names of objects of the multiprocess server", size=16, face="bold")
        y = _spellings(drawing, objects, y + 38, href)
    return drawn(drawing, table(spelled, objects))


def _short(spelling: Spelling) -> str:
    return f"from {spelling.releases[0]}"


def table(spelled: Sequence[Spelling], objects: Sequence[Spelling]) -> Table:
    """Every spelling with its captured example."""
    return Table(
        ("what", "releases", "parts", "captured", "what changed"),
        tuple(
            (what, span(one.releases), "@".join(part.kind for part in one.parts), one.text, "; ".join(one.changes))
            for what, found in (("key string", spelled), ("name of an object", objects))
            for one in found
        ),
    )


def _spellings(drawing: Drawing, found: Sequence[Spelling], y: float, href: Href) -> float:
    kinds = [kind for kind in _ORDER if any(part.kind == kind for one in found for part in one.parts)]
    widths = {kind: _column(kind, found) for kind in kinds}
    places: dict[str, float] = {}
    x = LABELS
    for kind in kinds:
        places[kind] = x
        drawing.text(x + widths[kind] / 2, y + 18, kind, size=12, face="bold", tone=_TONES[kind], anchor="middle")
        x += widths[kind] + BETWEEN
    y += 28
    before: Spelling | None = None
    for index, spelling in enumerate(found):
        y = _spelling(drawing, index, spelling, before, places, widths, y, href)
        before = spelling
    return y


def _column(kind: str, found: Sequence[Spelling]) -> float:
    texts = [part.text for one in found for part in one.parts if part.kind == kind]
    widest = max(text_width(text, SIZE, "mono") for text in texts)
    return max(min(widest, LONGEST), text_width(kind, 12, "bold")) + 14


def _spelling(
    drawing: Drawing,
    index: int,
    spelling: Spelling,
    before: Spelling | None,
    places: dict[str, float],
    widths: dict[str, float],
    y: float,
    href: Href,
) -> float:
    old = {part.kind: part for part in before.parts} if before else {}
    new = {part.kind: part for part in spelling.parts}
    with drawing.group(spelling=spelling.vector, text=spelling.text, releases=" ".join(spelling.releases)):
        with drawing.link(href("release", spelling.releases[0])):
            drawing.rect(0, y + 1, 24, 24, fill="raised", stroke=tone_of(index), corner=3)
            drawing.text(12, y + 18, letter(index), size=13, face="bold", tone=tone_of(index), anchor="middle")
            drawing.text(34, y + 18, span(spelling.releases), size=12.5, face="bold")
        shown = [kind for kind in places if kind in new]
        for kind, x in places.items():
            width = widths[kind]
            if kind in new:
                _chip(drawing, new[kind], old.get(kind) if before else new[kind], x, width, y)
                if kind != shown[-1]:
                    _joint(drawing, x + width, places[shown[shown.index(kind) + 1]], y)
            elif kind in old:
                drawing.rect(x, y, width, CHIP, hatch="removed", stroke="bad", dashed=True, corner=4, data={"gone": kind})
                drawing.text(x + width / 2, y + 18, "R", size=12, face="bold", tone="bad", anchor="middle", halo=True)
        drawing.text(LABELS, y + CHIP + 16, spelling.text, size=11, face="mono", tone="dim")
        y += CHIP + 16
        for line in spelling.changes:
            drawing.text(LABELS, y + 18, f"• {line}", size=12)
            y += 17
    return y + 22


def _joint(drawing: Drawing, left: float, right: float, y: float) -> None:
    """The separator between two parts, and a line across the columns that are empty between them."""
    drawing.text(right - BETWEEN / 2, y + 18, "@", size=SIZE, face="mono", tone="dim", anchor="middle")
    if right - left > BETWEEN:
        drawing.line(left + 4, y + CHIP / 2, right - BETWEEN - 2, y + CHIP / 2, stroke="dim", dashed=True)


def _chip(drawing: Drawing, part: Part, old: Part | None, x: float, width: float, y: float) -> None:
    tone = _TONES[part.kind]
    mark = "added" if old is None else "moved" if old.text != part.text and part.kind == "hash" else None
    entry = next((entry for entry in _LEGEND if entry.hatch == mark), None)
    hatch = entry.hatch if entry else None
    drawing.rect(x, y, width, CHIP, fill="raised", stroke=tone, hatch=hatch, corner=4, tip=part.text, data={"part": part.kind})
    text = shortened(part.text, width - 12, SIZE, "mono")
    drawing.text(x + width / 2, y + 18, text, size=SIZE, face="mono", tone=tone, anchor="middle", halo=bool(hatch))
    if entry:
        drawing.text(x + width - 1, y - 3, entry.letter, size=11, face="bold", tone=entry.tone, anchor="end")
