"""The stream of a server: reply headers, and behind those of a GET that hits a payload."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from harness.tap.event import Event
from harness.tap.lm.exchange import Exchange, Payload, Reply
from harness.tap.lm.headers import FIRST, KNOWN, REPLY_START, SHORT, WITH_LOCATION, is_reply, unknown_fields
from harness.tap.lm.requests import known_words, number_words
from harness.tap.lm.stream import BackInStep, Blind, LostStep, PassingPayload, Search, Stream
from wire.lm.enums import CODES
from wire.lm.frames import header_numbers
from wire.lm.profile import HeaderLayout

_WORD: Final = 4


@dataclass(frozen=True)
class Answered:
    """A reply header came; to no request where there is no exchange."""

    reply: Reply
    exchange: Exchange | None


@dataclass(frozen=True)
class LayoutKnown:
    """Of which generation a reply is: told behind its first bytes, at once or as soon as what follows has shown it."""

    reply: Reply


@dataclass(frozen=True)
class Ended:
    """The last byte of a reply came."""

    reply: Reply
    exchange: Exchange | None


Seen: TypeAlias = Answered | LayoutKnown | Ended | LostStep | BackInStep | Blind


class ReplyStream(Stream):
    """Reads what a server sends on one connection, in whatever segments it comes.

    ``waiting`` are the requests that wait for a reply, oldest first; each reply takes one.
    """

    def __init__(self, waiting: deque[Exchange], layout: HeaderLayout | None) -> None:
        super().__init__()
        self._waiting = waiting
        self.layout = layout
        """Of this server; None while it is not known."""
        self.fallback = WITH_LOCATION
        """What to take where the bytes do not tell: the generation of the client."""
        self.header = bytearray()
        """Of the reply that is under way: what there is of its header, or of the word that tells the generations apart."""
        self.open: Reply | None = None
        """The reply that is under way behind the part of the header that all generations share."""
        self._exchange: Exchange | None = None
        self._undecided = False
        self._passing: PassingPayload | None = None
        self._segments = 0
        self._tail = b""

    @property
    def idle(self) -> bool:
        """Whether it stands between two replies."""
        return not self.header and (self.open is None or (self._undecided and not self.open.payload.length))

    def feed(self, event: Event) -> list[Seen]:
        """What a segment brings."""
        found: list[Seen] = []
        if event.length is None:
            self._segments += bool(self.header)
            self._consume(event, found)
            return found
        self.pieces = []
        if self._undecided and self.open is not None and self.open.payload.length and not self.header:
            self._decide(FIRST, event.at, found)  # only payload is left out, so it begins here
        if self._passing is not None and event.length <= self._passing.left:
            self._passing.skip(event, event.length)
            self._count(event.length, "payload", ends=not self._passing.left)
            self._end(event.until or event.at, found)
        else:
            self._blind(event, found)
        return found

    def conclude(self) -> list[Seen]:
        """Nothing more came: a reply that may be of either generation is as long as it is."""
        found: list[Seen] = []
        if self.open is not None and self._undecided and not self.header and not self.open.payload.length:
            self._decide(FIRST, self.open.at, found)
        return found

    def _step(self, at: float, data: bytes, found: list[Any]) -> int:
        if self._undecided:
            return self._tell_apart(at, data, found)
        if self._passing is not None:
            part = data[: self._passing.left]
            self._passing.take(part)
            self._count(len(part), "payload", ends=not self._passing.left)
            self._end(at, found)
            return len(part)
        size = self.layout.reply_size if self.layout is not None else SHORT
        if not self.header:
            self._segments = 1
        part = data[: size - len(self.header)]
        self.header += part
        whole = len(self.header) == size
        self._count(len(part), "key", ends=whole)
        if whole:
            header, self.header = bytes(self.header), bytearray()
            self._read_header(at, header, found)
        return len(part)

    def _read_header(self, at: float, header: bytes, found: list[Any]) -> None:
        numbers = header_numbers((self.layout or FIRST).reply, header)
        begin = self.offset - len(header)
        if not is_reply(numbers):
            search = Search(REPLY_START, self._tail, _is_header)
            self._lose(_lost(at, begin, self.layout or FIRST, header, numbers), search, found)
            return
        exchange = self._waiting.popleft() if self._waiting else None
        reply = Reply(at, begin, header, self.layout, numbers, _payload(numbers, exchange), self._segments)
        if exchange is not None:
            exchange.reply = reply
        self.open, self._exchange = reply, exchange
        self._tail = b""
        found.append(Answered(reply, exchange))
        self._undecided = self.layout is None
        if not self._undecided:
            found.append(LayoutKnown(reply))
            self._go_on(at, found)

    def _tell_apart(self, at: float, data: bytes, found: list[Any]) -> int:
        """Read the word behind what all generations share: a location, or already the payload or the next reply."""
        assert self.open is not None
        reply, before = self.open, bytes(self.header)
        part = data[: _WORD - len(before)]
        word = before + part
        if len(word) < _WORD:
            self.header += part
            self._count(len(part), "key")
            return len(part)
        self.header = bytearray()
        value = int.from_bytes(word, "little", signed=True)
        if not self._is_first(reply, value):
            self._count(len(part), "key", ends=True)
            reply.header += word
            reply.numbers["location"] = value
            self._decide(WITH_LOCATION, at, found)
            return len(part)
        self._decide(FIRST, at, found)
        if not before:
            return 0  # read again, as what it is
        reply.sure = False
        self._count(len(part), "key", ends=True)
        self._swallowed = word
        return len(part)

    def _is_first(self, reply: Reply, value: int) -> bool:
        if value in KNOWN["location"]:
            return bool(reply.payload.length) and self.fallback is FIRST
        return bool(reply.payload.length) or value in CODES.values() or self.fallback is FIRST

    def _decide(self, layout: HeaderLayout, at: float, found: list[Any]) -> None:
        assert self.open is not None
        self._undecided = False
        self.layout = self.open.layout = layout
        found.append(LayoutKnown(self.open))
        self._go_on(at, found)

    def _go_on(self, at: float, found: list[Any]) -> None:
        assert self.open is not None
        self._passing = PassingPayload(self.open.payload)
        if self.open.payload.whole:
            self._passing.take(b"")
        self._end(at, found)

    def _end(self, at: float, found: list[Any]) -> None:
        if self._passing is None or self.open is None or self._passing.left:
            return
        self.open.ended_at = at
        if not self.open.sure:
            self.open.payload.identity = None
        found.append(Ended(self.open, self._exchange))
        self._tail = self._passing.tail
        self.open = self._exchange = self._passing = None


def _lost(at: float, begin: int, layout: HeaderLayout, header: bytes, numbers: dict[str, int]) -> LostStep:
    field = unknown_fields(numbers)[0]
    place = _WORD * layout.reply.index(field)
    got = number_words(field, numbers[field], header[place : place + _WORD])
    return LostStep(at, begin + place, place, _WORD, field, known_words(field), got, header)


def _payload(numbers: dict[str, int], exchange: Exchange | None) -> Payload:
    """What follows a reply: bytes after a hit, and nothing after all else."""
    hit = numbers["code"] == CODES["SUCCESS"] and (exchange is None or exchange.command == "GET")
    return Payload(max(0, numbers["length"]) if hit else 0)


def _is_header(data: bytes) -> int | None:
    if len(data) < SHORT:
        return None
    return 0 if unknown_fields(header_numbers(FIRST.reply, data)) else SHORT
