"""Chunk keys: how a list of tokens becomes the keys under which its KV cache is stored.

Source: ``lmcache.v1.token_database.ChunkedTokenDatabase`` of each release.
"""

from __future__ import annotations

import functools
import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from wire.errors import EncodeError
from wire.hashes import DIGESTS, MANY, ChainInput, digest_as_int, tuple_hash
from wire.keys import CacheKey, ChunkHash, format_keys
from wire.release import RangeTable, Release

if TYPE_CHECKING:
    from wire import bulk

TEXT_ALGORITHM = "sha256_hex"
"""Our name for the one algorithm that releases before 0.3.3 have."""

Returns = Literal["int", "bytes"]
"""What a hash function gives back: vLLM's gave integers until 0.10.1 and digests from 0.10.2 on; ``builtin`` gives integers."""

Third = Literal["text chain", "absent", "none", "empty tuple"]

Link = Callable[[ChunkHash | None, Sequence[int]], ChunkHash]
"""Makes the hash of a chunk of the hash before it and the tokens in it."""

_THIRD_ELEMENTS: Final[Mapping[Third, tuple[object, ...]]] = {"absent": (), "none": (None,), "empty tuple": ((),)}


@dataclass(frozen=True)
class ChunkChain:
    """How the hash of one chunk depends on the hash before it."""

    third: Third
    """The third element of what is hashed."""
    folds: bool
    """Digests become integers (their first 8 bytes, big-endian) at every step, the starting hash included."""
    saves_unfull_chunk: bool
    """The default for a last chunk that is not full."""


CHUNK_CHAINS = RangeTable(
    "chunk chain",
    ("0.3.1", ChunkChain("text chain", folds=False, saves_unfull_chunk=True)),
    ("0.3.3", ChunkChain("absent", folds=False, saves_unfull_chunk=True)),
    ("0.3.4", ChunkChain("none", folds=False, saves_unfull_chunk=True)),
    ("0.3.11", ChunkChain("none", folds=False, saves_unfull_chunk=False)),
    ("0.4.1", ChunkChain("empty tuple", folds=False, saves_unfull_chunk=False)),
    ("0.4.6", ChunkChain("empty tuple", folds=True, saves_unfull_chunk=False)),
)


class Chunk(NamedTuple):
    """Tokens ``start`` to ``end`` (excluded) of a request, and the hash that names them.

    A tuple: a long prompt has tens of thousands, and making other values would take longer than the hashes.
    """

    start: int
    end: int
    chunk_hash: ChunkHash


_MAKE_CHUNK: Final[Callable[[Iterable[object]], Chunk]] = functools.partial(tuple.__new__, Chunk)
"""``Chunk._make`` without a step in Python for each."""


def chunk_hashes(
    release: Release,
    tokens: Sequence[int],
    *,
    chunk_size: int,
    algorithm: str = "builtin",
    none_hash: ChunkHash = 0,
    returns: Returns | None = None,
    save_unfull_chunk: bool | None = None,
    skip: int = 0,
    hash_of_none: int | None = None,
) -> list[Chunk]:
    """The chunks of a token list with their chained hashes.

    ``returns`` says whether the hash function gives integers or digests; where it is not given, it gives what ``none_hash`` is.
    ``skip`` leading tokens are masked out: their chunks are hashed and left out of the answer. ``hash_of_none`` is what
    ``hash(None)`` gives in the process that is modelled; ``builtin`` chains of 0.3.4 to 0.3.15 depend on it.

    Raises:
        EncodeError: ``skip`` is no multiple of ``chunk_size``, the algorithm is unknown for the release, a token does not fit
            into 32 bits (until 0.3.2), or the keys depend on ``hash(None)`` and it is not given, or on Python's hash of bytes
            or text.
    """
    if skip % chunk_size:
        raise EncodeError(f"{skip} masked tokens are no multiple of the chunk size {chunk_size}")
    chain = CHUNK_CHAINS[release]
    keep = chain.saves_unfull_chunk if save_unfull_chunk is None else save_unfull_chunk
    end = len(tokens) if keep else len(tokens) - len(tokens) % chunk_size
    as_bytes = returns == "bytes" if returns is not None else isinstance(none_hash, bytes)
    first: ChunkHash
    if chain.third == "text chain":
        link, first = _text_link(release, algorithm), ""
    else:
        link = _tuple_link(release, chain, algorithm, as_bytes, hash_of_none)
        first = _tuple_start(chain, algorithm, none_hash)
    if len(tokens) >= MANY and chunk_size > 0:
        from wire import bulk  # late: numpy takes longer to import than a short list to hash

        quick = _quick_way(chain, algorithm, as_bytes, hash_of_none)
        hashes = bulk.in_bulk(tokens, end, chunk_size, first, quick, link)
    else:
        pieces = (tokens[start : start + chunk_size] for start in range(0, end, chunk_size))
        hashes = list(chained(pieces, first, link))
    ends = (*range(chunk_size, end, chunk_size), end)
    skipped = max(0, skip // chunk_size)
    # Not strict: where there are no tokens, there is an end without a chunk.
    members = zip(range(0, end, chunk_size)[skipped:], ends[skipped:], hashes[skipped:], strict=False)
    return list(map(_MAKE_CHUNK, members))


def chunk_keys(release: Release, identity: CacheKey, chunks: Sequence[Chunk]) -> list[str]:
    """The key string of each chunk; ``identity`` gives all of the key but the hash.

    Raises:
        EncodeError: the release cannot write such a key.
    """
    return format_keys(release, identity, [chunk.chunk_hash for chunk in chunks])


def chained(pieces: Iterable[Sequence[int]], start: ChunkHash | None, link: Link) -> Iterator[ChunkHash]:
    """The hash of each piece, made of the hash before it; the first is made of ``start``."""
    previous = start
    for piece in pieces:
        previous = link(previous, piece)
        yield previous


def tuple_link(function: Callable[[ChainInput], ChunkHash], third: Third) -> Link:
    """The link of 0.3.3 and later: a function of the previous hash, the tokens, and a third element or none."""
    elements = _THIRD_ELEMENTS[third]
    return lambda previous, piece: function((previous, tuple(piece), *elements))


def words_link(digest: Callable[[bytes], bytes], *, words: str = "<I", as_text: bool = True) -> Link:
    """The link until 0.3.2: a digest of the previous hash and the tokens as integers of one width and byte order.

    ``words`` is a format of :mod:`struct`. With ``as_text`` the previous hash is its hexadecimal digits in ASCII, otherwise it is
    a digest.

    Raises:
        EncodeError: when called: a token does not fit into its word.
    """

    def link(previous: ChunkHash | None, piece: Sequence[int]) -> ChunkHash:
        before = previous.encode("ascii") if isinstance(previous, str) else previous
        assert isinstance(before, bytes)
        try:
            found = digest(before + struct.pack(f"{words[0]}{len(piece)}{words[1]}", *piece))
        except struct.error:
            bits = 8 * struct.calcsize(words)
            (token, *_) = (token for token in piece if not 0 <= token < 1 << bits)
            raise EncodeError(f"token {token} does not fit into {bits} bits") from None
        return found.hex() if as_text else found

    return link


def _text_link(release: Release, algorithm: str) -> Link:
    if algorithm != TEXT_ALGORITHM:
        raise EncodeError(f"lmcache {release} has one algorithm, {TEXT_ALGORITHM}, not {algorithm!r}")
    return words_link(lambda data: hashlib.sha256(data).digest())


def _tuple_link(release: Release, chain: ChunkChain, algorithm: str, as_bytes: bool, hash_of_none: int | None) -> Link:
    if algorithm == "builtin" and chain.third == "none" and hash_of_none is None:
        raise EncodeError(
            f"builtin chunk keys of lmcache {release} contain hash(None), which differs from process to process "
            "before CPython 3.12; they cannot be derived without that value"
        )
    if algorithm != "builtin" and algorithm not in DIGESTS:
        raise EncodeError(f"unknown hash algorithm {algorithm!r}; known: builtin, {', '.join(DIGESTS)}")

    def function(value: ChainInput) -> ChunkHash:
        if algorithm == "builtin":
            return tuple_hash(value, hash_of_none=hash_of_none or 0)
        digest = DIGESTS[algorithm](value)
        return _fold(chain, digest if as_bytes else digest_as_int(algorithm, digest))

    return tuple_link(function, chain.third)


def _quick_way(chain: ChunkChain, algorithm: str, as_bytes: bool, hash_of_none: int | None) -> bulk.Quick[ChunkHash] | None:
    """The way of :mod:`wire.bulk` to the hashes of such a chain; None where there is none."""
    from wire import bulk  # late, likewise

    third = _THIRD_ELEMENTS.get(chain.third, ())
    if chain.third == "text chain":
        return bulk.hex_words
    if algorithm == "builtin":
        return bulk.builtin(third, hash_of_none)
    carry = (fold if chain.folds else bytes) if as_bytes else functools.partial(digest_as_int, algorithm)
    cut = (slice(8) if chain.folds else None) if as_bytes else slice(-8, None) if algorithm.startswith("sha256_cbor") else None
    return bulk.digests(algorithm, third, carry, cut)


def _tuple_start(chain: ChunkChain, algorithm: str, none_hash: ChunkHash) -> ChunkHash:
    start = _fold(chain, none_hash)
    if algorithm == "builtin" and not isinstance(start, int):
        raise EncodeError(
            f"builtin chunk keys cannot start from {type(start).__name__}: Python salts its hash, so that it differs from "
            "process to process; give the starting hash as an integer"
        )
    return start


def _fold(chain: ChunkChain, value: ChunkHash) -> ChunkHash:
    return fold(value) if chain.folds else value


def fold(value: ChunkHash) -> ChunkHash:
    """What becomes of a digest from 0.4.6 on: the integer of its first 8 bytes, big-endian; any other value stays."""
    return int.from_bytes(value[:8], "big") if isinstance(value, bytes) else value
