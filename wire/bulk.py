"""The chain of a long list of tokens in one loop: what :mod:`wire.chunks` and :mod:`wire.hashes` say link by link, quicker.

A chain is made part by part. A part with a token that the quick way does not know goes link by link, as short lists do, so that
hashes and errors are the same.
"""

from __future__ import annotations

import hashlib
import pickle
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import cbor2
import numpy as np
import xxhash
from blake3 import blake3

from wire.hashes import ChainInput, tuple_hash
from wire.keys import ChunkHash
from wire.token_bytes import Tokens32, cbor, four_bytes, tokens32

Made = TypeVar("Made", bound=ChunkHash)
Tokens = Sequence[int] | Tokens32


@dataclass(frozen=True)
class Quick(Generic[Made]):
    """A quick way to the hashes of whole chunks.

    Attributes:
        make: the hashes, of the tokens, where the chunks begin in them, and the hash before; None: not known.
        of_numbers: whether it wants all tokens as one array, if that can be: looking at each object once is much of the work.
    """

    make: Callable[[Tokens, range, Made], list[Made] | None]
    of_numbers: bool = False

    def __call__(self, tokens: Tokens, starts: range, previous: Made) -> list[Made] | None:
        """The same as `make`."""
        return self.make(tokens, starts, previous)


_PART: Final = 8192
"""Tokens that are looked at at once, about: what is made of them stays near the processor."""
_LONG_CHUNK: Final = 64
"""Tokens of a chunk from which on a slice is copied as quickly as it is walked through."""
_NINE_BYTES: Final = b"\x1b"
"""What CBOR writes before an integer of more than 32 bits."""
_LEAST: Final = b"\0\0\0\1\0\0\0\0"
_SAMPLE: Final[ChainInput] = (-(2**63), (0, 2**32 - 1, 2**61), ())
_INTERPRETER_HASHES_ALIKE: Final = hash(_SAMPLE) == tuple_hash(_SAMPLE)


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
    if isinstance(tokens, np.ndarray):
        quick = None  # integers of numpy are not those of Python, and what becomes of them is for the link to say
    numbers = tokens32(tokens) if quick is not None and quick.of_numbers else None
    for begin in range(0, full, step):
        starts = range(begin, min(begin + step, full), chunk_size)
        made = quick(tokens if numbers is None else numbers, starts, previous) if quick is not None else None
        if made is None:
            made = [previous := link(previous, tokens[at : at + chunk_size]) for at in starts]
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

    last = third[0] if third else None

    def chain_by_hash(tokens: Tokens, starts: range, previous: ChunkHash) -> list[ChunkHash] | None:
        part = tokens[starts.start : starts.start + starts.step * len(starts)]
        # A sum with anything but integers in it is none, or fails.
        try:
            if type(sum(part)) is not int:
                return None
        except (TypeError, ArithmeticError):
            return None
        size = starts.step
        pieces: Iterable[tuple[int, ...]]
        if size < _LONG_CHUNK:
            pieces = zip(*[iter(part)] * size, strict=True)  # one iterator so many times: tuples of so many tokens
        else:
            pieces = (tuple(part[at : at + size]) for at in range(0, len(part), size))
        if third:
            return [previous := hash((previous, piece, last)) for piece in pieces]
        return [previous := hash((previous, piece)) for piece in pieces]

    return Quick(chain_by_hash)


def digests(
    algorithm: str, third: tuple[object, ...], carry: Callable[[bytes], ChunkHash], cut: slice | None
) -> Quick[ChunkHash]:
    """Hashes of tuples by a digest of vLLM.

    ``carry`` says what becomes of a digest; where that is an integer of eight of its bytes, big-endian, ``cut`` says of which.
    """
    digest = xxhash.xxh3_128_digest if algorithm.startswith("xxhash") else _sha256
    return _of_cbor(digest, third, carry, cut) if "cbor" in algorithm else _of_pickles(digest, third, carry)


_NOTHING: Final = hashlib.sha256()


def _sha256(data: bytes | memoryview) -> bytes:
    made = _NOTHING.copy()  # quicker than a new one, for which OpenSSL looks up the algorithm
    made.update(data)
    return made.digest()


def _of_cbor(
    digest: Callable[[bytes | memoryview], bytes],
    third: tuple[object, ...],
    carry: Callable[[bytes], ChunkHash],
    cut: slice | None,
) -> Quick[ChunkHash]:
    lead = bytes([0x82 + len(third)])
    tail = b"".join(map(cbor2.dumps, third))
    kept = digest(b"")[cut] if cut is not None else digest(b"")
    if cut is not None:
        mark = _NINE_BYTES
    elif carry is bytes:
        mark = cbor2.dumps(kept)[: -len(kept)]
    else:
        return _of_cbor_joined(digest, lead, tail, carry)
    front, width = len(lead) + len(mark), len(kept)

    def chain_in_cbor(tokens: Tokens, starts: range, previous: ChunkHash) -> list[ChunkHash] | None:
        size = starts.step
        numbers = _part(tokens, starts)
        if numbers is None:
            return None
        head = cbor2.dumps([0] * size)[:-size]
        # Each chunk has room before it for the hash before, so that what is hashed is one piece of the bytes.
        body, begins, ends = cbor(numbers, size, tail + lead + mark + bytes(width) + head)
        view = memoryview(body)
        at = begins - len(head) - width
        places = zip(at.tolist(), (at + width).tolist(), (at - front).tolist(), (ends + len(tail)).tolist(), strict=True)
        before = cbor2.dumps(previous, canonical=True)
        fits: bytes | None = before[len(mark) :] if len(before) == len(mark) + width and before.startswith(mark) else None
        found: list[bytes] = []
        for start, stop, begin, end in places:
            if fits is not None:
                body[start:stop] = fits
                made = digest(view[begin:end])
            else:
                made = digest(b"".join((lead, before, view[stop:end])))
            fits = made = made if cut is None else made[cut]
            if cut is not None and made < _LEAST:
                fits, before = None, cbor2.dumps(int.from_bytes(made, "big"))
            found.append(made)
        return found if cut is None else list(struct.unpack(f">{len(found)}Q", b"".join(found)))  # type: ignore[return-value]

    return Quick(chain_in_cbor, of_numbers=True)


def _of_cbor_joined(
    digest: Callable[[bytes | memoryview], bytes], lead: bytes, tail: bytes, carry: Callable[[bytes], ChunkHash]
) -> Quick[ChunkHash]:
    """Where hashes are integers of more than eight bytes, whose length in CBOR varies."""

    def chain_of_joined_cbor(tokens: Tokens, starts: range, previous: ChunkHash) -> list[ChunkHash] | None:
        size = starts.step
        numbers = _part(tokens, starts)
        if numbers is None:
            return None
        body, begins, ends = cbor(numbers, size)
        head = cbor2.dumps([0] * size)[:-size]
        found: list[ChunkHash] = []
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            before = cbor2.dumps(previous, canonical=True)
            previous = carry(digest(b"".join((lead, before, head, body[begin:end], tail))))
            found.append(previous)
        return found

    return Quick(chain_of_joined_cbor, of_numbers=True)


def _of_pickles(
    digest: Callable[[bytes], bytes], third: tuple[object, ...], carry: Callable[[bytes], ChunkHash]
) -> Quick[ChunkHash]:
    def chain_of_pickles(tokens: Tokens, starts: range, previous: ChunkHash) -> list[ChunkHash]:
        size = starts.step
        found: list[ChunkHash] = []
        for begin in starts:
            value = (previous, tuple(tokens[begin : begin + size]), *third)
            previous = carry(digest(pickle.dumps(value, pickle.HIGHEST_PROTOCOL)))
            found.append(previous)
        return found

    return Quick(chain_of_pickles)


def _hex_words(tokens: Tokens, starts: range, previous: ChunkHash) -> list[ChunkHash] | None:
    """The chain until 0.3.2: sha256 of the hexadecimal digits before and the tokens, little-endian."""
    body = _words(tokens, starts, "<")
    if body is None or not isinstance(previous, str):
        return None
    step = 4 * starts.step
    found: list[ChunkHash] = []
    for begin in range(0, len(body), step):
        previous = hashlib.sha256(previous.encode("ascii") + body[begin : begin + step]).hexdigest()
        found.append(previous)
    return found


def _blake3_words(tokens: Tokens, starts: range, previous: bytes) -> list[bytes] | None:
    """The chain of the multiprocess server: blake3 of the digest before and the tokens, big-endian."""
    body = _words(tokens, starts, ">")
    if body is None:
        return None
    step = 4 * starts.step
    return [previous := blake3(previous + body[begin : begin + step]).digest() for begin in range(0, len(body), step)]


hex_words: Final = Quick(_hex_words, of_numbers=True)
blake3_words: Final = Quick(_blake3_words, of_numbers=True)


def _words(tokens: Tokens, starts: range, order: str) -> bytes | None:
    numbers = _part(tokens, starts)
    return None if numbers is None else four_bytes(numbers, order)


def _part(tokens: Tokens, starts: range) -> Tokens32 | None:
    """The tokens of some chunks as an array, if that can be."""
    part = tokens[starts.start : starts.start + starts.step * len(starts)]
    return part if isinstance(part, np.ndarray) else tokens32(part)
