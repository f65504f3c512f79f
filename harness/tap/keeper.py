"""Which bytes of a conversation are written down: headers whole, payloads up to a limit, keys as pseudonyms if so wished."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from harness.tap.event import OTHER, Event, Side
from harness.tap.listener import Listener, Piece
from harness.tap.pseudonyms import Pseudonyms
from harness.tap.recording import NOTHING, Redacted

KEPT_OF_A_PAYLOAD: Final = 4096
"""Bytes of each payload that are written down unless another limit is given."""
_LONGEST_RUN: Final = 1.0
"""Seconds after which payload that is left out is written down as so many bytes, although more of it may come."""
_MOST_HELD: Final = 4096
"""Events of one connection that wait for the rest of a key."""


@dataclass
class _KeyPart:
    """Part of a key, which can be written down once the whole is known."""

    event: Event
    place: int
    """Where in the key it begins."""
    key: bytearray


@dataclass
class _Stream:
    """What one side of one connection sends."""

    kept: int = 0
    """Bytes of the payload that are written down."""
    digest: hashlib._Hash | None = None
    """Of the payload so far; None outside of payloads."""
    noise: bool = False
    """What passes is no payload, or one of which nobody saw where it began: it has no digest."""
    run: Event | None = None
    """Payload that is left out, and not yet written down."""
    key: bytearray = field(default_factory=bytearray)
    """The part of a key that is there."""


@dataclass
class _Connection:
    told: Callable[[str], str]
    """What is written down of a digest."""
    streams: dict[Side, _Stream] = field(default_factory=lambda: {"client": _Stream(), "server": _Stream()})
    waiting: list[Event | _KeyPart] = field(default_factory=list)
    """In order; a part of a key holds up what is behind it."""

    def end_run(self, side: Side) -> None:
        """Payload that is left out is told up to here."""
        stream = self.streams[side]
        if stream.run is not None and stream.digest is not None:
            digest = "" if stream.noise else self.told(stream.digest.hexdigest())
            self.waiting.append(replace(stream.run, sha256=digest))
        stream.run = None

    def name(self, key: bytearray, made: bytes) -> None:
        """The parts of a key become those of its pseudonym."""
        for index, held in enumerate(self.waiting):
            if isinstance(held, _KeyPart) and held.key is key:
                self.waiting[index] = replace(held.event, data=made[held.place : held.place + len(held.event.data)])

    def give_up(self) -> None:
        """No key that is not whole will ever be: what there is of it is blotted out."""
        for stream in self.streams.values():
            self.name(stream.key, b"x" * len(stream.key))
            stream.key = bytearray()

    def ready(self) -> list[Event]:
        """What can be written down now."""
        found: list[Event] = []
        for held in self.waiting:
            if isinstance(held, _KeyPart):
                break
            found.append(held)
        del self.waiting[: len(found)]
        return [event for event in found if event.do != "data" or event.size]


class Keeper:
    """Makes of each event those that are written down."""

    def __init__(
        self,
        listener: Listener,
        *,
        limit: int = KEPT_OF_A_PAYLOAD,
        redacted: Redacted = NOTHING,
        pseudonyms: Pseudonyms | None = None,
    ) -> None:
        self._listener = listener
        self._limit = 0 if redacted.payloads else limit
        self._redacted = redacted
        self._pseudonyms = pseudonyms or Pseudonyms()
        self._connections: dict[int, _Connection] = {}

    def keep(self, event: Event, pieces: Sequence[Piece]) -> list[Event]:
        """The events to write for one that happened, and for others that waited for it."""
        connection = self._connections.get(event.connection)
        if connection is None:
            connection = self._connections[event.connection] = _Connection(self._told)
        if event.do == "data":
            self._keep_data(connection, event, pieces)
        else:
            for side in OTHER:
                connection.end_run(side)
            connection.waiting.append(event)
        over = event.do in {"close", "reset", "error"}
        if over or len(connection.waiting) > _MOST_HELD:
            connection.give_up()
        if over:
            del self._connections[event.connection]
        return connection.ready()

    def tick(self, now: float) -> list[Event]:
        """Write down what has waited for long."""
        found: list[Event] = []
        for connection in self._connections.values():
            for side, stream in connection.streams.items():
                if stream.run is not None and now - stream.run.at > _LONGEST_RUN:
                    connection.end_run(side)
                    found += connection.ready()
        return found

    def finish(self) -> list[Event]:
        """Write down everything that still waits."""
        found: list[Event] = []
        for connection in self._connections.values():
            for side in OTHER:
                connection.end_run(side)
            connection.give_up()
            found += connection.ready()
        self._connections.clear()
        return found

    def _keep_data(self, connection: _Connection, event: Event, pieces: Iterable[Piece]) -> None:
        connection.end_run(OTHER[event.side])
        stream = connection.streams[event.side]
        place = 0
        for piece in pieces:
            end = place + piece.length
            part = event if piece.length == event.size else _cut(event, place, end)
            place = end
            if piece.kind != "payload" and not (piece.kind == "noise" and stream.noise):
                connection.end_run(event.side)
                stream.noise, stream.digest = piece.kind == "noise", None
            if piece.kind in {"payload", "noise"}:
                self._keep_payload(connection, stream, part, ends=piece.ends)
                continue
            if piece.kind == "key" and self._redacted.keys and part.length is None:
                connection.waiting.append(_KeyPart(part, len(stream.key), stream.key))
                stream.key += part.data
                if piece.ends:
                    connection.name(stream.key, self._listener.redact(bytes(stream.key), self._pseudonyms))
                    stream.key = bytearray()
            else:
                connection.waiting.append(part)

    def _keep_payload(self, connection: _Connection, stream: _Stream, part: Event, *, ends: bool) -> None:
        if part.length is not None:  # left out when it was recorded, and so were its digests
            connection.end_run(part.side)
            connection.waiting.append(replace(part, sha256=self._told(part.sha256) if part.sha256 else ""))
            return
        if stream.digest is None:
            stream.digest = hashlib.sha256()
            stream.kept = 0
        stream.digest.update(part.data)
        room = 0 if stream.noise and self._redacted else max(0, self._limit - stream.kept)
        left_out = len(part.data) - room
        if room:
            stream.kept += min(room, len(part.data))
            connection.waiting.append(_cut(part, 0, room) if left_out > 0 else part)
        if left_out > 0:
            if stream.run is None:
                stream.run = replace(part, data=b"", length=left_out)
            else:
                stream.run = replace(stream.run, length=(stream.run.length or 0) + left_out, until=part.at, more=part.more)
        if ends:
            connection.end_run(part.side)
            stream.digest, stream.noise = None, False

    def _told(self, digest: str) -> str:
        return self._pseudonyms.digest(digest) if self._redacted.payloads else digest


def _cut(event: Event, place: int, end: int) -> Event:
    """A stretch of a segment."""
    more = event.more or end < event.size
    if event.length is not None:
        return replace(event, length=end - place, more=more)
    return replace(event, data=event.data[place:end], more=more)
