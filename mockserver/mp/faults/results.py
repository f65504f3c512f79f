"""Faults of what a reply says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from mockserver.mp.faults.action import MpFault
from mockserver.mp.outgoing import Outgoing


@dataclass(frozen=True, slots=True)
class WrongType(MpFault):
    """Give a result of another type: a text for what is no text, a number for a text."""

    fault: ClassVar[str] = "wrong-type"
    part: ClassVar[str] = "result"
    example: ClassVar[str] = "wrong-type:operation=QUERY_PREFETCH_STATUS"
    stands_for: ClassVar[str] = (
        "A server of another release, where the same number is another operation. The reply is read as what was asked for, and "
        "must be refused where it is not that."
    )

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """Something else."""
        return replace(outgoing, result=7 if isinstance(outgoing.result, str) else "nothing of the kind")


@dataclass(frozen=True, slots=True)
class Refuse(MpFault):
    """Execute the request and say that it failed: ``false``, or ``success: false`` without data and slots."""

    fault: ClassVar[str] = "refuse"
    part: ClassVar[str] = "result"
    example: ClassVar[str] = "refuse:operation=PREPARE_RETRIEVE"
    stands_for: ClassVar[str] = (
        "Objects that went away between lookup and retrieve, a full pool, a commit that came too late. The request was answered "
        "and still did not succeed: the client must compute what it wanted to load."
    )

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """A failure, where the operation can tell one."""
        match outgoing.result:
            case bool():
                return replace(outgoing, result=False)
            case [bytes(), bool()]:
                return replace(outgoing, result=[b"", False])
            case {"success": _}:
                return replace(outgoing, result={"success": False, "data": b"", "context": {}})
        return outgoing


@dataclass(frozen=True, slots=True)
class StillRunning(MpFault):
    """Answer nil to a poll for a lookup, as while it runs; the lookup itself is left alone."""

    fault: ClassVar[str] = "still-running"
    part: ClassVar[str] = "result"
    before: ClassVar[bool] = True
    example: ClassVar[str] = "still-running:operation=QUERY_PREFETCH_STATUS,nth=1..3"
    stands_for: ClassVar[str] = (
        "A lookup that takes its time, as every one does whose chunks come from a slower tier. Nil is not 0: a client must ask "
        "again, and not for ever."
    )

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """Nil, where that is an answer."""
        if outgoing.operation.name in {"QUERY_PREFETCH_STATUS", "WAIT_PREFETCH_STATUS", "QUERY_PREFETCH_LOOKUP_HITS"}:
            return replace(outgoing, result=None)
        return outgoing


@dataclass(frozen=True, slots=True)
class ShrinkHits(MpFault):
    """Once a lookup's hits are told, lose the last chunks of them, locks and all."""

    chunks: int = 1
    fault: ClassVar[str] = "shrink-hits"
    part: ClassVar[str] = "store"
    example: ClassVar[str] = "shrink-hits:chunks=2,operation=QUERY_PREFETCH_STATUS"
    stands_for: ClassVar[str] = (
        "Locks that ran out, a CLEAR by another client, a tier that lost what it had. What the lookup promised is not there when "
        "it is fetched: the retrieve fails as a whole, and the client must have a way back."
    )

    def __post_init__(self) -> None:
        if self.chunks < 1:
            raise ValueError(f"chunks is a number from 1, not {self.chunks}")

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The same, with a store that has less."""
        if outgoing.operation.name in {"QUERY_PREFETCH_STATUS", "WAIT_PREFETCH_STATUS"} and outgoing.result:
            return replace(outgoing, shrinks=self.chunks)
        return outgoing


@dataclass(frozen=True, slots=True)
class SlotsOutside(MpFault):
    """Shift every slot so that it begins so many bytes before the end of the pool, or behind it (a negative number)."""

    by: int = 1
    fault: ClassVar[str] = "slots-outside"
    part: ClassVar[str] = "slots"
    example: ClassVar[str] = "slots-outside:by=-4096,operation=PREPARE_STORE"
    stands_for: ClassVar[str] = (
        "A server that was restarted with a smaller pool, or one that counts from another base. Whoever follows such a slot "
        "reads or writes beyond the mapping, and the process is gone; a client must compare each slot with the size of the pool."
    )

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """With other offsets."""
        return _with_slots(outgoing, lambda slot: {**slot, "offset": outgoing.pool_size - self.by})


@dataclass(frozen=True, slots=True)
class SlotLength(MpFault):
    """Give every slot a length that is so many bytes more, or less, than its shape and dtype need."""

    by: int = -1
    fault: ClassVar[str] = "slot-length"
    part: ClassVar[str] = "slots"
    example: ClassVar[str] = "slot-length:by=-2,operation=PREPARE_RETRIEVE"
    stands_for: ClassVar[str] = (
        "A server that was configured for another model or another chunk size. A client that copies its own number of bytes "
        "reaches into the next object; it must compare the length with what it wants to copy."
    )

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """With other lengths."""
        return _with_slots(outgoing, lambda slot: {**slot, "length": max(0, slot["length"] + self.by)})


def _with_slots(outgoing: Outgoing, change: Any) -> Outgoing:
    result = outgoing.result
    slots = result["context"].get("slots") if isinstance(result, Mapping) and "context" in result else None
    if not slots:
        return outgoing
    context = {**result["context"], "slots": [change(slot) for slot in slots]}
    return replace(outgoing, result={**result, "context": context})
