"""The faults that act on one reply: pacing, silence, cuts, and wrong header fields."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from mockserver.endings import Ending
from mockserver.faults.action import Action, NotApplicableError
from mockserver.faults.outgoing import LastStep, Outgoing, Pace
from wire.lm.frames import replace_field

_INT32 = range(-(2**31), 2**31)


@dataclass(frozen=True, slots=True)
class Segments(Action):
    """Deliver the reply in separate sends of these sizes; the last size is repeated, over the border of header and body."""

    sizes: tuple[int, ...]
    pause: float = 0.0
    patience: float = 0.5

    fault: ClassVar[str] = "segments"
    stands_for: ClassVar[str] = (
        "TCP is a stream: a reply of 36 bytes may arrive as 10 and then 26, when it meets the end of a packet, a full window, "
        "a retransmission or a proxy. It happens now and then on every real network, and never on a quiet loopback, which is "
        "why clients that read a header with one recv pass their own tests."
    )

    def __post_init__(self) -> None:
        if not self.sizes or any(size < 1 for size in self.sizes):
            raise ValueError(f"segments need one size or more, each at least 1 byte; got {list(self.sizes)}")
        _require_seconds("pause", self.pause)
        _require_seconds("patience", self.patience)

    @property
    def concerns(self) -> str:
        """The sizes of sends."""
        return "segments"

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The reply, cut into sends; a request without a reply stays as it is."""
        if not outgoing.size:
            return outgoing
        return replace(outgoing, pace=Pace(self.sizes, self.pause, self.patience))


@dataclass(frozen=True, slots=True)
class Delay(Action):
    """Wait before the reply; after a PUT, which has none, before the next request is read."""

    seconds: float

    fault: ClassVar[str] = "delay"
    stands_for: ClassVar[str] = (
        "A server that is slow for once: it swaps, it waits for a lock, the network is congested, the process was paused. "
        "A client with a timeout must not take the late reply for the answer to its next request."
    )

    def __post_init__(self) -> None:
        _require_seconds("seconds", self.seconds)

    @property
    def concerns(self) -> str:
        """The time of the first byte."""
        return "delay"

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The reply, later."""
        return replace(outgoing, delay=self.seconds)


@dataclass(frozen=True, slots=True)
class Stall(Action):
    """Send the first ``bytes`` bytes of the reply (none by default), then nothing more until the server stops."""

    bytes: int = 0

    fault: ClassVar[str] = "stall"
    stands_for: ClassVar[str] = (
        "A server that hangs with its connections open: a deadlock, a stopped container, a machine that lost power behind a "
        "firewall that drops packets. No error ever arrives. A client without a timeout takes its serving engine down with it."
    )

    def __post_init__(self) -> None:
        _require_count(self.bytes)

    @property
    def concerns(self) -> str:
        """The end of the reply."""
        return "end"

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The reply, up to where it stalls."""
        return replace(outgoing, cut=self.bytes, last="stall", ending=None)


@dataclass(frozen=True, slots=True)
class CloseAfter(Action):
    """Close the connection after so many bytes of the reply, or at its end where it is shorter.

    With ``reset`` the peer gets a reset (RST) instead of an end of stream (FIN); it can still read the bytes before it.
    """

    bytes: int
    reset: bool = False

    fault: ClassVar[str] = "close-after"
    stands_for: ClassVar[str] = (
        "A server that dies or is restarted in the middle of a reply, or a load balancer that drops an idle connection. The "
        "kernel of a dead process ends the stream (FIN), or resets it (RST) when requests were unread or the machine rebooted. "
        "A client must notice at any byte, report a miss or an error, and not go on with the dead connection."
    )

    def __post_init__(self) -> None:
        _require_count(self.bytes)

    @property
    def concerns(self) -> str:
        """The end of the reply."""
        return "end"

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The reply, up to where it breaks off."""
        last: LastStep = "reset" if self.reset else "close"
        return replace(outgoing, cut=self.bytes, last=last, ending=Ending("fault", self.spec()))


@dataclass(frozen=True, slots=True)
class TruncateBody(Action):
    """Send so many bytes of the body, then close; replies whose body is no longer than that are left alone."""

    bytes: int

    fault: ClassVar[str] = "truncate-body"
    stands_for: ClassVar[str] = (
        "A value that is shorter than its header promises. The real server does this to everybody who gets a key whose PUT was "
        "cut off: a success header, then the end of the stream. A client must not hand out a half-filled KV cache."
    )

    def __post_init__(self) -> None:
        _require_count(self.bytes)

    @property
    def concerns(self) -> str:
        """The end of the reply."""
        return "end"

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The reply with a shorter body and the end of the stream behind it."""
        if len(outgoing.body) <= self.bytes:
            return outgoing
        cut = len(outgoing.header) + self.bytes
        return replace(outgoing, cut=cut, last="close", ending=Ending("fault", self.spec()))


@dataclass(frozen=True, slots=True)
class ReplaceField(Action):
    """Put another number into one int32 field of the reply header; the body is sent as it was."""

    name: str
    value: int

    fault: ClassVar[str] = "replace-field"
    stands_for: ClassVar[str] = (
        "A header that is legal in size and wrong in content: another release on the other side, memory corruption, or a reply "
        "that belongs to something else. A client must check the code, the length and the shape before it allocates and trusts."
    )

    def __post_init__(self) -> None:
        if self.value not in _INT32:
            raise ValueError(f"a header field holds an int32, {self.value} is none")

    @property
    def concerns(self) -> str:
        """The field."""
        return f"field {self.name}"

    def check(self, reply_fields: tuple[str, ...]) -> None:
        """Refuse a field that replies do not have."""
        if self.name not in reply_fields:
            raise NotApplicableError(
                f"{self.spec()}: replies of this release have no field {self.name!r}; they have {', '.join(reply_fields)}"
            )

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The reply with the other number; a request without a reply stays as it is."""
        if not outgoing.header:
            return outgoing
        return replace(outgoing, header=replace_field(outgoing.fields, outgoing.header, self.name, self.value))


def _require_count(count: int) -> None:
    if count < 0:
        raise ValueError(f"bytes counts from 0, not from {count}")


def _require_seconds(name: str, seconds: float) -> None:
    if not (math.isfinite(seconds) and seconds >= 0):
        raise ValueError(f"{name} is a time in seconds, 0 or more, not {seconds}")
