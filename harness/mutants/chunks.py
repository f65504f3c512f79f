"""Defects in which tokens make a chunk."""

from __future__ import annotations

from typing import Any

from harness.mutants.chains import KEYS, Tokens
from harness.mutants.mutant import mutant
from harness.reference.chains import Chains
from harness.reference.lm import ReferenceClient
from wire.chunks import Chunk
from wire.release import Release

CHUNKS = ("keys.chunks.keys", "keys.chunks.boundaries", "keys.deployments.keys", "keys.deployments.chain")


class _KeepsTheRest(Chains):
    def chunks(self, release: Release, tokens: Tokens, *, save_unfull_chunk: bool, **members: Any) -> list[Chunk]:
        del save_unfull_chunk
        return super().chunks(release, tokens, save_unfull_chunk=True, **members)


@mutant(
    "chunk-rest-always-kept",
    stands_for="LMCache #2206: chunks that are not full corrupted caches, and 0.3.11 stopped keeping them by default.",
    found_by=CHUNKS,
)
class KeepsTheRest(ReferenceClient):
    """Hashes a last chunk that is not full although it must not be."""

    chains = _KeepsTheRest()


class _DropsTheRest(Chains):
    def chunks(self, release: Release, tokens: Tokens, *, save_unfull_chunk: bool, **members: Any) -> list[Chunk]:
        del save_unfull_chunk
        return super().chunks(release, tokens, save_unfull_chunk=False, **members)


@mutant(
    "chunk-rest-never-kept",
    stands_for="A loop over full chunks alone, where the setting says that the rest is kept.",
    found_by=CHUNKS,
)
class DropsTheRest(ReferenceClient):
    """Leaves out a last chunk that is not full although it is to be kept."""

    chains = _DropsTheRest()


class _ChunkOfNothing(Chains):
    def chunks(self, release: Release, tokens: Tokens, **members: Any) -> list[Chunk]:
        found = super().chunks(release, tokens, **members)
        return found or [Chunk(0, 0, "" if release < Release.parse("0.3.3") else 0)]


@mutant(
    "chunk-of-nothing",
    stands_for="A do-while loop: no tokens have no chunk, and all requests without one would share it.",
    found_by=CHUNKS,
)
class ChunkOfNothing(ReferenceClient):
    """Makes a chunk where there is none."""

    chains = _ChunkOfNothing()


class _RoundsUp(Chains):
    def chunks(self, release: Release, tokens: Tokens, *, chunk_size: int, **members: Any) -> list[Chunk]:
        found = super().chunks(release, tokens, chunk_size=chunk_size, **members)
        return [chunk._replace(end=chunk.start + chunk_size) for chunk in found]


@mutant(
    "chunk-end-rounded-up",
    stands_for="The end of a chunk computed from its number: for the last one it lies behind the tokens.",
    found_by=CHUNKS,
)
class RoundsUp(ReferenceClient):
    """Gives a chunk that is not full the end of a full one."""

    chains = _RoundsUp()


class _IncludesTheEnd(Chains):
    def chunks(self, release: Release, tokens: Tokens, **members: Any) -> list[Chunk]:
        return [chunk._replace(end=chunk.end - 1) for chunk in super().chunks(release, tokens, **members)]


@mutant(
    "chunk-end-included",
    stands_for="Ranges of languages that include their end.",
    found_by=CHUNKS,
)
class IncludesTheEnd(ReferenceClient):
    """Gives the last token of a chunk as its end."""

    chains = _IncludesTheEnd()


class _SkipsUnhashed(Chains):
    def chunks(self, release: Release, tokens: Tokens, *, skip: int, chunk_size: int, **members: Any) -> list[Chunk]:
        skip -= skip % chunk_size
        found = super().chunks(release, tokens[skip:], skip=0, chunk_size=chunk_size, **members)
        return [chunk._replace(start=chunk.start + skip, end=chunk.end + skip) for chunk in found]


@mutant(
    "chunk-skipped-unhashed",
    stands_for="Tokens that are masked out because the engine has them: they are not stored again, but their hashes are needed.",
    found_by=(*KEYS, "keys.chunks.refused"),
)
class SkipsUnhashed(ReferenceClient):
    """Starts the chain behind the tokens that are skipped."""

    chains = _SkipsUnhashed()


class _SkipsNothing(Chains):
    def chunks(self, release: Release, tokens: Tokens, *, skip: int, **members: Any) -> list[Chunk]:
        del skip
        return super().chunks(release, tokens, skip=0, **members)


@mutant(
    "chunk-skip-ignored",
    stands_for="A mask that is handed through and never looked at.",
    found_by=(*CHUNKS, "keys.chunks.refused"),
)
class SkipsNothing(ReferenceClient):
    """Gives the chunks that are to be skipped as well."""

    chains = _SkipsNothing()
