"""Numbers that stand for names in headers: commands, codes, formats, dtypes, locations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from fixturegen.vector import Vector, raw
from reports.drift.aspects.headers import frame_side
from reports.drift.model import Aspect, Change, Example, Findings, Level, Levels, Side
from reports.drift.observe.frames import SUBJECTS, Frames, flatten, subject_of
from reports.drift.observe.layout import Value
from reports.drift.observe.observed import Observed, frame_pairs
from reports.drift.words import name, outcome
from reports.words import listing

_STORING: Final = ("PUT",)
"""Commands of a client that stores; the others belong to one that loads."""


@dataclass(frozen=True)
class Row:
    """One name or number whose meaning changed, and the kinds of frame in which it did."""

    subject: str
    value: Value
    before: int | None
    after: int | None
    kinds: tuple[str, ...] = ()


def compare(old: Observed, new: Observed) -> Findings:
    """Numbers that encoders write and that decoders take, over all kinds of frame."""
    pairs = frame_pairs(old, new)
    found = Findings()
    for subject in SUBJECTS:
        concerned = [(one, other) for one, other in pairs if _has(one, subject) and _has(other, subject)]
        for rule in (_renamed, _renumbered, _added, _removed, _read_more, _read_less, _read_otherwise):
            rows = _merged(row for one, other in concerned for row in rule(subject, one, other))
            if rows:
                found.changes.append(_PHRASES[rule](old, new, subject, rows))
    return found


def _has(frames: Frames, subject: str) -> bool:
    return any(subject_of(place.name) == subject for place in frames.layout.fields)


def _merged(rows: Iterator[Row]) -> list[Row]:
    """The same row of several kinds of frame as one."""
    found: dict[Row, list[Row]] = {}
    for row in rows:
        found.setdefault(replace(row, kinds=()), []).append(row)
    return [replace(rows[0], kinds=tuple(kind for row in rows for kind in row.kinds)) for rows in found.values()]


def _renames(subject: str, one: Frames, other: Frames) -> dict[Value, Value]:
    """Old name to new name, where the number stayed, the old name is refused and a decoder gives the new one."""
    found = {}
    for value, number in one.written.get(subject, {}).items():
        now = other.read.get(subject, {}).get(number, value)
        refused = value in other.refused_names.get(subject, ())
        if refused and now != value and now not in one.written.get(subject, {}):
            found[value] = now
    return found


def _renamed(subject: str, one: Frames, other: Frames) -> Iterator[Row]:
    for value, now in _renames(subject, one, other).items():
        number = one.written[subject][value]
        yield Row(subject, f"{name(value)} -> {name(now)}", number, number, (one.kind.name,))


def _renumbered(subject: str, one: Frames, other: Frames) -> Iterator[Row]:
    before, after = one.written.get(subject, {}), other.written.get(subject, {})
    for value, number in before.items():
        if value in after and after[value] != number:
            yield Row(subject, value, number, after[value], (one.kind.name,))


def _added(subject: str, one: Frames, other: Frames) -> Iterator[Row]:
    before, after = one.written.get(subject, {}), other.written.get(subject, {})
    for value, number in after.items():
        if value not in before:
            yield Row(subject, value, None, number, (one.kind.name,))


def _removed(subject: str, one: Frames, other: Frames) -> Iterator[Row]:
    before, after = one.written.get(subject, {}), other.written.get(subject, {})
    renamed = _renames(subject, one, other)
    for value, number in before.items():
        if value not in after and value in other.refused_names.get(subject, ()) and value not in renamed:
            yield Row(subject, value, number, None, (one.kind.name,))


def _read_more(subject: str, one: Frames, other: Frames) -> Iterator[Row]:
    written = set(other.written.get(subject, {}).values())
    for number, value in other.read.get(subject, {}).items():
        if number in one.refused_numbers.get(subject, ()) and number not in written:
            yield Row(subject, value, None, number, (one.kind.name,))


def _read_less(subject: str, one: Frames, other: Frames) -> Iterator[Row]:
    moved = {row.before for row in _renumbered(subject, one, other)} | {row.before for row in _removed(subject, one, other)}
    for number, value in one.read.get(subject, {}).items():
        if number in other.refused_numbers.get(subject, ()) and number not in moved:
            yield Row(subject, value, number, None, (one.kind.name,))


def _read_otherwise(subject: str, one: Frames, other: Frames) -> Iterator[Row]:
    explained = {row.before for row in _renumbered(subject, one, other)} | {row.after for row in _renumbered(subject, one, other)}
    renamed = _renames(subject, one, other)
    for number, value in one.read.get(subject, {}).items():
        now = other.read.get(subject, {}).get(number, value)
        if now != value and number not in explained and renamed.get(value, value) != now:
            yield Row(subject, f"{name(value)} -> {name(now)}", number, number, (one.kind.name,))


def _phrase_renamed(old: Observed, new: Observed, subject: str, rows: Sequence[Row]) -> Change:
    return Change(
        Aspect.NUMBERS,
        f"{_plural(subject)} with another name and the same number: {listing(f'{row.value} ({row.before})' for row in rows)}",
        Levels(),
        "Nothing: the bytes on the wire are the same.",
        _examples(old, new, subject, rows),
        evidence=len(rows),
    )


def _phrase_renumbered(old: Observed, new: Observed, subject: str, rows: Sequence[Row]) -> Change:
    numbers = listing(f"{name(row.value)} {row.before} -> {row.after}" for row in rows)
    return Change(
        Aspect.NUMBERS,
        f"{_plural(subject)} with another number: {numbers}",
        _levels(subject, rows, Level.BREAKING),
        f"Write and read {numbers} in the field {subject} of {_frames(rows)}.",
        _examples(old, new, subject, rows),
        evidence=len(rows),
    )


def _phrase_added(old: Observed, new: Observed, subject: str, rows: Sequence[Row]) -> Change:
    names = listing(f"{name(row.value)} ({row.after})" for row in rows)
    return Change(
        Aspect.NUMBERS,
        f"New {subject}{'s' if len(rows) > 1 else ''}: {names}",
        _levels(subject, rows, Level.ADDITIVE),
        f"Nothing to keep working; expect {names} from others, and write it only to peers of {new.release} or later.",
        _examples(old, new, subject, rows),
        evidence=len(rows),
    )


def _phrase_removed(old: Observed, new: Observed, subject: str, rows: Sequence[Row]) -> Change:
    names = listing(f"{name(row.value)} ({row.before})" for row in rows)
    return Change(
        Aspect.NUMBERS,
        f"{_plural(subject)} that can no longer be written: {names}",
        _levels(subject, rows, Level.BREAKING),
        f"Do not write {names}.",
        _examples(old, new, subject, rows),
        evidence=len(rows),
    )


def _phrase_more(old: Observed, new: Observed, subject: str, rows: Sequence[Row]) -> Change:
    names = listing(f"{row.after} (read as {name(row.value)})" for row in rows)
    return Change(
        Aspect.NUMBERS,
        f"Decoders take more numbers for {subject}: {names}",
        _levels(subject, rows, Level.ADDITIVE),
        f"Nothing to keep working; expect {names} from others.",
        _examples(old, new, subject, rows),
        evidence=len(rows),
    )


def _phrase_less(old: Observed, new: Observed, subject: str, rows: Sequence[Row]) -> Change:
    written = {number for frames in (old.request, old.reply) if frames for number in frames.written.get(subject, {}).values()}
    level = Level.BREAKING if any(row.before in written for row in rows) else Level.BEHAVIOURAL
    names = listing(f"{row.before} ({name(row.value)})" for row in rows)
    return Change(
        Aspect.NUMBERS,
        f"Decoders refuse numbers for {subject} that they took: {names}",
        _levels(subject, rows, level),
        f"Do not write {names} in the field {subject}.",
        _examples(old, new, subject, rows),
        evidence=len(rows),
    )


def _phrase_otherwise(old: Observed, new: Observed, subject: str, rows: Sequence[Row]) -> Change:
    names = listing(f"{row.before} ({row.value})" for row in rows)
    return Change(
        Aspect.NUMBERS,
        f"Decoders read numbers for {subject} otherwise: {names}",
        _levels(subject, rows, Level.BREAKING),
        f"Read {names} in the field {subject} so.",
        _examples(old, new, subject, rows),
        evidence=len(rows),
    )


_PHRASES: Final[dict[Callable[..., Iterator[Row]], Callable[..., Change]]] = {
    _renamed: _phrase_renamed,
    _renumbered: _phrase_renumbered,
    _added: _phrase_added,
    _removed: _phrase_removed,
    _read_more: _phrase_more,
    _read_less: _phrase_less,
    _read_otherwise: _phrase_otherwise,
}


def _plural(subject: str) -> str:
    return f"{subject.capitalize()}s"


def _frames(rows: Sequence[Row]) -> str:
    kinds = dict.fromkeys(kind for row in rows for kind in row.kinds)
    return listing({"request": "requests", "reply": "replies"}.get(kind, "remote metadata") for kind in kinds)


def _levels(subject: str, rows: Sequence[Row], level: Level) -> Levels:
    kinds = {kind for row in rows for kind in row.kinds}
    if subject == "command":
        stores = any(row.value in _STORING for row in rows)
        loads = any(row.value not in _STORING for row in rows)
        return Levels(level if stores else Level.NONE, level if loads else Level.NONE, level)
    if subject == "code":
        return Levels(Level.NONE, level, level)
    return Levels(level, level, level if kinds & {"request", "reply"} else Level.NONE)


def _examples(old: Observed, new: Observed, subject: str, rows: Sequence[Row]) -> tuple[Example, ...]:
    """A captured frame for the first row: one that both releases were asked for if there is one."""
    row = rows[0]
    candidates: list[Example] = []
    for before, after in frame_pairs(old, new):
        if before.kind.name not in row.kinds:
            continue
        for vector in new.evidence.of(after.kind.encode):
            values, _ = flatten(vector.args, 0)
            if any(subject_of(field) == subject and value == row.value for field, value in values.items()):
                candidates.append(_example(old, before, after, vector))
        candidates += [
            _decoded(old, vector) for vector in new.evidence.of(after.kind.decode) if _holds(after, vector, subject, row)
        ]
    return tuple(sorted(candidates, key=lambda example: example.before is None)[:1])


def _holds(frames: Frames, vector: Vector, subject: str, row: Row) -> bool:
    data = raw(vector.args["bytes"])
    if len(data) != frames.layout.size or vector.op != frames.kind.decode:
        return False
    return any(
        subject_of(field) == subject and number in {row.before, row.after}
        for field, number in frames.layout.numbers(data).items()
    )


def _example(old: Observed, before: Frames, after: Frames, vector: Vector) -> Example:
    earlier = old.evidence.vectors.get(vector.id)
    same = earlier if earlier is not None and earlier.args == vector.args else None
    return Example(vector.id, None if same is None else _side(before, same), _side(after, vector))


def _side(frames: Frames, vector: Vector) -> Side:
    return outcome(vector) if vector.ok is None else frame_side(frames, raw(vector.ok["bytes"]))


def _decoded(old: Observed, vector: Vector) -> Example:
    earlier = old.evidence.vectors.get(vector.id)
    same = earlier if earlier is not None and earlier.args == vector.args else None
    return Example(vector.id, None if same is None else outcome(same), outcome(vector))
