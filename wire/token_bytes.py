"""The tokens of a long list in one form of bytes at once, so that the bytes of a chunk are a slice of them."""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Tokens32: TypeAlias = NDArray[np.int32]
"""Tokens from 0 to 2^31 - 1."""

_MARK: Final = ord("i")
"""What marshal writes before an integer of four bytes."""
_HEAD: Final = 5
"""Bytes of the type and length of a list or tuple in marshal's second version, and of a mark with its integer."""
_LITTLE: Final = np.dtype("<i4")
_WORD: Final = np.dtype("<u8")


@dataclass(frozen=True)
class Layout:
    """How an encoding writes a token, by the number of bytes that it takes with the byte in front.

    Attributes:
        bounds: the least tokens that take a byte more than those below them; 2^16 adds two.
        heads: the first byte by the size of a token; 0 where the token itself is the first byte.
        shifts: by how many bits eight bytes that hold the token behind the first one, big-endian in four, move down.
    """

    bounds: tuple[int, ...]
    heads: NDArray[np.uint64]
    shifts: NDArray[np.uint64] | None


CBOR: Final = Layout(
    (24, 256, 1 << 16),
    np.array([0, 0, 0x18, 0x19, 0, 0x1A], np.uint64),
    np.array([0, 32, 24, 16, 0, 0], np.uint64),
)
"""RFC 8949, unsigned integers in their shortest form."""

PICKLE: Final = Layout((256, 1 << 16), np.array([0, 0, ord("K"), ord("M"), 0, ord("J")], np.uint64), None)
"""BININT1, BININT2 and BININT, little-endian."""


def tokens32(tokens: Sequence[int]) -> Tokens32 | None:
    """The tokens as an array, or None where one of them is no plain ``int`` from 0 to 2^31 - 1, or there are none.

    Marshal writes every object with its exact type in front, quicker than anything else looks at it.
    """
    plain = tokens if isinstance(tokens, list) else tuple(tokens)
    count = len(plain)
    try:
        data = marshal.dumps(plain, 2)
    except ValueError:
        return None
    if not count or len(data) != _HEAD * (count + 1):
        return None
    if (np.ndarray(count, np.uint8, data, _HEAD, (_HEAD,)) != _MARK).any():
        return None
    found: Tokens32 = np.ndarray(count, _LITTLE, data, _HEAD + 1, (_HEAD,)).copy()
    return None if found.min() < 0 else found


def four_bytes(tokens: Tokens32, order: str) -> bytes:
    """Each token as four bytes; ``order`` is ``<`` or ``>``."""
    return tokens.astype(f"{order}i4", copy=False).tobytes()


def shortest(tokens: Tokens32, chunk_size: int, layout: Layout) -> tuple[bytes, list[int]]:
    """The tokens one after the other in an encoding whose size depends on the token, and where each chunk ends in it."""
    sizes = np.ones(len(tokens), np.int8)
    if layout.shifts is None:
        sizes += 1
    for bound in layout.bounds:
        more = tokens >= bound
        sizes += more
    sizes += more
    words: NDArray[np.uint64]
    if layout.shifts is None:
        words = tokens.astype(np.uint64) << np.uint64(8)
    else:
        words = tokens.byteswap().view(np.uint32).astype(np.uint64) << np.uint64(8)
        words >>= layout.shifts.take(sizes)
    words |= layout.heads.take(sizes)
    ends = sizes.cumsum(dtype=np.int64)
    made = np.empty(int(ends[-1]) + _WORD.itemsize, np.uint8)
    # Eight bytes at the place of each token in turn: the next one overwrites what is not of this one.
    np.ndarray(len(made) - _WORD.itemsize + 1, _WORD, made.data, 0, (1,))[ends - sizes] = words
    boundaries: list[int] = ends[chunk_size - 1 :: chunk_size].tolist()
    return made.tobytes(), boundaries
