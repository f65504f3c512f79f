"""What understands a wire and listens to its conversations, live or from a recording."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from harness.tap.event import Event, Side
from harness.tap.finding import Finding
from harness.tap.guess import Guess
from harness.tap.pseudonyms import Pseudonyms

Kind: TypeAlias = Literal["frame", "key", "payload", "noise"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of one segment, as the framing of the wire sees it."""

    length: int
    kind: Kind
    """``payload`` may be left out of a recording, ``key`` may be redacted, ``noise`` is what is none of them and may hold
    either, so that a redacted recording has none of it; ``frame`` is kept as it is."""
    ends: bool = False
    """The key or the payload that it belongs to ends with it; what follows belongs to another."""


class Listener(Protocol):
    """Hears every event of every connection in order. It never raises, whatever bytes come."""

    def hear(self, event: Event) -> Iterable[Finding]:
        """What an event shows. Of a payload that was left out (``event.length``) only the number of bytes is there."""

    def pieces(self) -> Sequence[Piece]:
        """How the segment that was heard last divides; together they are as long as it."""

    def redact(self, key: bytes, pseudonyms: Pseudonyms) -> bytes:
        """A whole key, all pieces of it together, with pseudonyms in it; as long as it was."""

    def tick(self, now: float) -> Iterable[Finding]:
        """What shows because nothing happened until now, such as a request that stays without a reply."""

    def finish(self, now: float) -> Iterable[Finding]:
        """What shows at the end of everything."""

    def guess(self, who: Side) -> Guess:
        """What release a side seems to be, from everything heard so far."""
