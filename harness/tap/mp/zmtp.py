"""ZMTP, what ZeroMQ speaks over TCP: one direction of one connection, read from pieces of any size.

A stream is a greeting of 64 bytes and then frames: one byte of flags, the length in one byte or in eight, the body. Frames are
commands (``READY``, ``PING`` ...) or parts of messages. Nothing is executed or believed: what ZMTP does not allow ends the
reading with a :class:`Broken`, and of long frames only the beginning is kept.

Source: the specifications 37/ZMTP 3.1, 23/ZMTP 3.0 and 15/ZMTP 2.0 of ZeroMQ.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

GREETING: Final = 64
"""Bytes of a greeting of version 3."""
_SIGNATURE: Final = 10
_MORE: Final = 1
_LONG: Final = 2
_COMMAND: Final = 4
_RESERVED: Final = 0xFF ^ _MORE ^ _LONG ^ _COMMAND
KEPT: Final = 1 << 20
"""Bytes of a frame that are kept; of a longer one the beginning."""
KEPT_OF_MESSAGE: Final = 4 << 20
"""Bytes of a message that are kept: of frames behind that nothing but their lengths."""
KEPT_FRAMES: Final = 1024
"""Frames of a message that are kept; no request of any release has so many."""
LONGEST_COMMAND: Final = 1 << 16
"""Bytes of a command that is not a message in disguise; what ZeroMQ sends has a few hundred."""
_COMMANDS: Final = frozenset({b"READY", b"ERROR", b"PING", b"PONG", b"SUBSCRIBE", b"CANCEL", b"JOIN", b"LEAVE"})
_CURVE: Final = frozenset({b"HELLO", b"WELCOME", b"INITIATE", b"MESSAGE"})


@dataclass(frozen=True)
class Greeting:
    """The first bytes of a side."""

    offset: int
    version: tuple[int, int]
    mechanism: str
    """``NULL``, ``PLAIN``, ``CURVE`` ...; what is no such word as its repr."""
    as_server: bool


@dataclass(frozen=True)
class Command:
    """A command, which ZeroMQ sends by itself."""

    offset: int
    """Of its flags, in the stream."""
    name: bytes
    data: bytes
    """What follows the name; of the kinds that hold secrets nothing is shown by anybody here."""
    end: int = 0
    """Of the stream, behind it."""


@dataclass(frozen=True)
class Frame:
    """One frame of a message."""

    offset: int
    """Of its body, in the stream."""
    data: bytes
    """The body, or its beginning."""
    length: int

    @property
    def whole(self) -> bool:
        """Whether all of the body was kept."""
        return len(self.data) == self.length


@dataclass(frozen=True)
class Message:
    """The frames of a message."""

    offset: int
    """Of the flags of its first frame."""
    frames: tuple[Frame, ...]
    count: int
    """Frames that it had; more than were kept where there were very many."""
    end: int
    """Of the stream, behind it."""


@dataclass(frozen=True)
class Broken:
    """What no ZMTP peer sends; nothing behind it is read."""

    offset: int
    rule: str
    """``not-zmtp``, ``old-zmtp``, ``flags``, ``length``, ``command`` or ``hole``."""
    summary: str
    expected: str
    got: str


Item = Greeting | Command | Message | Broken


@dataclass(frozen=True)
class Body:
    """Where the body of a message's frame stands in the stream."""

    offset: int
    length: int

    @property
    def end(self) -> int:
        """Behind it."""
        return self.offset + self.length


class _At(Enum):
    GREETING = auto()
    FLAGS = auto()
    LENGTH = auto()
    BODY = auto()
    END = auto()


@dataclass
class Stream:
    """What one side sent, as it comes in; :meth:`feed` gives each item as soon as it is whole."""

    offset: int = 0
    """Bytes that came so far."""
    mechanism: str = ""
    broken: Broken | None = None
    bodies: deque[Body] = field(default_factory=deque)
    """Frames of messages, in their order, for whoever wants to know which bytes are theirs and takes them out."""
    keep_bodies: bool = False
    _at: _At = _At.GREETING
    _head: bytearray = field(default_factory=bytearray)
    _flags: int = 0
    _begin: int = 0
    """Of the frame: the place of its flags."""
    _length: int = 0
    _came: int = 0
    _room: int = 0
    _body: bytearray = field(default_factory=bytearray)
    _frames: list[Frame] = field(default_factory=list)
    _count: int = 0
    _kept: int = 0
    _first: int = 0

    def feed(self, data: bytes) -> Iterator[Item]:
        """Read the next bytes."""
        view = memoryview(data)
        place = 0
        while place < len(view):
            taken, item = self._step(view[place:])
            place += taken
            self.offset += taken
            if item is not None:
                yield item
                item = None
            if self._at is _At.BODY:
                if self.keep_bodies and not self._came and not self._flags & _COMMAND:
                    self._begun()
                if self._came == self._length:
                    item = self._ended()
                    if item is not None:
                        yield item

    def _begun(self) -> None:
        body = Body(self.offset, self._length)
        if not self.bodies or self.bodies[-1] != body:
            self.bodies.append(body)

    def skip(self, length: int) -> Iterator[Item]:
        """Pass over bytes that are not at hand; inside the body of a frame they are taken for zeros."""
        inside = min(length, self._length - self._came) if self._at is _At.BODY else 0
        self._body += bytes(min(inside, max(0, self._room - len(self._body))))
        self._came += inside
        self.offset += inside
        if self._at is _At.BODY and self._came == self._length:
            item = self._ended()
            if item is not None:
                yield item
        if inside < length and self._at is not _At.END:
            yield self._break(
                "hole", "bytes are missing in the recording, and frames began or ended there", "all bytes", "a hole"
            )
        self.offset += length - inside

    @property
    def pending(self) -> str:
        """What has begun and did not end, in words; empty where nothing has."""
        if self.broken is not None:
            return ""
        if self._at is _At.GREETING:
            return f"a greeting, of which {len(self._head)} of {GREETING} bytes came" if self._head else ""
        if self._at is _At.BODY:
            return f"a frame, of which {self._came} of {self._length} bytes came"
        if self._at is _At.LENGTH:
            return "the length of a frame"
        return f"a message, of which {self._count} frames came" if self._count else ""

    def _step(self, view: memoryview) -> tuple[int, Item | None]:
        match self._at:
            case _At.GREETING:
                return self._greeting(view)
            case _At.FLAGS:
                return 1, self._flagged(view[0])
            case _At.LENGTH:
                wanted = 8 if self._flags & _LONG else 1
                part = view[: wanted - len(self._head)]
                self._head += part
                return len(part), self._sized() if len(self._head) == wanted else None
            case _At.BODY:
                part = view[: self._length - self._came]
                kept = part[: max(0, self._room - len(self._body))]
                self._body += kept
                self._came += len(part)
                return len(part), None
        return len(view), None

    def _greeting(self, view: memoryview) -> tuple[int, Item | None]:
        part = view[: GREETING - len(self._head)]
        before = len(self._head)
        self._head += part
        wrong = _wrong_greeting(bytes(self._head))
        if wrong is not None:
            at, rule, summary, expected, got = wrong
            return max(1, at + 1 - before), self._break(rule, summary, expected, got, at)
        if len(self._head) < GREETING:
            return len(part), None
        head = bytes(self._head)
        mechanism = head[12:32].rstrip(b"\0")
        self.mechanism = mechanism.decode("ascii") if mechanism.isalnum() else repr(mechanism)
        self._head.clear()
        self._at = _At.FLAGS
        return len(part), Greeting(self.offset + len(part) - GREETING, (head[10], head[11]), self.mechanism, head[32] == 1)

    def _flagged(self, flags: int) -> Item | None:
        self._begin, self._flags = self.offset, flags
        if flags & _RESERVED:
            words = "one of 00 to 03, or 04 and 06 for a command"
            return self._break("flags", "the flags of a frame have bits that mean nothing", words, f"{flags:02x}", self.offset)
        if flags & _COMMAND and (flags & _MORE or self._count):
            return self._break(
                "flags",
                "a command stands in the middle of a message",
                "the next frame of the message",
                f"{flags:02x}",
                self.offset,
            )
        if not self._count:
            self._first, self._kept = self.offset, 0
        self._head.clear()
        self._at = _At.LENGTH
        return None

    def _sized(self) -> Item | None:
        self._length = int.from_bytes(self._head, "big")
        self._head.clear()
        if self._length >> 63:
            return self._break("length", "a frame is longer than any can be", "below 2**63", f"{self._length}", self._begin + 1)
        is_message = not self._flags & _COMMAND
        if not is_message and self._length > LONGEST_COMMAND and self.mechanism != "CURVE":
            return self._break(
                "length",
                "a command is longer than any that there is",
                f"at most {LONGEST_COMMAND}",
                f"{self._length}",
                self._begin + 1,
            )
        room = min(KEPT, KEPT_OF_MESSAGE - self._kept if is_message else LONGEST_COMMAND)
        self._room = 0 if is_message and self._count >= KEPT_FRAMES else max(0, room)
        self._came = 0
        self._body = bytearray()
        self._at = _At.BODY
        return None

    def _ended(self) -> Item | None:
        """The frame is whole."""
        self._at = _At.FLAGS
        data, self._body = bytes(self._body), bytearray()
        if self._flags & _COMMAND:
            return self._command(data)
        if self._count < KEPT_FRAMES:
            self._frames.append(Frame(self.offset - self._length, data, self._length))
            self._kept += len(data)
        self._count += 1
        if self._flags & _MORE:
            return None
        message = Message(self._first, tuple(self._frames), self._count, self.offset)
        self._frames, self._count = [], 0
        return message

    def _command(self, body: bytes) -> Item:
        size = body[0] if body else 0
        name = body[1 : 1 + size]
        if not body or len(name) < size or name not in _COMMANDS | _CURVE:
            names = ", ".join(sorted(name.decode() for name in _COMMANDS))
            return self._break(
                "command", "a command has no name that ZMTP knows", f"one of {names}", repr(name[:20]), self._begin
            )
        return Command(self._begin, name, body[1 + size :], self.offset)

    def _break(self, rule: str, summary: str, expected: str, got: str, offset: int | None = None) -> Broken:
        self.broken = Broken(self.offset if offset is None else offset, rule, summary, expected, got)
        self._at = _At.END
        self._head, self._body, self._frames, self._count = bytearray(), bytearray(), [], 0
        return self.broken


def _wrong_greeting(head: bytes) -> tuple[int, str, str, str, str] | None:
    """Where the beginning of a greeting is none of version 3: offset, rule, summary, expected, got; None as long as it may be."""
    if head[0] != 0xFF:
        return _no_signature(head)
    if len(head) >= _SIGNATURE and head[9] != 0x7F:
        if not head[9] & 1:
            return 9, "old-zmtp", "the peer speaks ZMTP 1, of ZeroMQ 2", "7f", f"{head[9]:02x}"
        return 9, "not-zmtp", "the signature of ZMTP does not end as it must", "7f", f"{head[9]:02x}"
    if len(head) > _SIGNATURE and head[10] < 3:
        return 10, "old-zmtp", "the peer speaks ZMTP 2, of ZeroMQ 3", "03", f"{head[10]:02x}"
    return None


_OTHERS: Final = (
    (b"GET ", "HTTP"),
    (b"POST", "HTTP"),
    (b"HEAD", "HTTP"),
    (b"PUT ", "HTTP"),
    (b"HTTP", "HTTP"),
    (b"PRI ", "HTTP/2 (gRPC does)"),
    (b"\x16\x03", "TLS"),
    (b"SSH-", "SSH"),
)


def _no_signature(head: bytes) -> tuple[int, str, str, str, str] | None:
    if len(head) < 4 and any(words.startswith(head) for words, _ in _OTHERS):
        return None
    speaks = next((f"; it looks like {name}" for words, name in _OTHERS if head.startswith(words)), "")
    if not speaks and len(head) >= 3 and head[0] in range(1, 0x20) and head[1] == 0:
        return 0, "old-zmtp", "the peer seems to speak ZMTP 1, of ZeroMQ 2", "ff", f"{head[0]:02x}"
    if not speaks and len(head) < 3:
        return None
    return 0, "not-zmtp", f"the stream is not ZMTP{speaks}", "ff", f"{head[0]:02x}"


def properties(data: bytes) -> dict[str, bytes] | None:
    """The metadata of a ``READY`` command; None where it is none."""
    found: dict[str, bytes] = {}
    place = 0
    while place < len(data):
        size = data[place]
        name = data[place + 1 : place + 1 + size]
        place += 1 + size
        if not name or len(name) < size or place + 4 > len(data):
            return None
        length = int.from_bytes(data[place : place + 4], "big")
        value = data[place + 4 : place + 4 + length]
        place += 4 + length
        if len(value) < length:
            return None
        found[name.decode("ascii", "replace")] = value
    return found
