"""Frames of a message with what they hold: each frame behind the uid is one msgpack value, or is told to be none."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from harness.tap.mp.packed import Malformed, head
from harness.tap.mp.zmtp import Frame, Message
from wire.mp.operations import STREAMING
from wire.mp.values import DEEPEST, Value, ValueRefused, pack, unpack

STREAM_MARK: Final = b""
"""In the operation's place: the message speaks of a stream."""
STREAM_WORDS: Final = (b"ack", b"cancel")


@dataclass(frozen=True)
class Part:
    """One frame."""

    frame: Frame

    @property
    def data(self) -> bytes:
        """Its bytes, or the first of them."""
        return self.frame.data

    @property
    def refused(self) -> str:
        """Why it holds no msgpack value; empty if it does."""
        return self._read[1]

    @property
    def value(self) -> Value:
        """What it holds; of a long frame of bytes, the first of them; None where it holds nothing."""
        return self._read[0]

    @cached_property
    def canonical(self) -> bool:
        """Whether each number and length has its shortest form, as lmcache writes them."""
        if not self.frame.whole:
            return True
        try:
            return not self.refused and pack(self.value) == self.data
        except ValueRefused:
            return False

    @cached_property
    def _read(self) -> tuple[Value, str]:
        if not self.frame.whole:
            return self._beginning()
        try:
            if self.data[:1] >= b"\x80" and _nested(self.data):
                return None, f"arrays and maps are nested more than {DEEPEST} deep"
            return unpack(self.data), ""
        except ValueRefused as refusal:
            return None, str(refusal)

    def _beginning(self) -> tuple[Value, str]:
        try:
            kind, body, end, _ = head(self.data, 0)
        except Malformed as error:
            return None, str(error)
        if kind == "bytes" and end == self.frame.length:
            return self.data[body:], ""
        return None, f"of its {self.frame.length} bytes only {len(self.data)} are kept here"


_OPENS: Final = frozenset(range(0x80, 0xA0)) | frozenset(range(0xDC, 0xE0))


def _nested(data: bytes) -> bool:
    """Whether something is nested deeper than anybody does; a cheap look decides for nearly all frames."""
    if sum(byte in _OPENS for byte in data[: DEEPEST + 1]) <= DEEPEST and len(data) < 4 * DEEPEST:
        return False
    run = 0
    for byte in data[:4096]:
        run = run + 1 if byte in _OPENS else 0
        if run > DEEPEST:
            return True
    return False


@dataclass(frozen=True)
class Parts:
    """A message: its uid, its operation, and what stands behind them."""

    message: Message
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, message: Message) -> Parts:
        """The parts of a message."""
        return cls(message, tuple(map(Part, message.frames)))

    @property
    def uid(self) -> bytes:
        """The first frame."""
        return self.parts[0].data

    @property
    def operation(self) -> bytes | None:
        """The second frame; None where there is none."""
        return self.parts[1].data if len(self.parts) > 1 else None

    @property
    def behind(self) -> tuple[Part, ...]:
        """Payloads of a request, results of a reply."""
        return self.parts[2:]

    @property
    def number(self) -> object:
        """What the operation's frame holds; None where it holds nothing."""
        return self.parts[1].value if len(self.parts) > 1 else None

    @property
    def of_stream(self) -> bool:
        """Whether a client speaks of a stream that it has."""
        return self.operation == STREAM_MARK and tuple(part.data for part in self.behind) in {(word,) for word in STREAM_WORDS}

    @property
    def whole(self) -> bool:
        """Whether every frame was kept."""
        return self.message.count == len(self.parts)


STREAM: Final = STREAMING[0]
