"""Faults of what a reply says: wrong fields, flipped bits, bodies that are too short or too long, bytes that belong nowhere."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import ClassVar

from mockserver.buffers import Buffer
from mockserver.endings import Ending
from mockserver.faults.action import ReplyFault
from mockserver.faults.number import Number, number_for, require_number
from mockserver.faults.outgoing import Outgoing
from mockserver.faults.place import FIELDS, Place, require_place, resolve
from wire.lm.enums import CODES
from wire.lm.frames import header_numbers, replace_field

_FILL = 0xEE
_MOST = 1 << 30


@dataclass(frozen=True, slots=True)
class ReplaceField(ReplyFault):
    """Put another ``value`` into the field ``name`` of the reply header; the body is sent as it was.

    The value is an integer, a name (``dtype`` ``float32``, ``code`` ``FAIL``), or relative to the honest one:
    ``stored+1``, ``stored-1``, ``stored*2``, which wrap in 32 bits.
    """

    name: str
    value: Number

    fault: ClassVar[str] = "replace-field"
    example: ClassVar[str] = "replace-field:name=length,value=-1"
    stands_for: ClassVar[str] = (
        "A header that is legal in size and wrong in content: another release on the other side, memory corruption, or a reply "
        "that belongs to something else. A client must check the code, the length and the shape before it allocates and trusts."
    )

    def __post_init__(self) -> None:
        if self.name not in FIELDS:
            close = difflib.get_close_matches(self.name, FIELDS, n=1)
            guess = f" (did you mean {close[0]}?)" if close else ""
            raise ValueError(f"replies have no field {self.name!r}{guess}; they have {', '.join(FIELDS)}")
        require_number(self.name, self.value)

    @property
    def concerns(self) -> str:
        """The field."""
        return f"field {self.name}"

    def named_fields(self) -> list[str]:
        """The field."""
        return [self.name]

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The reply with the other number; a request without a reply stays as it is."""
        if not outgoing.header:
            return outgoing
        honest = header_numbers(outgoing.fields, outgoing.header)[self.name]
        value = number_for(self.name, self.value, honest)
        return replace(outgoing, header=replace_field(outgoing.fields, outgoing.header, self.name, value))


@dataclass(frozen=True, slots=True)
class FlipBit(ReplyFault):
    """Turn one ``bit`` (0 is the lowest) of the byte at the place ``at`` over; replies that have no such byte are left alone."""

    at: Place
    bit: int = 0

    fault: ClassVar[str] = "flip-bit"
    example: ClassVar[str] = "flip-bit:at=field:shape1,bit=3"
    stands_for: ClassVar[str] = (
        "Memory that fails, a DMA engine that loses a bit, or a network card whose checksum offload lies: rare on one machine, "
        "and not in a fleet. The wire has no checksum, so a flipped bit of the payload cannot be noticed; one in the header can "
        "wherever the client compares the field with what it expects."
    )

    def __post_init__(self) -> None:
        require_place("at", self.at)
        if self.bit not in range(8):
            raise ValueError(f"a byte has the bits 0 to 7, not {self.bit}")

    @property
    def concerns(self) -> str:
        """The bit."""
        return f"bit {self.bit} at {self.at}"

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The reply with the other bit."""
        at = resolve(self.at, outgoing)
        into_body = at - len(outgoing.header)
        if into_body < 0:
            return replace(outgoing, header=bytes(self._flipped(outgoing.header, at)))
        if into_body < len(outgoing.body):
            return replace(outgoing, body=self._flipped(outgoing.body, into_body))
        return outgoing

    def _flipped(self, data: Buffer, at: int) -> memoryview:
        changed = bytearray(data)
        changed[at] ^= 1 << self.bit
        return memoryview(changed).toreadonly()


@dataclass(frozen=True, slots=True)
class TruncateBody(ReplyFault):
    """Send so many ``bytes`` of the body, then close; replies whose body is no longer than that are left alone."""

    bytes: int

    fault: ClassVar[str] = "truncate-body"
    part: ClassVar[str] = "end"
    example: ClassVar[str] = "truncate-body:bytes=100"
    stands_for: ClassVar[str] = (
        "A value that is shorter than its header promises. The real server does this to everybody who gets a key whose PUT was "
        "cut off: a success header, then the end of the stream. A client must not hand out a half-filled KV cache."
    )

    def __post_init__(self) -> None:
        if self.bytes < 0:
            raise ValueError(f"bytes counts from 0, not from {self.bytes}")

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The reply with a shorter body and the end of the stream behind it."""
        if len(outgoing.body) <= self.bytes:
            return outgoing
        cut = len(outgoing.header) + self.bytes
        return replace(outgoing, cut=cut, last="close", ending=Ending("fault", self.spec()))


@dataclass(frozen=True, slots=True)
class _Filling(ReplyFault):
    """Bytes that the reply does not have."""

    bytes: int
    fill: int = _FILL

    def __post_init__(self) -> None:
        if not 1 <= self.bytes <= _MOST:
            raise ValueError(f"bytes is from 1 to {_MOST}, not {self.bytes}")
        if self.fill not in range(256):
            raise ValueError(f"fill is a byte, from 0 to 255, not {self.fill}")


@dataclass(frozen=True, slots=True)
class ExtendBody(_Filling):
    """Send so many ``bytes`` of the value ``fill`` behind the body, which the header does not announce.

    Replies without a body are left alone.
    """

    fault: ClassVar[str] = "extend-body"
    part: ClassVar[str] = "bytes behind the reply"
    example: ClassVar[str] = "extend-body:bytes=64"
    stands_for: ClassVar[str] = (
        "A value that is longer than its header says: a server that sends the buffer and not the value, or a writer that counted "
        "elements instead of bytes. The get itself looks right; the rest lies in the stream and is read as the header of the "
        "next reply."
    )

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The reply with more behind it."""
        return replace(outgoing, after=_filled(self)) if len(outgoing.body) else outgoing


@dataclass(frozen=True, slots=True)
class BytesAfterMiss(_Filling):
    """Send so many ``bytes`` of the value ``fill`` behind a reply whose code is not success; others are left alone."""

    fault: ClassVar[str] = "bytes-after-miss"
    part: ClassVar[str] = "bytes behind the reply"
    example: ClassVar[str] = "bytes-after-miss:bytes=36,command=GET"
    stands_for: ClassVar[str] = (
        "A server of another make that explains its failures, with a text behind the code, or that sends an empty block with "
        "every miss. A client that reads only the header of a miss, as it must, finds the text where the next reply should be."
    )

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The miss with something behind it."""
        if not outgoing.header or header_numbers(outgoing.fields, outgoing.header)["code"] == CODES["SUCCESS"]:
            return outgoing
        return replace(outgoing, after=_filled(self))


@dataclass(frozen=True, slots=True)
class GarbageBefore(_Filling):
    """Send so many ``bytes`` of the value ``fill`` before the reply; a request without a reply is left alone."""

    fault: ClassVar[str] = "garbage-before"
    part: ClassVar[str] = "bytes before the reply"
    example: ClassVar[str] = "garbage-before:bytes=4"
    stands_for: ClassVar[str] = (
        "A stream that is out of step before the request was sent: the rest of a longer reply, a line of a proxy that speaks "
        "HTTP, a warning that a library printed to the wrong descriptor. Every number of the header is then shifted."
    )

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The reply with something before it."""
        return replace(outgoing, before=_filled(self)) if outgoing.header else outgoing


def _filled(fault: _Filling) -> bytes:
    return bytes([fault.fill]) * fault.bytes
