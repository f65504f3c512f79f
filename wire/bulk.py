"""The chain of a long list of tokens in one loop: what :mod:`wire.chunks` and :mod:`wire.hashes` say link by link, quicker.

A chain is made part by part. A part with a token that the quick way does not know goes link by link, as short lists do, so that
hashes and errors are the same.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import cbor2
import xxhash
from blake3 import blake3

from wire.hashes import ChainInput, tuple_hash
from wire.keys import ChunkHash
from wire.token_bytes import CBOR, PICKLE, four_bytes, shortest, tokens32

Made = TypeVar("Made", bound=ChunkHash)
Quick = Callable[[Sequence[int], int, Made], list[Made] | None]
"""The hashes of a part of the tokens that is whole chunks, of the part, the chunk size and the hash before; None: not known."""

_PART: Final = 32768
"""Tokens that are looked at at once, about: what is made of them stays near the processor."""
_SAMPLE: Final[ChainInput] = (-(2**63), (0, 2**32 - 1, 2**61), ())
_INTERPRETER_HASHES_ALIKE: Final = hash(_SAMPLE) == tuple_hash(_SAMPLE)
_PICKLED_AT_LEAST: Final = 4
_PICKLED_AT_MOST: Final = 8192
"""Tokens of a chunk: shorter tuples have marks of their own, longer ones are more than one frame."""
_FRAME: Final = 0x95
_FRAME_START: Final = b"\x80\x05\x95"


def in_bulk(
    tokens: Sequence[int],
    end: int,
    chunk_size: int,
    start: Made,
    quick: Quick[Made] | None,
    link: Callable[[Made, Sequence[int]], Made],
) -> list[Made]:
    """The hashes of all chunks of the tokens up to ``end``, a last one that is not full included, from ``start`` on."""
    step = max(1, _PART // chunk_size) * chunk_size
    full = end - end % chunk_size
    found: list[Made] = []
    previous = start
    for begin in range(0, full, step):
        part = tokens[begin : min(begin + step, full)]
        made = quick(part, chunk_size, previous) if quick is not None else None
        if made is None:
            made = [previous := link(previous, part[at : at + chunk_size]) for at in range(0, len(part), chunk_size)]
        found += made
        previous = made[-1]
    if full < end:
        found.append(link(previous, tokens[full:end]))
    return found


def builtin(third: tuple[object, ...], hash_of_none: int | None) -> Quick[ChunkHash] | None:
    """Hashes of tuples by ``hash`` itself where that is `wire.hashes.tuple_hash`; None where it is not.

    An integer stands for None that hashes to what None does in the process that is modelled.
    """
    if not _INTERPRETER_HASHES_ALIKE:
        return None
    if third == (None,):
        if hash_of_none is None or hash(hash_of_none) != hash_of_none:
            return None
        third = (hash_of_none,)

    def quick(part: Sequence[int], chunk_size: int, previous: ChunkHash) -> list[ChunkHash] | None:
        numbers = tuple(part)
        if not _whole_numbers(numbers):
            return None
        starts = range(0, len(numbers), chunk_size)
        if not third:
            return [previous := hash((previous, numbers[begin : begin + chunk_size])) for begin in starts]
        (last,) = third
        return [previous := hash((previous, numbers[begin : begin + chunk_size], last)) for begin in starts]

    return quick


def _whole_numbers(numbers: tuple[int, ...]) -> bool:
    """Whether all are integers: a sum with anything else in it is none, or fails."""
    try:
        return type(sum(numbers)) is int
    except (TypeError, ArithmeticError):
        return False


def digests(algorithm: str, third: tuple[object, ...], carry: Callable[[bytes], ChunkHash]) -> Quick[ChunkHash] | None:
    """Hashes of tuples by a digest of vLLM; ``carry`` says what becomes of a digest. None where the quick way is not known."""
    digest = xxhash.xxh3_128_digest if algorithm.startswith("xxhash") else _sha256
    if "cbor" in algorithm:
        return _of_cbor(digest, third, carry)
    return _of_pickles(digest, third, carry) if _pickles_alike() else None


def _sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _of_cbor(
    digest: Callable[[bytes], bytes], third: tuple[object, ...], carry: Callable[[bytes], ChunkHash]
) -> Quick[ChunkHash]:
    lead = bytes([0x82 + len(third)])
    tail = b"".join(map(cbor2.dumps, third))

    def quick(part: Sequence[int], chunk_size: int, previous: ChunkHash) -> list[ChunkHash] | None:
        numbers = tokens32(part)
        if numbers is None:
            return None
        body, ends = shortest(numbers, chunk_size, CBOR)
        head = cbor2.dumps([0] * chunk_size)[:-chunk_size]
        found: list[ChunkHash] = []
        begin = 0
        for end in ends:
            previous = carry(digest(b"".join((lead, _cbor(previous), head, body[begin:end], tail))))
            found.append(previous)
            begin = end
        return found

    return quick


def _cbor(value: ChunkHash) -> bytes:
    if isinstance(value, int) and 1 << 32 <= value < 1 << 64:
        return b"\x1b" + value.to_bytes(8, "big")
    return cbor2.dumps(value, canonical=True)


def _of_pickles(
    digest: Callable[[bytes], bytes], third: tuple[object, ...], carry: Callable[[bytes], ChunkHash]
) -> Quick[ChunkHash]:
    tail = b"t\x94" + b"".join(map(_pickle, third)) + (b"\x87" if third else b"\x86") + b"\x94."

    def quick(part: Sequence[int], chunk_size: int, previous: ChunkHash) -> list[ChunkHash] | None:
        numbers = tokens32(part) if _PICKLED_AT_LEAST <= chunk_size <= _PICKLED_AT_MOST else None
        if numbers is None:
            return None
        body, ends = shortest(numbers, chunk_size, PICKLE)
        found: list[ChunkHash] = []
        begin = 0
        for end in ends:
            before = _pickle(previous)
            size = (len(before) + 1 + end - begin + len(tail)).to_bytes(8, "little")
            previous = carry(digest(b"".join((_FRAME_START, size, before, b"(", body[begin:end], tail))))
            found.append(previous)
            begin = end
        return found

    return quick


def _pickle(value: object) -> bytes:
    """The opcodes of a value, without what stands around them."""
    data = pickle.dumps(value, protocol=5)
    return data[11:-1] if data[2] == _FRAME else data[2:-1]


@functools.cache
def _pickles_alike() -> bool:
    """Whether this Python writes pickles as those that this module was made for."""
    tokens = (0, 255, 256, 65535, 65536, 2**31 - 1)
    samples: tuple[tuple[ChunkHash, tuple[object, ...]], ...] = ((-1, ()), (2**64 - 1, (None,)), (bytes(32), ((),)))
    return all(
        _of_pickles(bytes, third, bytes)(tokens, len(tokens), start)
        == [pickle.dumps((start, tokens, *third), protocol=pickle.HIGHEST_PROTOCOL)]
        for start, third in samples
    )


def hex_words(part: Sequence[int], chunk_size: int, previous: ChunkHash) -> list[ChunkHash] | None:
    """The chain until 0.3.2: sha256 of the hexadecimal digits before and the tokens, little-endian."""
    numbers = tokens32(part)
    if numbers is None or not isinstance(previous, str):
        return None
    body = four_bytes(numbers, "<")
    step = 4 * chunk_size
    found: list[ChunkHash] = []
    for begin in range(0, len(body), step):
        previous = hashlib.sha256(previous.encode("ascii") + body[begin : begin + step]).hexdigest()
        found.append(previous)
    return found


def blake3_words(part: Sequence[int], chunk_size: int, previous: bytes) -> list[bytes] | None:
    """The chain of the multiprocess server: blake3 of the digest before and the tokens, big-endian."""
    numbers = tokens32(part)
    if numbers is None:
        return None
    body = four_bytes(numbers, ">")
    step = 4 * chunk_size
    return [previous := blake3(previous + body[begin : begin + step]).digest() for begin in range(0, len(body), step)]
