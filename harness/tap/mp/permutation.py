"""Pseudonyms of numbers: another number that takes as many bytes; different numbers have different ones."""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from harness.tap.mp.bounded import Bounded

_ROUNDS: Final = 6
_REMEMBERED: Final = 1 << 16


class Permutation:
    """Permutes the integers of a range, with a secret: a Feistel network, walked until it is inside of the range."""

    def __init__(self, secret: bytes) -> None:
        self._secret = hmac.digest(secret, b"numbers", "sha256")
        self._made: Bounded[tuple[int, int, int], int] = Bounded(_REMEMBERED)

    def number(self, value: int, low: int, high: int) -> int:
        """The pseudonym of a number from ``low`` to ``high``, which is one of these as well."""
        place = value, low, high
        found = self._made.get(place)
        if found is None:
            size = high - low + 1
            found = value - low
            while True:
                found = self._once(found, size)
                if found < size:
                    break
            found += low
            self._made[place] = found
        return found

    def _once(self, value: int, size: int) -> int:
        half = max(1, ((size - 1).bit_length() + 1) // 2)
        mask = (1 << half) - 1
        left, right = value >> half, value & mask
        for turn in range(_ROUNDS):
            left, right = right, left ^ (self._mix(size, turn, right) & mask)
        return left << half | right

    def _mix(self, size: int, turn: int, value: int) -> int:
        text = f"{size}:{turn}:{value}".encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=8, key=self._secret).digest(), "big")
