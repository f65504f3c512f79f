"""Faults of time: a reply that comes in pieces, late, or not to its end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from mockserver.faults.action import ReplyFault, require_seconds
from mockserver.faults.outgoing import Outgoing, Pace
from mockserver.faults.place import Anchor, Place, require_place, resolve


@dataclass(frozen=True, slots=True)
class Segments(ReplyFault):
    """Deliver the reply in separate sends of these ``sizes``; the last one is repeated, over the border of header and body.

    A place such as ``body`` among the sizes means a send up to there; behind a last one the rest goes in one piece. Between
    two sends the server waits until the peer has read everything, at most ``patience`` seconds, and then ``pause`` seconds.
    """

    sizes: tuple[Place, ...]
    pause: float = 0.0
    patience: float = 0.5

    fault: ClassVar[str] = "segments"
    part: ClassVar[str] = "segments"
    example: ClassVar[str] = "segments:sizes=10+26"
    stands_for: ClassVar[str] = (
        "TCP is a stream: a reply of 36 bytes may arrive as 10 and then 26, when it meets the end of a packet, a full window, "
        "a retransmission or a proxy. It happens now and then on every real network, and never on a quiet loopback, which is "
        "why clients that read a header with one recv pass their own tests."
    )

    def __post_init__(self) -> None:
        if not self.sizes or any(isinstance(size, int) and size < 1 for size in self.sizes):
            shown = "+".join(map(str, self.sizes))
            raise ValueError(f"segments need one size or more, each at least 1 byte; got {shown or 'none'}")
        if any(isinstance(size, Anchor) and size.offset for size in self.sizes):
            raise ValueError("a place among sizes takes no distance, since + stands between the sizes")
        require_seconds("pause", self.pause)
        require_seconds("patience", self.patience)

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The reply, cut into sends; a request without a reply stays as it is."""
        if not outgoing.size:
            return outgoing
        return replace(outgoing, pace=Pace(self._in_bytes(outgoing), self.pause, self.patience))

    def _in_bytes(self, outgoing: Outgoing) -> tuple[int, ...]:
        sizes: list[int] = []
        for size in self.sizes:
            up_to = resolve(size, outgoing) - sum(sizes)
            if isinstance(size, int) or up_to > 0:
                sizes.append(size if isinstance(size, int) else up_to)
        if isinstance(self.sizes[-1], Anchor):
            sizes.append(max(1, outgoing.size))
        return tuple(sizes)


@dataclass(frozen=True, slots=True)
class Delay(ReplyFault):
    """Wait so many ``seconds`` before the reply; after a PUT, which has none, before the next request is read."""

    seconds: float

    fault: ClassVar[str] = "delay"
    part: ClassVar[str] = "delay"
    example: ClassVar[str] = "delay:seconds=0.5"
    stands_for: ClassVar[str] = (
        "A server that is slow for once: it swaps, it waits for a lock, the network is congested, the process was paused. "
        "A client with a timeout must not take the late reply for the answer to its next request."
    )

    def __post_init__(self) -> None:
        require_seconds("seconds", self.seconds)

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The reply, later."""
        return replace(outgoing, delay=self.seconds)


@dataclass(frozen=True, slots=True)
class Stall(ReplyFault):
    """Send the reply up to the place ``bytes`` (nothing by default), then neither send nor read until the peer closes."""

    bytes: Place = 0

    fault: ClassVar[str] = "stall"
    part: ClassVar[str] = "end"
    example: ClassVar[str] = "stall:bytes=body+3"
    stands_for: ClassVar[str] = (
        "A server that hangs with its connections open: a deadlock, a stopped container, a machine that lost power behind a "
        "firewall that drops packets. No error ever arrives. A client without a timeout takes its serving engine down with it."
    )

    def __post_init__(self) -> None:
        require_place("bytes", self.bytes)

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The reply, up to where it stalls."""
        return replace(outgoing, cut=resolve(self.bytes, outgoing), last="stall", ending=None)


@dataclass(frozen=True, slots=True)
class StopReading(ReplyFault):
    """Send the whole reply, and then read no further request; the connection stays open until the peer closes it."""

    fault: ClassVar[str] = "stop-reading"
    part: ClassVar[str] = "end"
    example: ClassVar[str] = "stop-reading:command=PUT"
    stands_for: ClassVar[str] = (
        "A server that is out of memory or stuck in a handler, while its kernel still acknowledges what arrives. The client's "
        "requests vanish into socket buffers, and once those are full a put blocks in the middle of its payload. A client "
        "must bound its sends as it bounds its reads."
    )

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The reply, and the silence behind it."""
        return replace(outgoing, last="stall", ending=None)
