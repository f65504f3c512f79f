"""Where the fields of request headers, reply headers and remote metadata stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from fixturegen.vector import Vector, raw
from reports.drift.model import Aspect, Change, Example, Findings, Level, Levels, Side, Table
from reports.drift.observe.evidence import shared
from reports.drift.observe.frames import SUBJECTS, Frames, subject_of
from reports.drift.observe.layout import Filler, Layout, Place
from reports.drift.observe.observed import Observed, frame_pairs
from reports.drift.words import name, numbered
from reports.words import count, listing, verb

SHOWN_OF_KEY: Final = 8
"""Bytes of a key field that a table shows."""
_TITLES: Final = {"request": "Request header", "reply": "Reply header"}
_ASPECTS: Final = {"request": Aspect.REQUEST_HEADER, "reply": Aspect.REPLY_HEADER}
_LEVELS: Final = {
    "request": Levels.all(Level.BREAKING),
    "reply": Levels(Level.NONE, Level.BREAKING, Level.BREAKING),
}


def compare(old: Observed, new: Observed) -> Findings:
    """Layouts of every kind of frame."""
    found = Findings()
    for before, after in frame_pairs(old, new):
        if before.layout != after.layout:
            found.changes.append(_change(old, new, before, after))
    for kind, one, other in (("request", old.request, new.request), ("reply", old.reply, new.reply)):
        for observed, frames in ((old, one), (new, other)):
            if frames is None:
                found.notes.append(
                    f"No layout of a {kind} header could be inferred from the captured bytes of {observed.release}."
                )
    found.add(_groups(old, new))
    found.notes += _asked_in_another_layout(old, new)
    return found


def _change(old: Observed, new: Observed, before: Frames, after: Frames) -> Change:
    kind = before.kind.name
    sizes = (
        f"{before.layout.size} -> {after.layout.size} bytes"
        if before.layout.size != after.layout.size
        else f"{after.layout.size} bytes"
    )
    sentences = list(_differences(before.layout, after.layout))
    example = _best(old, new, before, after)
    title = f"{_TITLES.get(kind, kind.capitalize())}: {sizes}; {sentences[0]}"
    return Change(
        aspect=_ASPECTS.get(kind, Aspect.METADATA),
        title=title,
        levels=_LEVELS.get(kind, Levels.clients(Level.BREAKING)),
        must=_must(kind, before, after),
        examples=(_example(before, after, example),) if example else (),
        detail=(f"Also: {'; '.join(sentences[1:])}.",) if len(sentences) > 1 else (),
        table=_table(old.release, new.release, before, after, example),
        evidence=sum(1 for pair in shared(old.evidence, new.evidence, before.kind.encode) if pair[0].outcome != pair[1].outcome),
    )


def _differences(before: Layout, after: Layout) -> Iterator[str]:
    """What happened to each field, as phrases; what is new comes first."""
    last = after.fields[-1].name
    for place in after.fields:
        if place.name not in before:
            where = "appended" if place.name == last else "inserted"
            yield f"{place.name} ({count(place.width, 'byte')}) is {where} at offset {place.offset}"
    for place in before.fields:
        now = after.place(place.name)
        if now is None:
            yield f"{place.name} is gone (it stood at offset {place.offset})"
        elif now.width != place.width:
            yield f"{place.name} takes {count(now.width, 'byte')} instead of {place.width}"
    yield from (f"{_filler(filler)} at offset {filler.offset}" for filler in after.fillers if filler not in before.fillers)
    yield from (
        f"no longer {_filler(filler)} at offset {filler.offset}" for filler in before.fillers if filler not in after.fillers
    )
    yield from _moves(before, after)
    if before.byte_order != after.byte_order:
        yield f"numbers are {after.byte_order}-endian instead of {before.byte_order}-endian"
    if before.padding != after.padding:
        yield f"the key is padded with 0x{after.padding.hex()} instead of 0x{before.padding.hex()}"


def _moves(before: Layout, after: Layout) -> Iterator[str]:
    """Fields that stand elsewhere, those together that move by the same distance."""
    moves = [(now.offset - place.offset, place.name) for place in before.fields if (now := after.place(place.name))]
    for by, moved in groupby(moves, lambda move: move[0]):
        if by:
            found = [field for _, field in moved]
            yield f"{listing(found, 12)} {verb(len(found), 'moves', 'move')} by {by:+d} bytes"


def _filler(filler: Filler) -> str:
    content = f"always {filler.data.hex(' ')}" if filler.data is not None else "of a meaning that captures do not show"
    return f"{count(filler.width, 'byte')} {content}"


def _must(kind: str, before: Frames, after: Frames) -> str:
    what = {"request": "Write requests", "reply": "Read reply headers"}.get(kind, "Write and read the prefix of stored values")
    names = {place.name for place in before.layout.fields}
    fresh = [place for place in after.layout.fields if place.name not in names]
    gone = [place.name for place in before.layout.fields if place.name not in after.layout]
    parts = [_field_words(place, after) for place in fresh]
    parts += [f"without {listing(gone)}"] if gone else []
    parts += [
        f"with {_filler(filler)} at offset {filler.offset}"
        for filler in after.layout.fillers
        if filler not in before.layout.fillers
    ]
    return f"{what} of {after.layout.size} bytes, {'; '.join([*parts, 'every field at the offset in the right column'])}."


def _field_words(place: Place, frames: Frames) -> str:
    names = frames.written.get(subject_of(place.name), {})
    meaning = f" ({numbered(names)})" if names else ""
    return f"with {place.name}{meaning} in {count(place.width, 'byte')} at offset {place.offset}"


def _best(old: Observed, new: Observed, before: Frames, after: Frames) -> tuple[Vector, Vector] | None:
    """The captured frame that tells its fields apart best: with most different numbers."""
    pairs = [
        (one, other)
        for one, other in shared(old.evidence, new.evidence, before.kind.encode)
        if one.ok is not None
        and other.ok is not None
        and before.kind.asked(other)
        and len(raw(other.ok["bytes"])) == after.layout.size
        if len(raw(one.ok["bytes"])) == before.layout.size
    ]
    return max(pairs, key=lambda pair: len(set(after.layout.numbers(raw(pair[1].answer["bytes"])).values())), default=None)


def _example(before: Frames, after: Frames, pair: tuple[Vector, Vector]) -> Example:
    return Example(
        pair[0].id,
        *(frame_side(frames, raw(vector.answer["bytes"])) for frames, vector in zip((before, after), pair, strict=True)),
    )


def frame_side(frames: Frames, data: bytes) -> Side:
    """A frame in words: its fields by the layout that was inferred, with names for numbers."""
    words = []
    for field, number in frames.layout.numbers(data).items():
        names = {written: known for known, written in frames.written.get(subject_of(field), {}).items()}
        words.append(
            f"{field} {number}{f' ({name(names[number])})' if subject_of(field) in SUBJECTS and number in names else ''}"
        )
    key = frames.layout.key(data)
    if key is not None:
        words.append(f"key {key.decode(errors='replace').strip()}")
    return Side(", ".join(words), data)


def _table(old: str, new: str, before: Frames, after: Frames, pair: tuple[Vector, Vector] | None) -> Table:
    left = _cells(before.layout, raw(pair[0].answer["bytes"]) if pair else None)
    right = _cells(after.layout, raw(pair[1].answer["bytes"]) if pair else None)
    rows = []
    for offset in sorted({*left, *right}):
        one, other = left.get(offset, ("", "")), right.get(offset, ("", ""))
        rows.append((str(offset), *one, *other, "" if one == other else "*"))
    return Table(("offset", old, "bytes", new, "bytes", ""), tuple(rows))


def _cells(layout: Layout, data: bytes | None) -> dict[int, tuple[str, str]]:
    """Offset to the field there and its bytes in the example; the end of the frame closes the column."""
    found = {}
    for place in [*layout.fields, *(Place("(unnamed)", filler.offset, filler.width) for filler in layout.fillers)]:
        label = f"{place.name}[{place.width}]" if place.name == "key" else place.name
        held = data[place.offset : place.end] if data is not None else b""
        shown = held[:SHOWN_OF_KEY].hex(" ") + (" ..." if len(held) > SHOWN_OF_KEY else "")
        found[place.offset] = (label, shown)
    found[layout.size] = ("(end)", "")
    return found


def _groups(old: Observed, new: Observed) -> list[Change]:
    """Metadata with more than one group: there or not."""
    fresh = sorted(new.metadata.keys() - old.metadata.keys() - {1})
    gone = sorted(old.metadata.keys() - new.metadata.keys() - {1})
    found = []
    if fresh and 1 in old.metadata:
        sizes = ", ".join(f"{groups} groups {new.metadata[groups].layout.size} bytes" for groups in fresh)
        same = " One group is written as before." if new.metadata[1].layout == old.metadata[1].layout else ""
        found.append(
            Change(
                Aspect.METADATA,
                f"Remote metadata carries more than one group of dtype and shape ({sizes})",
                Levels.clients(Level.ADDITIVE),
                f"Read one dtype and shape per group if values of several groups may be met.{same}",
                _only_new_examples(new, fresh),
            )
        )
    if gone:
        found.append(
            Change(
                Aspect.METADATA,
                f"Remote metadata no longer carries {listing(gone)} groups",
                Levels.clients(Level.BREAKING),
                "Write one group of dtype and shape per value.",
            )
        )
    return found


def _only_new_examples(new: Observed, groups: Sequence[int]) -> tuple[Example, ...]:
    frames = new.metadata[groups[0]]
    for vector, ok in new.evidence.answered(frames.kind.encode):
        if frames.kind.asked(vector):
            return (Example(vector.id, None, frame_side(frames, raw(ok["bytes"]))),)
    return ()


def _asked_in_another_layout(old: Observed, new: Observed) -> Iterator[str]:
    """Decoders of the newer release that were given little but frames of the older layout."""
    for before, after in ((old.request, new.request), (old.reply, new.reply)):
        if not (before and after) or before.layout == after.layout:
            continue
        decoded = new.evidence.of(after.kind.decode)
        stale = [vector for vector in decoded if len(raw(vector.args["bytes"])) == before.layout.size]
        taken = [vector for vector in decoded if vector.ok is not None]
        if len(stale) > 2 * len(taken):
            refused = sum(vector.ok is None for vector in stale)
            yield (
                f"{new.release} was given {len(stale)} {before.kind.name} headers in the layout of {old.release} "
                f"and refused {refused}; what it takes in its own layout is captured once the questions know that layout."
            )
