"""Which bytes of a conversation are written down: all of them but long payloads, with pseudonyms in them if so wished.

Pseudonyms need whole messages. Where there are any, the segments of a message wait until it is whole, and are then written with
the lengths and the times that they had. What cannot be read as a message is left out of a redacted recording.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from harness.tap.event import OTHER, Event, Side
from harness.tap.keeper import KEPT_OF_A_PAYLOAD, Keeper
from harness.tap.listener import Listener, Piece
from harness.tap.mp.redact import Redactor
from harness.tap.mp.zmtp import KEPT, KEPT_FRAMES, Body, Broken, Command, Item, Message, Stream
from harness.tap.pseudonyms import Pseudonyms
from harness.tap.recording import NOTHING, Redacted

MOST_HELD: Final = 16 << 20
"""Bytes of a side that wait for the rest of a message; more are left out."""
_BYTES: Final = (0xC4, 0xC5, 0xC6)
_SHOWN_OF_STRANGERS: Final = 4
"""Bytes that say that somebody speaks HTTP or TLS, and nothing else."""
Stretch = tuple[int, int]


@dataclass
class _Side:
    stream: Stream = field(default_factory=lambda: Stream(keep_bodies=True))
    held: deque[tuple[int, Event]] = field(default_factory=deque)
    """Segments, each with its place in the stream, that are not written down yet."""
    size: int = 0
    settled: int = 0
    """The place in the stream up to which everything is decided."""
    changes: list[tuple[int, bytes]] = field(default_factory=list)
    gaps: list[Stretch] = field(default_factory=list)
    first: int | None = None
    """The first byte of the body that is under way."""


class MpKeeper(Keeper):
    """Makes of each event those that are written down."""

    def __init__(
        self,
        listener: Listener,
        *,
        limit: int = KEPT_OF_A_PAYLOAD,
        redacted: Redacted = NOTHING,
        pseudonyms: Pseudonyms | None = None,
    ) -> None:
        super().__init__(listener, limit=limit, redacted=redacted, pseudonyms=pseudonyms)
        self._kept = 0 if redacted.payloads else limit
        self._redactor = Redactor.of(redacted, pseudonyms or Pseudonyms()) if redacted else None
        self._sides: dict[tuple[int, Side], _Side] = {}

    def keep(self, event: Event, pieces: Sequence[Piece] = ()) -> list[Event]:
        """The events to write for one that happened, and for others that waited for it."""
        del pieces  # the framing is read here
        if event.do == "data":
            side = self._sides.setdefault((event.connection, event.side), _Side())
            return list(self._data(side, event))
        found: list[Event] = []
        ending = event.do in ("half-close", "close")
        for who in [event.side] if ending else list(OTHER):
            if event.do != "open":
                found += self._give_up(self._sides.pop((event.connection, who), _Side()))
        return [*found, event]

    def tick(self, now: float) -> list[Event]:
        """Nothing is written because time passes."""
        del now
        return []

    def finish(self) -> list[Event]:
        """Write down everything that still waits."""
        found = [event for side in self._sides.values() for event in self._give_up(side)]
        self._sides.clear()
        return sorted(found, key=lambda event: event.at)

    def _data(self, side: _Side, event: Event) -> Iterator[Event]:
        start = side.stream.offset
        side.held.append((start, event))
        side.size += event.size
        items = list(side.stream.feed(event.data) if event.length is None else side.stream.skip(event.length))
        for item in items:
            self._decide(side, item)
        self._leave_out(side)
        if self._redactor is None:
            waits = side.stream.mechanism == "PLAIN" and side.stream.pending and side.size < MOST_HELD
            side.settled = side.settled if waits else side.stream.offset
        elif side.stream.broken is not None:
            side.gaps.append((side.settled, side.stream.offset))
            side.settled = side.stream.offset
        elif side.size > MOST_HELD:
            side.gaps += [(body.offset, min(body.end, side.stream.offset)) for body in side.stream.bodies]
            side.settled = side.stream.offset
        yield from self._ready(side)

    def _decide(self, side: _Side, item: Item) -> None:
        """What is to be written of an item, and with that of everything before it."""
        match item:
            case Command(name=b"HELLO") if side.stream.mechanism == "PLAIN":  # name and password
                side.changes.append((item.end - len(item.data), bytes(len(item.data))))
            case Message() if self._redactor is not None:
                bodies = [frame.data for frame in item.frames]
                for frame, made in zip(item.frames, self._redactor.message(bodies), strict=True):
                    side.changes.append((frame.offset, made))
                    if not frame.whole:
                        side.gaps.append((frame.offset, frame.offset + frame.length))
                if item.count > KEPT_FRAMES:
                    side.gaps.append((item.frames[-1].offset + item.frames[-1].length, item.end))
            case Broken() if self._redactor is not None:
                shown = _SHOWN_OF_STRANGERS if item.offset == 0 else 1
                side.settled = min(item.offset + shown, side.stream.offset + _SHOWN_OF_STRANGERS)
                return
        side.settled = _end_of(item)

    def _leave_out(self, side: _Side) -> None:
        """Long bodies are written down in part."""
        while side.stream.bodies and side.stream.bodies[0].end <= (
            side.settled if self._redactor is not None else side.stream.offset
        ):
            self._leave_out_of(side, side.stream.bodies.popleft())
        if self._redactor is None and side.stream.bodies:
            self._leave_out_of(side, side.stream.bodies[0])

    def _leave_out_of(self, side: _Side, body: Body) -> None:
        if body.length <= min(self._kept, KEPT):
            return
        first = next(
            (event.data[body.offset - at] for at, event in side.held if at <= body.offset < at + len(event.data)), side.first
        )
        side.first = first
        limit = self._kept + 5 if first in _BYTES else KEPT
        if body.length > limit:
            side.gaps.append((body.offset + limit, body.end))

    def _give_up(self, side: _Side) -> Iterator[Event]:
        """Nothing comes any more: of a message that is not whole only its framing is written down."""
        if self._redactor is not None and side.settled < side.stream.offset:
            side.gaps.append((side.settled, side.stream.offset))
        side.settled = side.stream.offset
        yield from self._ready(side)

    def _ready(self, side: _Side) -> Iterator[Event]:
        """Segments of which everything is decided."""
        while side.held and side.held[0][0] + side.held[0][1].size <= side.settled:
            start, event = side.held.popleft()
            side.size -= event.size
            yield from _written(start, event, side.changes, side.gaps)
        at = side.held[0][0] if side.held else side.settled
        side.changes = [(place, made) for place, made in side.changes if place + len(made) > at]
        side.gaps = [(begin, end) for begin, end in side.gaps if end > at]
        if not side.gaps:
            side.first = None


def _end_of(item: Item) -> int:
    match item:
        case Message() | Command():
            return item.end
    return item.offset + 64


def _written(start: int, event: Event, changes: Sequence[tuple[int, bytes]], gaps: Sequence[Stretch]) -> Iterator[Event]:
    """A segment as it is written: with other bytes in their places, and without some."""
    if event.length is not None:
        yield event
        return
    data = bytearray(event.data)
    end = start + len(data)
    for place, made in changes:
        first, last = max(place, start), min(place + len(made), end)
        if first < last:
            data[first - start : last - start] = made[first - place : last - place]
    cuts: list[tuple[int, int, bool]] = []
    at = start
    for begin, stop in sorted(gaps):
        first, last = max(begin, at), min(stop, end)
        if first < last:
            cuts += [(at, first, False)] if at < first else []
            cuts.append((first, last, True))
            at = last
    cuts += [(at, end, False)] if at < end else []
    for index, (first, last, gap) in enumerate(cuts):
        more = event.more or index + 1 < len(cuts)
        if gap:
            yield replace(event, data=b"", length=last - first, more=more)
        else:
            yield replace(event, data=bytes(data[first - start : last - start]), more=more)
