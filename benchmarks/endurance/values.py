"""Values that can be told from each other, and a ledger of the digests that must come back."""

from __future__ import annotations

import functools
import hashlib
import random
import struct
from collections.abc import Hashable
from typing import Final

Bytes = bytes | bytearray | memoryview

LARGEST: Final = 8 << 20
"""Bytes of the largest value."""
_STAMP: Final = struct.Struct("<QQ")
_PLACES: Final = 1 << 20


@functools.cache
def _noise() -> bytes:
    return random.Random(9).randbytes(LARGEST + _PLACES)  # noqa: S311  # the same bytes every time


def value(number: int, version: int, size: int) -> bytes:
    """A value of so many bytes: its number and version, and bytes that differ from those of its neighbours."""
    begin = (number * 7919 + version * 104_729) % _PLACES
    return (_STAMP.pack(number, version) + _noise()[begin : begin + max(0, size - _STAMP.size)])[:size]


def digest(data: Bytes) -> bytes:
    """The checksum that is kept in the place of a value."""
    return hashlib.sha256(data).digest()


class Ledger:
    """What must be found under each name: one digest, or one of several where an exchange broke off."""

    def __init__(self) -> None:
        self._due: dict[Hashable, set[bytes | None]] = {}

    def store(self, name: Hashable, data: Bytes) -> None:
        """The value was stored, for certain."""
        self._due[name] = {digest(data)}

    def attempt(self, name: Hashable, data: Bytes) -> None:
        """The value may have been stored, or what was there before may be there still."""
        self._due.setdefault(name, {None}).add(digest(data))

    def remove(self, name: Hashable) -> None:
        """Nothing must be found any more."""
        self._due.pop(name, None)

    def agrees(self, name: Hashable, found: Bytes | None) -> bool:
        """Whether what was found is due; from now on nothing else is."""
        seen = None if found is None else digest(found)
        if seen not in self._due.get(name, {None}):
            return False
        if seen is None:
            self._due.pop(name, None)
        else:
            self._due[name] = {seen}
        return True

    def is_certain(self, name: Hashable) -> bool:
        """Whether only one thing can be found."""
        return len(self._due.get(name, {None})) == 1

    def holds(self, name: Hashable) -> bool:
        """Whether there must be a value."""
        return None not in self._due.get(name, {None})

    @property
    def names(self) -> list[Hashable]:
        """Names under which there must be a value."""
        return [name for name in self._due if self.holds(name)]
