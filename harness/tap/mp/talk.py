"""What happens on the connections of a recording, message by message, whatever the segments were."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from harness.tap.event import Event, Side
from harness.tap.mp.parts import Parts
from harness.tap.mp.zmtp import Broken, Command, Greeting, Message, Stream

Deed = Literal["open", "end", "reset", "error"]


@dataclass(frozen=True)
class Seen:
    """One thing that a side did."""

    at: float
    """Seconds from the start of the recording to its last byte."""
    connection: int
    side: Side
    what: Greeting | Command | Parts | Broken | Deed
    text: str = ""
    """The peer of an ``open``, what was unfinished at an ``end``, the reason of an ``error``."""


@dataclass
class Talk:
    """Reads the events of a recording, in their order."""

    _streams: dict[tuple[int, Side], Stream] = field(default_factory=dict)

    def feed(self, event: Event) -> Iterator[Seen]:
        """What an event brought to its end."""
        place = event.connection, event.side
        match event.do:
            case "open":
                yield Seen(event.at, *place, "open", event.text)
            case "data":
                stream = self._streams.setdefault(place, Stream())
                items = stream.feed(event.data) if event.length is None else stream.skip(event.length)
                for item in items:
                    yield Seen(event.at, *place, Parts.of(item) if isinstance(item, Message) else item)
            case "half-close" | "close":
                stream = self._streams.pop(place, Stream())
                yield Seen(event.at, *place, "end", stream.pending)
            case "reset":
                stream = self._streams.pop(place, Stream())
                yield Seen(event.at, *place, "reset", stream.pending)
            case "error":
                yield Seen(event.at, *place, "error", event.reason)

    def pending(self) -> Iterator[tuple[int, Side, str]]:
        """What has begun and not ended on connections that are open."""
        for (connection, side), stream in self._streams.items():
            if stream.pending:
                yield connection, side, stream.pending
