"""Defects in how a chunk hash is written into a key, and in the key as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from harness.mutants.mutant import mutant
from harness.mutants.rewriting import OtherKey, OtherText
from harness.reference.lm import LmConnection, ReferenceClient
from wire.keys import ChunkHash

WRITING = ("keys.format.format", "lm.request.encode", "lm.request.put-on-the-wire")


def _unsigned(value: ChunkHash) -> ChunkHash:
    return value & ((1 << 64) - 1) if isinstance(value, int) and value < 0 else value


def _number(value: ChunkHash) -> ChunkHash:
    return int.from_bytes(value, "big") if isinstance(value, bytes) else value


def _magnitude(value: ChunkHash) -> ChunkHash:
    return abs(value) if isinstance(value, int) else value


def _low_bits(value: ChunkHash, bits: int) -> ChunkHash:
    if isinstance(value, int):
        return (abs(value) & ((1 << bits) - 1)) * (-1 if value < 0 else 1)
    return value[-bits // 4 :] if isinstance(value, str) else value


@mutant(
    "key-cut-to-the-field",
    stands_for="strncpy or a slice into the 150 bytes of the key field: two long model names then share one key.",
    found_by=("lm.request.long-key-is-not-sent",),
)
class CutsKeys(ReferenceClient):
    """Cuts a key that is too long for its field."""

    def _key(self, link: LmConnection, key: Mapping[str, Any]) -> str:
        return super()._key(link, key).encode()[:150].decode(errors="ignore")


@mutant(
    "key-hash-decimal",
    stands_for="LMCache #1544 and #1406: to_string wrote the hash in decimal while from_string read it as hexadecimal.",
    releases="0.3.6 and later",
    found_by=WRITING,
)
class DecimalHash(ReferenceClient):
    """Writes the chunk hash in decimal."""

    codec = OtherText(lambda it: it.with_hash(str(it.key.chunk_hash)) if isinstance(it.key.chunk_hash, int) else it.parts)


@mutant(
    "key-hash-hex-too-early",
    stands_for="A client of a later release that talks to servers of 0.3.3 to 0.3.5, whose keys carry the hash in decimal.",
    releases="0.3.3 to 0.3.5",
    found_by=WRITING,
)
class HexHash(ReferenceClient):
    """Writes the chunk hash in hexadecimal where the release writes it in decimal."""

    codec = OtherText(lambda it: it.with_hash(f"{it.key.chunk_hash:x}") if isinstance(it.key.chunk_hash, int) else it.parts)


@mutant(
    "key-hash-unsigned",
    stands_for="printf of a uint64_t, or Rust's {:x} of an i64, which shows two's complement: lmcache writes -1a2b.",
    releases="0.3.3 and later",
    found_by=("keys.format.format", "lm.request.encode"),
)
class UnsignedHash(ReferenceClient):
    """Writes a negative hash as the unsigned number of the same 64 bits."""

    codec = OtherKey(lambda key: replace(key, chunk_hash=_unsigned(key.chunk_hash)))


@mutant(
    "key-hash-padded",
    stands_for="A format such as %016llx: servers parse the number, but every other store compares the text of keys.",
    releases="0.3.3 and later",
    found_by=("keys.format.format", "lm.request.encode"),
)
class PaddedHash(ReferenceClient):
    """Pads the hash with zeros to 16 digits."""

    codec = OtherText(lambda it: it.with_hash(it.parts[it.place].rjust(16, "0")))


@mutant(
    "key-digest-loses-zeros",
    stands_for="A digest that is turned into a big integer and printed: LMCache #2450 had to tell bytes and integers apart.",
    releases="0.3.13 and later",
    found_by=("keys.format.format",),
)
class NumberOfDigest(ReferenceClient):
    """Writes a digest without its leading zeros."""

    codec = OtherKey(lambda key: replace(key, chunk_hash=_number(key.chunk_hash)))


@mutant(
    "key-hash-64-bits",
    stands_for="A hash kept in a 64-bit integer: with sha256 of older vLLM lmcache's integers have 256 bits.",
    found_by=("lm.identity.other-key", "keys.format.format"),
)
class ShortHash(ReferenceClient):
    """Keeps the low 64 bits of a hash."""

    codec = OtherKey(lambda key: replace(key, chunk_hash=_low_bits(key.chunk_hash, 64)))


@mutant(
    "key-hash-32-bits",
    stands_for="A hash that passes through an int or a size_t of a 32-bit build, or through a JavaScript bit operation.",
    found_by=(
        "lm.identity.other-key",
        "keys.format.format",
    ),
)
class HalfHash(ReferenceClient):
    """Keeps the low 32 bits of a hash."""

    codec = OtherKey(lambda key: replace(key, chunk_hash=_low_bits(key.chunk_hash, 32)))


@mutant(
    "key-hash-without-sign",
    stands_for="A dash that looked wrong in a key and was taken away: two chunks then share one key.",
    releases="0.3.3 and later",
    found_by=("lm.identity.other-key",),
)
class AbsoluteHash(ReferenceClient):
    """Drops the sign of a hash."""

    codec = OtherKey(lambda key: replace(key, chunk_hash=_magnitude(key.chunk_hash)))


@mutant(
    "key-hash-first-digits",
    stands_for="A digest cut to what fits a 64-bit id, as log lines and file names show it.",
    found_by=("keys.format.format",),
)
class FirstDigits(ReferenceClient):
    """Keeps the first 16 digits of a hash."""

    codec = OtherText(lambda it: it.with_hash(it.parts[it.place][:16]))
