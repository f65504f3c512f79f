"""What is fuzzed: a function of bytes, the errors that it may raise, and bytes to begin with."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

T = TypeVar("T")
_LENGTH: Final = struct.Struct("<H")


@dataclass(frozen=True)
class Target:
    """One function under fuzzing."""

    name: str
    """``FAMILY.NAME``."""
    run: Callable[[bytes], object]
    """Gives bytes to the product."""
    refusals: tuple[type[Exception], ...]
    """What it documents that it raises; all else is a finding."""
    seeds: Callable[[], Sequence[bytes]]
    """Inputs to begin with, a few kilobytes together."""
    longest: int = 4096
    """Bytes of an input."""


class Bytes:
    """Takes decisions out of an input, from its beginning on; where nothing is left, zeros."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def number(self) -> int:
        """0 to 255."""
        taken = self.take(1)
        return taken[0] if taken else 0

    def choice(self, options: Sequence[T]) -> T:
        """One of them."""
        return options[self.number() % len(options)]

    def take(self, count: int) -> bytes:
        """So many bytes, or what is left."""
        found = self._data[self._place : self._place + count]
        self._place += len(found)
        return found

    def piece(self) -> bytes:
        """A length of two bytes, little-endian, and so many bytes."""
        head = self.take(_LENGTH.size)
        return self.take(_LENGTH.unpack(head)[0]) if len(head) == _LENGTH.size else b""

    def pieces(self) -> list[bytes]:
        """Pieces until nothing is left."""
        found = []
        while self._place < len(self._data):
            found.append(self.piece())
        return found

    def rest(self) -> bytes:
        """All that is left."""
        return self.take(len(self._data) - self._place)

    def text(self) -> str:
        """The rest as text; bytes that are not UTF-8 become halves of surrogate pairs, as in arguments of a program."""
        return self.rest().decode("utf-8", "surrogateescape")


def in_pieces(pieces: Sequence[bytes]) -> bytes:
    """What :meth:`Bytes.pieces` takes apart."""
    return b"".join(_LENGTH.pack(len(piece)) + piece for piece in pieces)


def chosen(option: int, rest: bytes | str) -> bytes:
    """An input whose first choice is that of a number."""
    return bytes([option]) + (rest.encode("utf-8", "surrogateescape") if isinstance(rest, str) else rest)


def texts(*seeds: str) -> Callable[[], Sequence[bytes]]:
    """Seeds of a target that reads text."""
    return lambda: [seed.encode("utf-8", "surrogateescape") for seed in seeds]


class Broken(AssertionError):
    """The product took an input and contradicts itself about it."""


def require(*, holds: bool, what: str) -> None:
    """Raise :class:`Broken` unless something holds that has to."""
    if not holds:
        raise Broken(what)
