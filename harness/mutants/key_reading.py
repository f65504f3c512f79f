"""Defects in what is read in a key."""

from __future__ import annotations

from dataclasses import replace

from harness.mutants.mutant import mutant
from harness.mutants.rewriting import Misreading
from harness.reference.codec import Codec
from harness.reference.lm import ReferenceClient
from wire.errors import DecodeError
from wire.keys import KEY_GRAMMARS, CacheKey, ChunkHash
from wire.release import Release

READING = ("keys.parse.parse", "lm.properties.key-round-trip")


def _unsigned(value: ChunkHash) -> ChunkHash:
    return value & ((1 << 64) - 1) if isinstance(value, int) else value


def _in_another_base(release: Release, text: str, key: CacheKey) -> CacheKey:
    grammar = KEY_GRAMMARS[release]
    digits = text.strip().split("@")[grammar.prefix + 3]
    try:
        return replace(key, chunk_hash=int(digits, 16 if grammar.hash_style == "decimal" else 10))
    except ValueError as error:
        raise DecodeError(str(error)) from None


def _cut_at_the_last_percent(_release: Release, text: str, key: CacheKey) -> CacheKey:
    pairs = [part.rpartition("%") for part in text.split("@") if "%" in part]
    return replace(key, tags=tuple((name, value) for name, _, value in pairs)) if key.tags else key


def _without_layers(_release: Release, text: str, key: CacheKey) -> CacheKey:
    if key.layer is None:
        return key
    raise DecodeError(f"{text!r}: {key.layer} is no tag")


@mutant(
    "key-read-unsigned",
    stands_for="strtoull, which takes a minus sign and answers the two's complement.",
    releases="0.3.3 and later",
    found_by=READING,
)
class ReadsUnsigned(ReferenceClient):
    """Reads a hash as an unsigned number of 64 bits."""

    codec = Misreading(lambda _release, _text, key: replace(key, chunk_hash=_unsigned(key.chunk_hash)))


@mutant(
    "key-read-in-another-base",
    stands_for="LMCache #1544 and #1406: from_string read as hexadecimal what to_string had written in decimal.",
    releases="0.3.3 and later",
    found_by=READING,
)
class ReadsOtherBase(ReferenceClient):
    """Reads the hash in the base in which it was not written."""

    codec = Misreading(_in_another_base)


@mutant(
    "key-read-with-ranks-swapped",
    stands_for="Two integers that stand side by side, read in the wrong order.",
    found_by=(*READING, "lm.request.decode", "lm.properties.request-round-trip"),
)
class SwapsRanks(ReferenceClient):
    """Takes the world size for the rank, and the rank for the world size."""

    codec = Misreading(lambda _release, _text, key: replace(key, world_size=key.worker_id, worker_id=key.world_size))


class _SkipsBlankParts(Codec):
    def read_key(self, release: Release, text: str) -> CacheKey:
        return super().read_key(release, "@".join(part for part in text.split("@") if part))


@mutant(
    "key-read-with-strtok",
    stands_for="strtok, which takes two separators for one: an empty part shifts all that follow.",
    found_by=("keys.parse.parse",),
)
class SkipsBlankParts(ReferenceClient):
    """Skips the parts of a key that are empty."""

    codec = _SkipsBlankParts()


@mutant(
    "key-read-at-the-last-percent",
    stands_for="rfind or rsplit where the value of a tag may hold the separator of its name.",
    releases="0.3.6 and later",
    found_by=("keys.parse.parse",),
)
class LastPercent(ReferenceClient):
    """Cuts a tag at its last percent sign."""

    codec = Misreading(_cut_at_the_last_percent)


@mutant(
    "key-read-without-layers",
    stands_for="LMCache #2135 and pull request 2595: with another number of parts the layer was looked for in the wrong place.",
    found_by=("keys.parse.parse",),
)
class LayerAsTag(ReferenceClient):
    """Takes the layer of a key for a broken tag."""

    codec = Misreading(_without_layers)


@mutant(
    "key-read-into-a-map",
    stands_for="Tags that are read into a sorted map, and of which those without a value are taken for unset.",
    releases="0.3.6 and later",
    found_by=("keys.parse.parse",),
)
class TagsInAnyOrder(ReferenceClient):
    """Sorts the tags that it reads, and drops those without a value."""

    codec = Misreading(lambda _release, _text, key: replace(key, tags=tuple(sorted(pair for pair in key.tags if pair[1]))))
