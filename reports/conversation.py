"""What crossed the wire before a case failed: who sent what when, segment by segment, of bounded size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Self, TypeAlias, get_args

from reports.plain import JsonObject, clip

Sender: TypeAlias = Literal["client", "server"]
What: TypeAlias = Literal["open", "data", "half-close", "close", "reset", "silence"]
WHATS: Final[tuple[What, ...]] = get_args(What)

EVENTS: Final = 60
"""Events of a case kept at most."""
BYTES: Final = 4096
"""Bytes of all its events together kept at most."""
LONGEST_LABEL: Final = 400


@dataclass(frozen=True)
class ConversationEvent:
    """One thing that happened on a connection. Labels may hold anything that a peer said: escape them."""

    at: float
    """Seconds since the conversation began."""
    connection: int
    """From 1; 0 for what happened to all of them."""
    sender: Sender | None
    """Who did it; None for silence of both."""
    what: What
    length: int = 0
    """Bytes that were sent."""
    data: bytes = b""
    """The first of them."""
    label: str = ""
    """What the bytes are, such as ``GET header``, or why it happened."""

    def to_json(self) -> JsonObject:
        """A member of ``events``; what says nothing is left out."""
        members: JsonObject = {"at": round(self.at, 6), "connection": self.connection, "from": self.sender, "what": self.what}
        if self.what == "data":
            members |= {"length": self.length, "data": self.data.hex()}
        if self.label:
            members["label"] = clip(self.label, LONGEST_LABEL)
        return members

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`."""
        return cls(
            at=data["at"],
            connection=data["connection"],
            sender=data["from"],
            what=data["what"],
            length=data.get("length", 0),
            data=bytes.fromhex(data.get("data", "")),
            label=data.get("label", ""),
        )


@dataclass(frozen=True)
class Conversation:
    """The events of a case in their order, and how many of them are not here."""

    seen_by: str
    """Who looked on, such as ``the mock``."""
    events: tuple[ConversationEvent, ...]
    left_out: int = 0
    """Events that happened before the event of index ``gap`` and are left out."""
    gap: int = 0

    @property
    def connections(self) -> int:
        """How many connections there are in it."""
        return len({event.connection for event in self.events if event.connection})

    def to_json(self) -> JsonObject:
        """The member ``conversation`` of a diagnosis."""
        return {
            "seen_by": self.seen_by,
            "events": [event.to_json() for event in self.events],
            "left_out": self.left_out,
            "gap": self.gap,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`."""
        return cls(
            seen_by=data["seen_by"],
            events=tuple(map(ConversationEvent.from_json, data["events"])),
            left_out=data.get("left_out", 0),
            gap=data.get("gap", 0),
        )
