"""Frames: what is written otherwise, and what is read otherwise, where neither table nor record says why."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final

from fixturegen.vector import Vector
from reports.drift.model import Aspect, Change, Example, Findings, Level, Levels, Side
from reports.drift.mp.observed import MpObserved, names_in, record_twins, twins
from reports.drift.mp.operations import payloads_differ, results_differ
from reports.drift.mp.records import differing
from reports.drift.observe.evidence import shared
from reports.drift.words import LONGEST_VALUE, alike
from reports.plain import clip
from reports.words import count, listing, verb
from wire.mp.types import Array, Map, Optional, Scalar, Tuple, Type, parse_type

WRITES: Final = ("mp_encode_request", "mp_encode_reply")
READS: Final = ("mp_decode_request", "mp_decode_reply")
NAMED: Final = 4
_EFFECTS: Final = {"the message thread dies": "fatal to the server", "the client's thread dies": "fatal to the client"}
Pair = tuple[Vector, Vector]


@dataclass(frozen=True)
class Explained:
    """Operations whose requests or replies differ because a table, a record or a wrapper does; by newer names."""

    requests: AbstractSet[str]
    replies: AbstractSet[str]

    def of(self, op: str) -> AbstractSet[str]:
        """Those that matter to a kind of vector."""
        return self.requests if op.endswith("_request") else self.replies


def compare(old: MpObserved, new: MpObserved) -> Findings:
    """Writing first, then reading."""
    found = Findings()
    explained = explain(old, new)
    for op in WRITES:
        found.add(list(_written(old, new, op, explained.of(op), found)))
    for op in READS:
        found.add(list(_read(old, new, op, explained.of(op), found)))
    return found


def explain(old: MpObserved, new: MpObserved) -> Explained:
    """Operations of which frames must differ."""
    renamed, records = record_twins(old, new), _with_those_inside(new, differing(old, new))
    requests: set[str] = set()
    replies: set[str] = set()
    for pair in twins(old, new):
        names = {pair.old.name, pair.new.name}
        if payloads_differ(pair, renamed) or any(_mentions(type_, records) for type_ in pair.new.payloads):
            requests |= names
        if results_differ(pair, renamed) or (pair.new.response is not None and _mentions(pair.new.response, records)):
            replies |= names
    return Explained(requests, replies)


def _with_those_inside(observed: MpObserved, names: AbstractSet[str]) -> set[str]:
    """Records, and those that hold one of them."""
    found = set(names)
    while True:
        more = {
            name
            for name, members in observed.records.items()
            if name not in found and any(set(names_in(parse_type(member.type))) & found for member in members.values())
        }
        if not more:
            return found
        found |= more


def _mentions(type_: Type, records: AbstractSet[str]) -> bool:
    return bool(set(names_in(type_)) & records) or _has_wrapper(type_)


def _has_wrapper(type_: Type) -> bool:
    match type_:
        case Optional(inner) | Array(inner):
            return _has_wrapper(inner)
        case Tuple(elements):
            return any(_has_wrapper(element) for element in elements)
        case Map(key, member):
            return _has_wrapper(key) or _has_wrapper(member)
    return type_ == Scalar("ext")


def not_compared(number: int, op: str) -> str:
    """That some inputs were not the same."""
    return f"{count(number, 'input')} of {op} {verb(number, 'is', 'are')} not the same in both captures, so not compared."


def _operation(observed: MpObserved, vector: Vector) -> str:
    """The operation that a vector is about, as far as its table knows it."""
    if "operation" in vector.args:
        return str(vector.args["operation"])
    if vector.ok is not None and "operation" in vector.ok:
        return str(vector.ok["operation"])
    words = vector.id.split(".")[3].replace("-", "_").upper()
    return words if words in observed.operations else ""


def _written(old: MpObserved, new: MpObserved, op: str, explained: AbstractSet[str], found: Findings) -> Iterator[Change]:
    differing_pairs: list[Pair] = []
    other = 0
    for before, after in shared(old.evidence, new.evidence, op):
        found.accounted.add(after.id)
        if _operation(new, after) in explained:
            continue
        if before.args != after.args:
            other += 1
        elif not _same_frames(before, after):
            differing_pairs.append((before, after))
    if other:
        found.notes.append(not_compared(other, op))
    if differing_pairs:
        before, after = differing_pairs[0]
        odd = all(_is_odd(old, vector) for vector, _ in differing_pairs)
        what = "odd message" if odd else "message"
        yield Change(
            Aspect.MP_FRAMES,
            f"{count(len(differing_pairs), what)} of {op} {verb(len(differing_pairs), 'is', 'are')} written otherwise",
            Levels.all(Level.BEHAVIOURAL if odd else Level.BREAKING),
            f"Write frames as {new.release} does: {listing((vector.id for _, vector in differing_pairs), NAMED)}.",
            (Example(after.id, side(before), side(after)),),
            evidence=len(differing_pairs),
        )


def _is_odd(observed: MpObserved, vector: Vector) -> bool:
    """Whether a release refuses to read what it wrote there: no caller that heeds the types does so."""
    read = observed.evidence.vectors.get(vector.id.replace(".encode.", ".decode.", 1))
    return read is not None and read.ok is None


def _same_frames(before: Vector, after: Vector) -> bool:
    """Whether the frames behind that of the operation are the same; two refusals are."""
    if before.ok is None or after.ok is None:
        return before.ok is after.ok
    return bool(before.ok["frames"][1:] == after.ok["frames"][1:])


@dataclass(frozen=True)
class _Kind:
    """One way in which a message is read otherwise."""

    before: str
    after: str


def _read(old: MpObserved, new: MpObserved, op: str, explained: AbstractSet[str], found: Findings) -> Iterator[Change]:
    groups: dict[_Kind, list[Pair]] = {}
    other = 0
    for before, after in shared(old.evidence, new.evidence, op):
        found.accounted.add(after.id)
        if _operation(new, after) in explained:
            continue
        if before.args["frames"][1:] != after.args["frames"][1:]:
            other += 1
            continue
        kinds = _fate(before), _fate(after)
        if kinds[0] != kinds[1] or (before.ok is not None and after.ok is not None and not _same_reading(before.ok, after.ok)):
            groups.setdefault(_Kind(*kinds), []).append((before, after))
    if other:
        found.notes.append(not_compared(other, op))
    own = _written_by(old, op)
    for kind, pairs in groups.items():
        yield _reading(new, op, kind, pairs, own)


def _fate(vector: Vector) -> str:
    if vector.ok is not None:
        return "read"
    effect = vector.outcome["error"].get("effect")
    return {"the message thread dies": "fatal to the server", "the client's thread dies": "fatal to the client"}.get(
        effect, "dropped"
    )


def _same_reading(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    rest = [{name: member for name, member in ok.items() if name != "operation"} for ok in (before, after)]
    return alike(*rest)


def _written_by(observed: MpObserved, op: str) -> set[tuple[str, ...]]:
    """The frames behind the operation of every message that the older release writes itself."""
    writer = op.replace("decode", "encode")
    return {tuple(frame["hex"] for frame in ok["frames"][1:]) for _, ok in observed.evidence.answered(writer)}


def _reading(new: MpObserved, op: str, kind: _Kind, pairs: Sequence[Pair], own: set[tuple[str, ...]]) -> Change:
    plain = kind.before == "read" and any(after.id.endswith(".plain") and _frames_behind(after) in own for _, after in pairs)
    level = Level.BREAKING if plain else Level.ADDITIVE if kind.after == "read" and kind.before != "read" else Level.BEHAVIOURAL
    request = op == "mp_decode_request"
    levels = (Levels.all(level) if plain else Levels(server=level)) if request else Levels.clients(level)
    what = count(len(pairs), "captured request" if request else "captured reply", None if request else "captured replies")
    words = f"{kind.before} -> {kind.after}" if kind.before != kind.after else "read as something else"
    before, after = pairs[0]
    return Change(
        Aspect.MP_READING,
        f"{what}: {words}",
        levels,
        f"Read them as {new.release} does: {listing((vector.id for _, vector in pairs), NAMED)}.",
        (Example(after.id, side(before), side(after)),),
        evidence=len(pairs),
    )


def _frames_behind(vector: Vector) -> tuple[str, ...]:
    return tuple(frame["hex"] for frame in vector.args["frames"][1:])


def side(vector: Vector) -> Side:
    """What a capture says about one input, and the bytes of its frames."""
    text = clip(vector.refusal if vector.ok is None else json.dumps(dict(vector.ok), ensure_ascii=False), LONGEST_VALUE)
    effect = vector.outcome["error"].get("effect") if vector.ok is None else None
    frames = vector.args.get("frames") or (vector.ok or {}).get("frames") or []
    return Side(f"{text}; {effect}" if effect else text, b"".join(bytes.fromhex(frame["hex"]) for frame in frames) or None)
