"""What cases store: keys, chunks of K/V with their shape and format, and bytes that look like no other chunk's."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from wire.release import Release

CHUNK_TOKENS: Final = 16
"""Tokens of a full chunk of the engine that a connector is opened in."""

ITEM_SIZES: Final[Mapping[str, int]] = {
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "uint8": 1,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
}


@dataclass(frozen=True)
class Layout:
    """The K/V of an engine: ``kv`` is 2, or 1 for multi-head latent attention."""

    kv: int = 2
    layers: int = 2
    heads: int = 2
    size: int = 8
    dtype: str = "float16"

    @property
    def format(self) -> str:
        """What lmcache calls whole chunks of it."""
        return "KV_2LTD" if self.kv == 2 else "KV_MLA_FMT"

    def shape(self, tokens: int = CHUNK_TOKENS) -> tuple[int, ...]:
        """Of a chunk with so many tokens."""
        return (self.kv, self.layers, tokens, self.heads * self.size)

    def to_json(self) -> dict[str, Any]:
        """As the host takes it."""
        return dict(vars(self))


STANDARD: Final = Layout()
LATENT: Final = Layout(kv=1, heads=1, size=32)
LARGE: Final = Layout(layers=64, heads=64, size=256)
"""A chunk of 16 tokens has 64 MiB."""


@dataclass(frozen=True)
class ChunkKey:
    """A ``CacheEngineKey``; in releases whose keys have no dtype that part is left out."""

    model: str
    chunk_hash: int
    world_size: int = 1
    worker_id: int = 0
    dtype: str = "float16"
    tags: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As the host takes it."""
        return {
            "model": self.model,
            "world_size": self.world_size,
            "worker_id": self.worker_id,
            "chunk_hash": {"int": str(self.chunk_hash)},
            "dtype": self.dtype,
            "tags": [list(tag) for tag in self.tags],
        }

    def changed(self, **parts: Any) -> ChunkKey:
        """The same key with other parts."""
        return replace(self, **parts)


@dataclass(frozen=True)
class Chunk:
    """What an engine stores under a key."""

    key: ChunkKey
    payload: bytes
    format: str
    dtype: str | None
    shape: tuple[int, ...]

    @property
    def about(self) -> dict[str, Any]:
        """What must come back besides the bytes."""
        return {"format": self.format, "dtype": self.dtype, "shape": list(self.shape)}


class Chunks:
    """Makes keys and chunks that no other case uses."""

    _cases = itertools.count(1)

    def __init__(self, release: Release) -> None:
        self.release = release
        self._model = f"lmconform/remote-{next(self._cases)}"
        self._numbers = itertools.count(1)

    def key(self, **parts: Any) -> ChunkKey:
        """A new key."""
        number = next(self._numbers)
        digest = hashlib.sha256(f"{self._model}/{number}".encode()).digest()
        return replace(ChunkKey(self._model, int.from_bytes(digest[:8], "big") >> 1), **parts)

    def keys(self, count: int) -> list[ChunkKey]:
        """Several."""
        return [self.key() for _ in range(count)]

    def chunk(
        self,
        layout: Layout = STANDARD,
        *,
        key: ChunkKey | None = None,
        tokens: int = CHUNK_TOKENS,
        version: int = 1,
        shape: Sequence[int] | None = None,
        format: str | None = None,  # noqa: A002  # what lmcache calls it
        dtype: str | None = None,
    ) -> Chunk:
        """A chunk of an engine with that layout; the shape, format and dtype may be others than those of its full chunks."""
        of, kind = tuple(shape or layout.shape(tokens)), dtype or layout.dtype
        owner = key or self.key()
        size = math.prod(of) * ITEM_SIZES[kind]
        return Chunk(owner, pattern(f"{owner}/{version}/{size}", size), format or layout.format, kind, of)

    def chunks(self, count: int, layout: Layout = STANDARD) -> list[Chunk]:
        """Several, all different."""
        return [self.chunk(layout) for _ in range(count)]


def pattern(seed: str, size: int) -> bytes:
    """So many bytes that follow from a text; those of two texts share no stretch."""
    if size <= 1 << 20:
        return hashlib.shake_128(seed.encode()).digest(size)
    block = hashlib.shake_128(seed.encode()).digest(1 << 20)
    whole = bytearray(block * (size // len(block) + 1))[:size]
    for number, start in enumerate(range(0, size, len(block))):
        mark = hashlib.sha256(f"{seed}/{number}".encode()).digest()
        whole[start : start + len(mark)] = mark[: min(len(mark), size - start)]
    return bytes(whole)
