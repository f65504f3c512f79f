"""Object keys: which objects of the server's store a key record means, and their names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from fixturegen.vector import Vector
from reports.drift.model import Aspect, Change, Example, Findings, Level, Levels, Side
from reports.drift.mp.frames import not_compared
from reports.drift.mp.observed import MpObserved
from reports.drift.observe.evidence import shared
from reports.drift.words import LONGEST_VALUE, alike
from reports.plain import clip
from reports.words import count, listing

OP: Final = "mp_object_keys"
NAMED: Final = 4
PLAIN: Final = "two-chunks"
"""How inputs end that say nothing odd."""


def compare(old: MpObserved, new: MpObserved) -> Findings:
    """The objects of the same key records."""
    found = Findings(accounted={vector.id for vector in new.evidence.of(OP)})
    pairs = list(shared(old.evidence, new.evidence, OP))
    other = sum(before.args != after.args for before, after in pairs)
    if other:
        found.notes.append(not_compared(other, OP))
    same = [(before, after) for before, after in pairs if before.args == after.args]
    found.add(list(_hashes(new, same)))
    found.add(list(_names(new, same)))
    return found


def _hashes(new: MpObserved, pairs: list[tuple[Vector, Vector]]) -> Iterator[Change]:
    """Chunks of the same tokens that have another hash, or ranks that are numbered otherwise."""
    differing = [pair for pair in pairs if _identity(pair[0]) != _identity(pair[1])]
    if differing:
        plain = any(after.id.endswith(PLAIN) for _, after in differing)
        yield _change(new, differing, "mean other objects", Level.BREAKING if plain else Level.BEHAVIOURAL)


def _names(new: MpObserved, pairs: list[tuple[Vector, Vector]]) -> Iterator[Change]:
    differing = [
        (before, after)
        for before, after in pairs
        if _identity(before) == _identity(after) and before.ok and after.ok and not alike(_named(before), _named(after))
    ]
    if differing:
        yield _change(new, differing, "name their objects otherwise", Level.BREAKING)


def _identity(vector: Vector) -> object:
    if vector.ok is None:
        return None
    return [(key["chunk_hash"], key["model_name"], key["kv_rank"]) for key in vector.ok["keys"]]


def _named(vector: Vector) -> object:
    return vector.answer.get("names", [key.get("text") for key in vector.answer["keys"]])


def _change(new: MpObserved, pairs: list[tuple[Vector, Vector]], what: str, level: Level) -> Change:
    before, after = pairs[0]
    return Change(
        Aspect.MP_OBJECTS,
        f"{count(len(pairs), 'captured key record')} {what}",
        Levels(server=level),
        f"Name objects as {new.release} does; what an older server left in a shared second tier is not found: "
        f"{listing((vector.id for _, vector in pairs), NAMED)}.",
        (Example(after.id, _side(before), _side(after)),),
        evidence=len(pairs),
    )


def _side(vector: Vector) -> Side:
    if vector.ok is None:
        return Side(vector.refusal)
    names = _named(vector)
    first = names[0] if isinstance(names, list) and names else names
    return Side(clip(str(first) if first else json.dumps(vector.ok["keys"][:1]), LONGEST_VALUE))
