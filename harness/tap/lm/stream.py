"""What the streams of both sides have in common: payloads that pass, and the search for a header where one lost step."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import xxhash

from harness.tap.event import Event
from harness.tap.listener import Kind, Piece
from harness.tap.lm.exchange import Payload

_TAIL: Final = 512
"""Bytes of a payload that are remembered: a header that was swallowed as its end is found there."""
_SEARCHED: Final = 64 << 10
"""Bytes in which the next header is looked for."""
_MOST_LOSSES: Final = 16
"""How often the next header is looked for on one connection."""


@dataclass(frozen=True)
class LostStep:
    """Where a header had to begin, something else did."""

    at: float
    offset: int
    """Of the first wrong byte in the stream."""
    place: int
    """Of that byte in the header."""
    size: int
    """Of the wrong field."""
    field: str
    expected: str
    got: str
    header: bytes
    """What stood where the header had to be, as far as it is there."""


@dataclass(frozen=True)
class BackInStep:
    """A header was found again."""

    at: float
    offset: int
    """Of its first byte in the stream."""
    surplus: int
    """Bytes between where it had to begin and where it did; negative where it began earlier, in the payload before."""


@dataclass(frozen=True)
class Blind:
    """Bytes were not recorded where they are needed to understand the rest."""

    at: float


class PassingPayload:
    """A payload as it passes: how much of it is left, and its digest."""

    def __init__(self, payload: Payload) -> None:
        self.payload = payload
        self.tail = b""
        self._hasher = xxhash.xxh3_128()

    @property
    def left(self) -> int:
        """Bytes that are still to come."""
        return max(0, self.payload.length - self.payload.came)

    def take(self, data: bytes) -> None:
        """Some bytes of it came."""
        self.payload.came += len(data)
        self._hasher.update(data)
        self.tail = (self.tail + data[-_TAIL:])[-_TAIL:]
        if self.payload.whole:
            self.payload.identity = ("xxh3", self._hasher.hexdigest())

    def skip(self, event: Event, count: int) -> None:
        """Some bytes of it came that are not recorded."""
        self.payload.came += count
        self.tail = b""
        if self.payload.whole and event.sha256:
            self.payload.identity = ("sha256", event.sha256)


class Search:
    """Looks for the next header behind the place where one had to be, and in the payload before it."""

    def __init__(self, pattern: re.Pattern[bytes], before: bytes, is_header: Callable[[bytes], int | None]) -> None:
        """``is_header`` gets bytes and says how long the header is that they begin with, 0 for none, None for too few bytes."""
        self._pattern = pattern
        self._is_header = is_header
        self._bytes = bytearray(before)
        self._from = 0
        self._begin = len(before)

    def feed(self, data: bytes) -> tuple[int, bytes] | None:
        """More bytes; how far behind the expected place a header begins, and all bytes from there on, or None."""
        self._bytes += data
        while (match := self._pattern.search(self._bytes, self._from)) is not None:
            found = self._is_header(bytes(self._bytes[match.start() :]))
            if found is None:
                return None
            if found:
                return match.start() - self._begin, bytes(self._bytes[match.start() :])
            self._from = match.start() + 1
        self._from = max(self._from, len(self._bytes) - 15)
        return None

    @property
    def hopeless(self) -> bool:
        """Whether so much was searched that nobody expects a header any more."""
        return len(self._bytes) > _SEARCHED


class Stream:
    """What one side sends on one connection. A subclass reads frames in :meth:`_step`."""

    def __init__(self) -> None:
        self.offset = 0
        """Of the next byte."""
        self.pieces: list[Piece] = []
        """How the last segment divides."""
        self.lost = False
        """What comes cannot be understood any more."""
        self._search: Search | None = None
        self._losses = 0
        self._again = 0
        """Bytes that are read once more, and are in pieces already."""
        self._swallowed = b""
        """Bytes that were taken for something else, and must be read once more."""

    def _step(self, at: float, data: bytes, found: list[Any]) -> int:
        """Read from the beginning of some bytes; how many of them were read."""
        raise NotImplementedError

    def _consume(self, event: Event, found: list[Any]) -> None:
        """Read a segment."""
        self.pieces = []
        data, place = event.data, 0
        while place < len(data):
            if not self.lost and self._search is None:
                place += self._step(event.at, data[place:], found)
                if self._swallowed:
                    data, place = self._swallowed + data[place:], 0
                    self._rewind(len(self._swallowed))
                    self._swallowed = b""
                continue
            self._count(len(data) - place, "noise")
            hit = self._search.feed(data[place:]) if self._search is not None else None
            if hit is None:
                self._give_up_search()
                return
            surplus, data = hit
            place = 0
            self._search = None
            self._rewind(len(data))
            found.append(BackInStep(event.at, self.offset, surplus))

    def _lose(self, step: LostStep, search: Search, found: list[Any]) -> None:
        """What stands here is no header: look for the next one, in what stands here too."""
        found.append(step)
        self.pieces.append(Piece(0, "key", ends=True))
        self._losses += 1
        self._swallowed = step.header
        self.lost = self._losses > _MOST_LOSSES
        self._search = None if self.lost else search

    def _blind(self, event: Event, found: list[Any]) -> None:
        """Bytes are missing: nothing behind them can be understood."""
        self._count(event.size, "noise")
        if not self.lost:
            self.lost, self._search = True, None
            found.append(Blind(event.at))

    def _count(self, length: int, kind: Kind, *, ends: bool = False) -> None:
        """Go on by some bytes, which are a piece of the segment unless they are read once more."""
        fresh = max(0, length - self._again)
        self._again -= length - fresh
        self.offset += length
        if fresh or (ends and not length):
            self.pieces.append(Piece(fresh, kind, ends))

    def _rewind(self, length: int) -> None:
        self.offset -= length
        self._again += length

    def _give_up_search(self) -> None:
        if self._search is not None and self._search.hopeless:
            self.lost, self._search = True, None
