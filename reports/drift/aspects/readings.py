"""What is taken for a key: each captured spelling of one part, and what a server and the key class make of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fixturegen.vector import Vector
from reports.drift.model import Aspect, Change, Example, Findings, Level, Levels, Side, Table, worst_of
from reports.drift.observe.evidence import Evidence, shared
from reports.drift.observe.keyreading import FIELDS, SERVER_OP
from reports.drift.observe.keystring import PART_WORDS, KeyString
from reports.drift.observe.observed import Observed
from reports.drift.words import alike, value
from reports.words import count, verb

CLASS_OP: Final = "parse_key"
WHOLE: Final = "whole key"
LONGEST: Final = 32
"""Characters of a spelling that a table shows whole."""
SHOWN: Final = 12
"""Spellings that a table shows."""


@dataclass(frozen=True)
class Reading:
    """One spelling that two releases read differently."""

    op: str
    role: str
    text: str
    before: str
    after: str
    levels: Levels
    example: Example


def compare(old: Observed, new: Observed) -> Findings:
    """Readings of the server and of the key class, one change for each part of the key."""
    found = Findings()
    readings: list[Reading] = []
    skipped = 0
    for op in (SERVER_OP, CLASS_OP):
        plain = (_usual(old.evidence, op, old.strings), _usual(new.evidence, op, new.strings))
        for before, after in shared(old.evidence, new.evidence, op):
            role = _role(before, after, old.strings, new.strings, plain)
            if role is None:
                skipped += 1
                continue
            reading = _reading(op, role, before, after, old, new)
            if reading:
                readings.append(reading)
                found.accounted.add(after.id)
    for role in dict.fromkeys(reading.role for reading in readings):
        found.changes.append(_change(old, new, role, [reading for reading in readings if reading.role == role]))
    if skipped:
        found.notes.append(
            f"{count(skipped, 'spelling')} of a key {verb(skipped, 'stands', 'stand')} in another key string in each release, "
            "so that they cannot be compared one by one."
        )
    return found


def _usual(evidence: Evidence, op: str, strings: KeyString | None) -> dict[str, str]:
    """The text that each part has in most of the captured spellings."""
    counts: dict[str, Counter[str]] = {}
    for vector in evidence.of(op):
        for role, text in _parts(strings, vector).items():
            counts.setdefault(role, Counter())[text] += 1
    return {role: counter.most_common(1)[0][0] for role, counter in counts.items()}


def _parts(strings: KeyString | None, vector: Vector) -> dict[str, str]:
    """The parts of a text by role; none where it has too few."""
    return (strings.split(vector.args["text"]) if strings else None) or {}


def _role(
    before: Vector,
    after: Vector,
    old: KeyString | None,
    new: KeyString | None,
    usual: tuple[dict[str, str], dict[str, str]],
) -> str | None:
    """The part that a spelling is about; None where the two releases were given texts that cannot be compared."""
    sides = _parts(old, before), _parts(new, after)
    if not all(sides):
        return WHOLE
    varied = {role for side, plain in zip(sides, usual, strict=True) for role, text in side.items() if plain.get(role) != text}
    if len(varied) != 1:
        return WHOLE if before.args == after.args or varied or _surrounded(after) else None
    (role,) = varied
    if sides[0].get(role) == sides[1].get(role):
        return role
    return WHOLE if before.args == after.args else None


def _surrounded(vector: Vector) -> bool:
    text = vector.args["text"]
    return bool(text != text.strip())


def _reading(op: str, role: str, before: Vector, after: Vector, old: Observed, new: Observed) -> Reading | None:
    if (before.ok is None) == (after.ok is None):
        differing = _differing(role, before, after, old, new)
        if not differing:
            return None
        if not differing <= set(_fields(role)):
            role = WHOLE
    fields = _fields(role)
    text = before.args["text"] if role == WHOLE else _parts(old.strings, before).get(role, "")
    return Reading(
        op=op,
        role=role,
        text=text,
        before=_words(before, fields),
        after=_words(after, fields),
        levels=_levels(op, before, after, usual=_as_written(old.strings, before, role)),
        example=Example(after.id, _side(before), _side(after)),
    )


def _differing(role: str, before: Vector, after: Vector, old: Observed, new: Observed) -> set[str]:
    """The members of two answers that differ although their part of the text is the same."""
    if before.ok is None or after.ok is None:
        return set()
    one, other = before.ok["key"], after.ok["key"]
    if before.args == after.args:
        names = one.keys() | other.keys()
    elif role == WHOLE:
        names = set()
    else:
        left, right = _parts(old.strings, before), _parts(new.strings, after)
        names = {field for part in left if left[part] == right.get(part) for field in _fields(part)}
    return {name for name in names if not alike(one.get(name), other.get(name))}


def _fields(role: str) -> tuple[str, ...]:
    return () if role == WHOLE else FIELDS.get(role, (role,))


def _words(vector: Vector, fields: tuple[str, ...]) -> str:
    """What a part was read as."""
    if vector.ok is None:
        return "refused"
    members = {name: found for name, found in vector.ok["key"].items() if name in fields or not fields}
    if fields == ("chunk_hash",):
        return _hash_words(vector.ok["key"]["chunk_hash"])
    if len(members) == 1:
        return value(next(iter(members.values())))
    return (
        ", ".join(
            f"{PART_WORDS.get(name, name)} {_tag_words(found)}" for name, found in members.items() if found not in (None, [])
        )
        or "ignored"
    )


def _hash_words(found: Mapping[str, str]) -> str:
    kind, text = next(iter(found.items()))
    return f"{ {'int': 'integer', 'text': 'text', 'bytes': 'bytes'}.get(kind, kind) } {_visible(text)}"


def _side(vector: Vector) -> Side:
    """What a whole text was read as."""
    return Side(f"{vector.args['text']!r}: {_words(vector, ())}")


def _tag_words(found: Any) -> str:
    if isinstance(found, list):
        return " ".join("%".join(map(str, tag)) for tag in found)
    return value(found)


def _as_written(strings: KeyString | None, vector: Vector, role: str) -> bool:
    """Whether the older release itself writes the key so."""
    if strings is None:
        return True
    text = vector.args["text"]
    if vector.ok is not None:
        written = strings.write(vector.ok["key"])
        if written == text:
            return True
    return role == "dtype" and _parts(strings, vector).get(role) in strings.dtypes.values()


def _levels(op: str, before: Vector, after: Vector, *, usual: bool) -> Levels:
    """See ``docs/reference/drift.md``: what the older release writes itself weighs more than other spellings."""
    server = op == SERVER_OP
    if before.ok is None:
        return Levels.all(Level.ADDITIVE) if server else Levels(Level.NONE, Level.ADDITIVE, Level.NONE)
    if after.ok is None and usual:
        return Levels.all(Level.BREAKING) if server else Levels(Level.NONE, Level.BREAKING, Level.NONE)
    if server:
        return Levels(Level.NONE, Level.BEHAVIOURAL if usual else Level.NONE, Level.BEHAVIOURAL)
    return Levels(Level.NONE, Level.BEHAVIOURAL, Level.NONE)


def _change(old: Observed, new: Observed, role: str, readings: Sequence[Reading]) -> Change:
    word = PART_WORDS.get(role, role)
    rows = _rows(readings)
    worst = min(readings, key=lambda reading: (-reading.levels.worst, reading.op != SERVER_OP))
    counts = _counts(readings)
    levels = worst_of(reading.levels for reading in readings)
    rule = _RULES.get(role, _no_rule)(old, new)
    return Change(
        Aspect.KEY_READING,
        f"Reading keys: {rule}" if rule else f"Reading keys: {counts} ({word})",
        levels,
        _must(old, new, word, levels),
        (worst.example,),
        detail=(f"Of the captured spellings of this part, {counts}.",) if rule else (),
        table=Table((word, old.release, new.release, "read by"), tuple(rows)),
        evidence=len(readings),
    )


def _counts(readings: Sequence[Reading]) -> str:
    """How many spellings were taken before and are not now, and so on."""
    refused = len({reading.text for reading in readings if reading.after == "refused"})
    taken = len({reading.text for reading in readings if reading.before == "refused"})
    otherwise = len({reading.text for reading in readings if "refused" not in (reading.before, reading.after)})
    phrases = (
        (taken, f"{taken} more {'is' if taken == 1 else 'are'} taken"),
        (refused, f"{refused} {'is' if refused == 1 else 'are'} refused"),
        (otherwise, f"{otherwise} {'is' if otherwise == 1 else 'are'} read otherwise"),
    )
    return ", ".join(phrase for number, phrase in phrases if number)


def _hash_rule(old: Observed, new: Observed) -> str:
    if not (old.reader and new.reader and old.reader.base != new.reader.base):
        return ""
    words = {"text": "text", "base 10": "a decimal integer", "base 16": "a hexadecimal integer"}
    return f"the hash is {words[new.reader.base]}, not {words[old.reader.base]}"


def _tail_rule(old: Observed, new: Observed) -> str:
    if not (old.reader and new.reader):
        return ""
    before, after = old.reader, new.reader
    found = []
    if before.layers != after.layers:
        found.append(f"a server {'takes' if after.layers else 'refuses'} a layer behind the fixed parts")
    if before.tags != after.tags:
        words = {"refused": "refused", "kept": "part of the key", "lost": "taken, but not part of what was read"}
        found.append(f"tags are {words[after.tags]} (before: {words[before.tags]})")
    return "; ".join(found)


def _no_rule(old: Observed, new: Observed) -> str:
    del old, new
    return ""


_RULES: Final = {"chunk_hash": _hash_rule, "tail": _tail_rule}


def _must(old: Observed, new: Observed, word: str, levels: Levels) -> str:
    if Level.BREAKING in (levels.stores, levels.loads):
        return (
            f"Do not send keys that are refused now ({word}): {old.release} itself writes some of them, "
            "and a server drops the connection."
        )
    if levels.worst is Level.ADDITIVE:
        return f"Nothing for keys that work with {old.release}."
    return f"Nothing, if keys are written as lmcache writes them; a server must read the {word} as {new.release} does."


def _rows(readings: Sequence[Reading]) -> list[tuple[str, ...]]:
    """Spellings with both outcomes; where server and key class agree, on one row."""
    merged: dict[tuple[str, str, str], list[str]] = {}
    for reading in readings:
        who = "server" if reading.op == SERVER_OP else "key class"
        merged.setdefault((reading.text, reading.before, reading.after), []).append(who)
    rows: list[tuple[str, ...]] = [
        (_visible(text), before, after, " and ".join(dict.fromkeys(who))) for (text, before, after), who in merged.items()
    ]
    left = len(rows) - SHOWN
    return rows[:SHOWN] + ([(f"... {left} more", "", "", "")] if left > 0 else [])


def _visible(text: str) -> str:
    shown = text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}...{text[-4:]}"
    return shown if text and text == text.strip() else repr(shown)
