"""The tokens of a long list in one form of bytes at once, so that the bytes of a chunk are a slice of them."""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import cbor2
import numpy as np
from numpy.typing import NDArray

Tokens32: TypeAlias = NDArray[np.int32]
"""Tokens from 0 to 2^31 - 1."""
Places: TypeAlias = NDArray[np.int64]
"""Places in bytes, one for each chunk."""

_MARK: Final = ord("i")
"""What marshal writes before an integer of four bytes."""
_HEAD: Final = 5
"""Bytes of the type and length of a list or tuple in marshal's second version, and of a mark with its integer."""
_LITTLE: Final = np.dtype("<i4")
_WORD: Final = np.dtype("<u8")


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


def cbor(tokens: Tokens32, chunk_size: int, between: bytes = b"") -> tuple[bytearray, Places, Places]:
    """The tokens one after the other in CBOR, integers in their shortest form, and where each chunk begins and ends in it.

    ``between`` stands before each chunk and behind the last one. There are as many tokens as fill whole chunks.
    """
    return (_cbor_overwritten if OVERWRITES_IN_TURN else cbor_joined)(tokens, chunk_size, between)


def cbor_joined(tokens: Tokens32, chunk_size: int, between: bytes = b"") -> tuple[bytearray, Places, Places]:
    """The same token by token: slower, and right whatever numpy does."""
    pieces = [b"".join(map(cbor2.dumps, piece)) for piece in tokens.reshape(-1, chunk_size).tolist()]
    ends = np.cumsum([len(between) + len(piece) for piece in pieces], dtype=np.int64)
    begins: Places = np.subtract(ends, [len(piece) for piece in pieces], dtype=np.int64)
    return bytearray(between + between.join(pieces) + between + bytes(_WORD.itemsize)), begins, ends


def _cbor_overwritten(tokens: Tokens32, chunk_size: int, between: bytes) -> tuple[bytearray, Places, Places]:
    """The same by words of eight bytes that overlap: right only where numpy assigns them in the order of their places."""
    two, three, five = ((tokens >= bound).view(np.uint8) for bound in (24, 256, 1 << 16))
    sizes = two + three + (five << 1) + np.uint8(1)
    # Eight bytes for each: the first one, which says the size or is the token, then the token, big-endian.
    words = tokens.byteswap().view(np.uint32).astype(np.uint64)
    words <<= np.uint64(8)
    words >>= (np.uint8(40) - (sizes << 3)).astype(np.uint64)
    words |= (two * np.uint8(24) + three + five).astype(np.uint64)
    ends = sizes.cumsum(dtype=np.int64)
    if between:
        chunks = ends.reshape(-1, chunk_size)
        chunks += np.arange(1, len(chunks) + 1, dtype=np.int64)[:, np.newaxis] * len(between)
    last = ends[chunk_size - 1 :: chunk_size]
    made = bytearray(int(ends[-1]) + len(between) + _WORD.itemsize)
    # They are written in turn, each at its place: the next one overwrites what is not of this one.
    places: Places = np.subtract(ends, sizes, dtype=np.int64)
    _anywhere(made, _WORD)[places] = words
    begins = places[::chunk_size]
    if between:
        whole = np.dtype((np.void, len(between)))
        _anywhere(made, whole)[np.append(begins - len(between), last[-1])] = np.frombuffer(between, whole)
    return made, begins, last


def _anywhere(made: bytearray, kind: np.dtype[Any]) -> NDArray[Any]:
    """The values of one kind that may begin at any byte."""
    return np.ndarray(len(made) - kind.itemsize + 1, kind, made, 0, (1,))


def overwrites_in_turn() -> bool:
    """Whether numpy assigns values that overlap one after the other, tried on tokens of every length in CBOR."""
    tokens: Tokens32 = np.array((2**31 - 1, 0, 65535, 23, 256, 24, 65536, 1, 255, 2) * 8, np.int32)
    between = b"\xff\xfe\xfd"
    made, begins, ends = _cbor_overwritten(tokens, 10, between)
    wanted, first, last = cbor_joined(tokens, 10, between)
    written = int(last[-1]) + len(between)
    return made[:written] == wanted[:written] and [*begins] == [*first] and [*ends] == [*last]


OVERWRITES_IN_TURN: Final = overwrites_in_turn()
"""Promised by nobody, and so tried once in each process; where it is not so, tokens are written one by one."""
