"""Registration blobs: the form in which a KV tensor wrapper crosses, and which classes there are."""

from __future__ import annotations

import pickletools
from collections.abc import Iterator
from typing import Final

from fixturegen.vector import Vector
from reports.drift.model import Aspect, Change, Example, Findings, Level, Levels, Side
from reports.drift.mp.frames import side
from reports.drift.mp.observed import MpObserved
from reports.drift.observe.evidence import shared
from reports.words import count, listing, verb
from wire.errors import WireError
from wire.mp.values import unpack

WRITES: Final = "mp_encode_registration"
READS: Final = "mp_decode_registration"
NAMED: Final = 6


def compare(old: MpObserved, new: MpObserved) -> Findings:
    """Blobs that the same wrapper of the same fields becomes, and classes that came or went."""
    found = Findings()
    found.accounted |= {vector.id for op in (WRITES, READS) for vector in new.evidence.of(op)}
    found.add(list(_forms(old, new)))
    found.add(list(_classes(old, new)))
    found.add(list(_readings(old, new)))
    return found


def form_of(blob: bytes) -> str:
    """The form of a blob in words. A pickle's instructions are listed and never executed."""
    if blob[:1] == b"\x80" and blob[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05") and len(blob) > 2:
        return f"a pickle of {_class_in(blob)}"
    try:
        value = unpack(blob)
    except WireError:
        return "bytes of an unknown form"
    return f"a map of type {value.get('type')}" if isinstance(value, dict) else f"a msgpack {type(value).__name__}"


def _class_in(blob: bytes) -> str:
    texts: list[str] = []
    try:
        for instruction, argument, _ in pickletools.genops(blob):
            if isinstance(argument, str):
                texts.append(argument)
            if instruction.name == "STACK_GLOBAL":
                return ".".join(texts[-2:])
            if instruction.name == "GLOBAL":
                return str(argument).replace(" ", ".")
    except ValueError:
        pass
    return "no class that could be found"


def _blob(vector: Vector) -> bytes:
    return bytes.fromhex(vector.answer["bytes"]["hex"])


def _forms(old: MpObserved, new: MpObserved) -> Iterator[Change]:
    groups: dict[tuple[str, str], list[tuple[Vector, Vector]]] = {}
    for before, after in shared(old.evidence, new.evidence, WRITES):
        if before.args["wrapper"] == after.args["wrapper"] and before.ok != after.ok and before.ok and after.ok:
            groups.setdefault((form_of(_blob(before)), form_of(_blob(after))), []).append((before, after))
    for (one, other), pairs in groups.items():
        before, after = pairs[0]
        if one == other and all(before.args != after.args for before, after in pairs):
            continue
        what = f"{one} -> {other}" if one != other else f"{one}, with other bytes"
        yield Change(
            Aspect.MP_REGISTRATION,
            f"{after.args['wrapper']} crosses otherwise: {what}",
            Levels.all(Level.BREAKING),
            f"Register with {other}, which {old.release} does not load; an engine whose registration is dropped waits for ever.",
            (Example(after.id, Side(one, _blob(before)), Side(other, _blob(after))),),
            evidence=len(pairs),
        )


def _wrappers(observed: MpObserved) -> dict[str, Vector]:
    found: dict[str, Vector] = {}
    for vector, _ in observed.evidence.answered(WRITES):
        found.setdefault(vector.args["wrapper"], vector)
    return found


def _classes(old: MpObserved, new: MpObserved) -> Iterator[Change]:
    before, after = _wrappers(old), _wrappers(new)
    gained = [name for name in after if name not in before]
    lost = [name for name in before if name not in after]
    if gained:
        vector = after[gained[0]]
        yield Change(
            Aspect.MP_REGISTRATION,
            f"{count(len(gained), 'new wrapper')} of KV tensors: {listing(gained, NAMED)}",
            Levels.all(Level.ADDITIVE),
            f"Register with {verb(len(gained), 'it', 'them')} only at servers of {new.release} or later.",
            (Example(vector.id, None, Side(form_of(_blob(vector)), _blob(vector))),),
            evidence=len(gained),
        )
    if lost:
        vector = before[lost[0]]
        yield Change(
            Aspect.MP_REGISTRATION,
            f"{count(len(lost), 'wrapper')} of KV tensors gone: {listing(lost, NAMED)}",
            Levels.clients(Level.BREAKING),
            "Register with another wrapper.",
            (Example(vector.id, Side(form_of(_blob(vector)), _blob(vector)), None),),
            evidence=len(lost),
        )


def _readings(old: MpObserved, new: MpObserved) -> Iterator[Change]:
    differing = [
        (before, after)
        for before, after in shared(old.evidence, new.evidence, READS)
        if before.args == after.args and (before.ok is None) != (after.ok is None)
    ]
    if differing:
        before, after = differing[0]
        yield Change(
            Aspect.MP_REGISTRATION,
            f"{count(len(differing), 'captured blob')} {verb(len(differing), 'is', 'are')} loaded by one of the two alone",
            Levels(server=Level.BEHAVIOURAL),
            f"Refuse and load what {new.release} does: {listing((vector.id for _, vector in differing), NAMED)}.",
            (Example(after.id, side(before), side(after)),),
            evidence=len(differing),
        )
