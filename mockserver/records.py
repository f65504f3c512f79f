"""What a journal holds: connections, exchanges, and the segments that crossed the wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from mockserver.endings import Ending
from mockserver.payloads import SeenPayload


class Segment(NamedTuple):
    """Bytes that one receive or one send moved, and when (``time.monotonic``)."""

    at: float
    size: int


Moved = list[float]
"""Segments in their order, each as two numbers: when, and the size, below zero for what was sent."""


def segments(moved: Moved) -> tuple[tuple[Segment, ...], tuple[Segment, ...]]:
    """What was received and what was sent, of a list that may grow meanwhile."""
    pairs = list(zip(*[iter(tuple(moved))] * 2, strict=False))
    came = tuple(Segment(at, int(size)) for at, size in pairs if size > 0)
    return came, tuple(Segment(at, -int(size)) for at, size in pairs if size < 0)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and what the server did about it, as far as it had got when the journal was asked.

    ``command`` is the name, or the number as text where it has none. ``reply_header`` is what the reply began with after
    faults (empty where there is no reply), ``reply_body_length`` what was to follow; what left is in ``segments_out``.
    """

    connection: int
    """Number of the connection, from 1, in order of acceptance."""
    number: int
    """Number of the exchange on its connection, from 1."""
    command: str
    key: str
    """The key field as text, without the padding."""
    header: bytes
    segments_in: tuple[Segment, ...]
    received: SeenPayload | None = None
    reply_header: bytes = b""
    reply_body_length: int = 0
    segments_out: tuple[Segment, ...] = ()
    faults: tuple[str, ...] = ()
    """The faults that took effect, as ``--fault`` would spell them."""
    ending: Ending | None = None
    """Set where the connection ended in this exchange."""
    done: bool = False

    @property
    def payload_length(self) -> int:
        """Bytes of payload that arrived; 0 where none was due."""
        return self.received.length if self.received else 0

    @property
    def payload_sha256(self) -> str | None:
        """Hex digest of the payload that arrived; None where none was due."""
        return self.received.sha256 if self.received else None

    @property
    def payload(self) -> bytes | None:
        """The payload that arrived, if it is small enough to be kept."""
        return self.received.data if self.received else None

    @property
    def bytes_in(self) -> int:
        """Bytes of this request that arrived, header and payload."""
        return sum(segment.size for segment in self.segments_in)

    @property
    def bytes_out(self) -> int:
        """Bytes that left in reply."""
        return sum(segment.size for segment in self.segments_out)


class RunningExchange:
    """An exchange in the hands of its connection's thread, which fills it in; the journal gives out snapshots.

    There is one for each request, so it is small: what crossed the wire is one list of numbers.
    """

    __slots__ = (
        *("command", "connection", "done", "ending", "faults", "header", "key", "moved", "number", "received"),
        *("reply_body_length", "reply_header"),
    )

    def __init__(self, connection: int, number: int, command: str, key: str, header: bytes, moved: Moved) -> None:
        self.connection = connection
        self.number = number
        self.command = command
        self.key = key
        self.header = header
        self.moved = moved
        self.received: SeenPayload | None = None
        self.reply_header = b""
        self.reply_body_length = 0
        self.faults: tuple[str, ...] = ()
        self.ending: Ending | None = None
        self.done = False
        """Set last, when nothing changes any more."""

    def snapshot(self) -> Exchange:
        """The exchange as it is now."""
        done = self.done
        came, left = segments(self.moved)
        return Exchange(
            connection=self.connection,
            number=self.number,
            command=self.command,
            key=self.key,
            header=self.header,
            segments_in=came,
            received=self.received,
            reply_header=self.reply_header,
            reply_body_length=self.reply_body_length,
            segments_out=left,
            faults=self.faults,
            ending=self.ending,
            done=done,
        )


@dataclass(frozen=True, slots=True)
class ConnectionRecord:
    """One connection: who came, when, and how it ended."""

    number: int
    peer: str
    opened_at: float
    closed_at: float | None = None
    ending: Ending | None = None
    unfinished: bytes = b""
    """The first bytes of a request whose header never became whole."""
    faults: tuple[str, ...] = ()
    """The faults that it met before it was accepted, as ``--fault`` would spell them."""

    @property
    def is_open(self) -> bool:
        """Whether the server still serves it."""
        return self.ending is None
