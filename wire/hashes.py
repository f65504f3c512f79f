"""Hash functions behind chunk keys, and the hash of tokens of the multiprocess server.

Source: CPython 3.8 to 3.13 (tuple and integer hash, ``Objects/tupleobject.c``), ``vllm.utils.hashing`` and
``lmcache.v1.multiprocess.token_hasher``.
"""

from __future__ import annotations

import hashlib
import pickle
import struct
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import cbor2
import xxhash
from blake3 import blake3

ChainInput = tuple[object, ...]
"""What a chain hashes: prefix hash, tuple of tokens and, from 0.3.4, a third element."""

Digest = Callable[[object], bytes]

MANY: Final = 512
"""Tokens from which on :mod:`wire.bulk` makes a chain."""

HASH_OF_NONE: Final = 0xFCA86420
"""``hash(None)`` from CPython 3.12 on; before, it is an address and differs from process to process."""

_MASK: Final = (1 << 64) - 1
MERSENNE: Final = (1 << 61) - 1
TUPLE_PRIMES: Final = (11400714785074694791, 14029467366897019727, 2870177450012600261)
"""The primes 1, 2 and 5 of xxHash, as CPython's hash of a tuple has them."""
TUPLE_LENGTH_MARK: Final = 3527539
ALL_BITS: Final = 1546275796
"""What stands for a result with all bits set."""

_PRIME_1, _PRIME_2, _PRIME_5 = TUPLE_PRIMES


def tuple_hash(value: ChainInput, *, hash_of_none: int = 0) -> int:
    """CPython's hash of a tuple of integers, None and such tuples, signed 64-bit, without calling ``hash``.

    Integers hash modulo 2^61 - 1, and tuples by the xxHash-derived mixing of CPython 3.8 and later. ``hash(None)`` is an
    address before CPython 3.12, so the caller gives it (`HASH_OF_NONE` from there on).

    Raises:
        TypeError: an element is of another type.
    """
    accumulator = _PRIME_5
    for element in value:
        lane = _element_hash(element, hash_of_none) & _MASK
        accumulator = (accumulator + lane * _PRIME_2) & _MASK
        accumulator = ((accumulator << 31) | (accumulator >> 33)) & _MASK
        accumulator = accumulator * _PRIME_1 & _MASK
    accumulator = (accumulator + (len(value) ^ (_PRIME_5 ^ TUPLE_LENGTH_MARK))) & _MASK
    if accumulator == _MASK:
        accumulator = ALL_BITS
    return _signed(accumulator)


def _element_hash(element: object, hash_of_none: int) -> int:
    if isinstance(element, int):
        magnitude = abs(element) % MERSENNE
        result = -magnitude if element < 0 else magnitude
        return -2 if result == -1 else result
    if element is None:
        return hash_of_none
    if isinstance(element, tuple):
        return tuple_hash(element, hash_of_none=hash_of_none)
    raise TypeError(f"no portable hash for {type(element).__name__}")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def text_hash(text: str, *, seed: int, rounds: tuple[int, int] = (1, 3)) -> int:
    """CPython's hash of a text in a process with PYTHONHASHSEED set to ``seed``, signed 64-bit, without calling ``hash``.

    SipHash of the text in memory (one byte a character up to U+00FF), keyed with the first 16 bytes that CPython derives
    from the seed, zeros for 0. ``rounds`` are (1, 3) in CPython 3.11 and later, and (2, 4) before. The empty text hashes to 0.
    Source: ``Python/pyhash.c`` and ``Python/bootstrap_hash.c``.

    Raises:
        ValueError: the text has characters beyond U+00FF, which CPython holds in its own byte order.
    """
    data = text.encode("latin-1")
    result = 0 if not data else _signed(_siphash(_seed_bytes(seed, 16), data, *rounds))
    return -2 if result == -1 else result


def _seed_bytes(seed: int, count: int) -> bytes:
    if seed == 0:
        return bytes(count)
    made = bytearray()
    state = seed
    for _ in range(count):
        state = (state * 214013 + 2531011) & 0xFFFFFFFF
        made.append((state >> 16) & 0xFF)
    return bytes(made)


def _siphash(key: bytes, data: bytes, rounds: int, last_rounds: int) -> int:
    first: int
    second: int
    first, second = struct.unpack("<QQ", key)
    state: list[int] = [
        first ^ 0x736F6D6570736575,
        second ^ 0x646F72616E646F6D,
        first ^ 0x6C7967656E657261,
        second ^ 0x7465646279746573,
    ]
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 0xFF])
    for (word,) in struct.iter_unpack("<Q", padded):
        state[3] ^= word
        for _ in range(rounds):
            _sip_round(state)
        state[0] ^= word
    state[2] ^= 0xFF
    for _ in range(last_rounds):
        _sip_round(state)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _sip_round(state: list[int]) -> None:
    a, b, c, d = state
    a = (a + b) & _MASK
    b = _rotated(b, 13) ^ a
    a = _rotated(a, 32)
    c = (c + d) & _MASK
    d = _rotated(d, 16) ^ c
    a = (a + d) & _MASK
    d = _rotated(d, 21) ^ a
    c = (c + b) & _MASK
    b = _rotated(b, 17) ^ c
    c = _rotated(c, 32)
    state[:] = a, b, c, d


def _rotated(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (64 - bits))) & _MASK


def _sha256_cbor(value: object) -> bytes:
    return hashlib.sha256(cbor2.dumps(value, canonical=True)).digest()


def _sha256_pickle(value: object) -> bytes:
    return hashlib.sha256(pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)).digest()


def _xxhash_cbor(value: object) -> bytes:
    return xxhash.xxh3_128_digest(cbor2.dumps(value, canonical=True))


def _xxhash_pickle(value: object) -> bytes:
    return xxhash.xxh3_128_digest(pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))


DIGESTS: Final[Mapping[str, Digest]] = MappingProxyType(
    {
        "sha256_cbor": _sha256_cbor,
        "sha256_cbor_64bit": _sha256_cbor,
        "sha256": _sha256_pickle,
        "xxhash": _xxhash_pickle,
        "xxhash_cbor": _xxhash_cbor,
    }
)
"""vLLM's hash functions by the name that ``pre_caching_hash_algorithm`` takes; the two CBOR names are aliases.

``sha256`` and ``xxhash`` hash a pickle and so hold for one Python version only.
"""


def digest_as_int(algorithm: str, digest: bytes) -> int:
    """A digest as vLLM 0.10 returned it: a big-endian integer, of which ``sha256_cbor_64bit`` kept the low 64 bits."""
    value = int.from_bytes(digest, "big")
    return value & _MASK if algorithm.startswith("sha256_cbor") else value


NONE_TOKEN_HASH: Final = blake3(struct.pack(">QI", 0, 0)).digest()
"""What a chain of token hashes starts from: blake3 of eight zero bytes and one zero uint32."""


def token_hashes(tokens: Sequence[int], chunk_size: int) -> list[bytes]:
    """Hashes of the full chunks of a token list as the multiprocess server makes them, 32 bytes each.

    blake3 over the previous digest and the tokens as big-endian uint32; a partial last chunk has none.
    """
    if len(tokens) >= MANY and chunk_size > 0:
        from wire import bulk  # late: it imports this module

        end = len(tokens) - len(tokens) % chunk_size
        return bulk.in_bulk(tokens, end, chunk_size, NONE_TOKEN_HASH, bulk.blake3_words, _token_link)
    previous = NONE_TOKEN_HASH
    hashes = []
    for start in range(0, len(tokens) - chunk_size + 1, chunk_size):
        previous = _token_link(previous, tokens[start : start + chunk_size])
        hashes.append(previous)
    return hashes


def _token_link(previous: bytes, chunk: Sequence[int]) -> bytes:
    return blake3(previous + struct.pack(f">{len(chunk)}I", *chunk)).digest()
