"""Paged memory of K/V: blocks of a few tokens, handed out in any order, and the bytes of chunks cut from it.

The arrangement of a chunk is written out here once more, element by element, so that a client that mixes up the same axes
when it packs and when it unpacks meets somebody who does not.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from harness.engine.elements import UNIT, WORDS, Numbers, numbers, rounded

LAYERS: Final = 2
HEADS: Final = 2
HEAD_SIZE: Final = 16
RANK: Final = 16
"""Elements of the one vector that a token has in each layer of latent memory."""
BLOCKS: Final = 18
BLOCK_SIZE: Final = 4
_LATENT_AXES: Final = 4
"""Axes of latent memory; memory with keys and values has 6."""


@dataclass(frozen=True)
class CacheFormat:
    """The memory format and dtype of K/V."""

    format: str
    dtype: str

    @property
    def name(self) -> str:
        """``KV_2LTD-float16``."""
        return f"{self.format}-{self.dtype}"

    @property
    def latent(self) -> bool:
        """One vector for each token and layer, from which keys and values are made, instead of a key and a value."""
        return self.format == "KV_MLA_FMT"

    @property
    def vectors(self) -> tuple[str, ...]:
        """What memory holds of a token in each layer."""
        return ("latent",) if self.latent else ("K", "V")

    @property
    def width(self) -> int:
        """Elements of each of these vectors."""
        return RANK if self.latent else HEADS * HEAD_SIZE

    @property
    def paged_shape(self) -> tuple[int, ...]:
        """The shape of paged memory, as clients get it."""
        return (LAYERS, BLOCKS, BLOCK_SIZE, RANK) if self.latent else (LAYERS, 2, BLOCKS, BLOCK_SIZE, HEADS, HEAD_SIZE)

    def chunk_shape(self, tokens: int) -> tuple[int, ...]:
        """The shape of a chunk."""
        return (len(self.vectors), LAYERS, tokens, self.width)

    def chunk_size(self, tokens: int) -> int:
        """Bytes of a chunk."""
        return len(self.vectors) * LAYERS * tokens * self.width * WORDS[self.dtype].itemsize


class Memory:
    """The paged memory of an engine, and the blocks that one request has in it, in the order of its tokens.

    All of it is full of what other requests left there.
    """

    def __init__(self, cache: CacheFormat, blocks: Sequence[int]) -> None:
        self.cache = cache
        self.blocks = tuple(blocks)
        self.paged: NDArray[Any] = leftovers(cache).copy()
        self._numbers: dict[tuple[int, int], Numbers] = {}
        """What the model reads, of the tokens of the request in their order; made of memory when it is read first."""

    @property
    def room(self) -> int:
        """How many tokens fit."""
        return len(self.blocks) * BLOCK_SIZE

    def slots(self, start: int, end: int) -> list[int]:
        """Where the tokens from ``start`` to ``end`` (excluded) live."""
        return [self.blocks[place // BLOCK_SIZE] * BLOCK_SIZE + place % BLOCK_SIZE for place in range(start, end)]

    def write(self, layer: int, vector: int, place: int, values: Numbers) -> None:
        """Keep a vector of the token at a place."""
        elements = rounded(self.cache.dtype, values)
        self._rows(layer, vector)[self.blocks[place // BLOCK_SIZE] * BLOCK_SIZE + place % BLOCK_SIZE] = elements
        if (layer, vector) in self._numbers:
            self._numbers[layer, vector][place] = numbers(self.cache.dtype, elements)

    def read(self, layer: int, vector: int, end: int) -> Numbers:
        """A vector of all tokens before ``end``, ``[tokens, width]``."""
        if (layer, vector) not in self._numbers:
            self._numbers[layer, vector] = numbers(self.cache.dtype, self._rows(layer, vector)[self.slots(0, self.room)])
        return self._numbers[layer, vector][:end]

    def chunk(self, start: int, end: int) -> bytes:
        """The bytes of a chunk: of all layers the first vectors of its tokens, then of all layers the second ones."""
        return cut(self.paged, self.slots(start, end))

    def place(self, start: int, end: int, chunk: bytes) -> None:
        """The inverse of :meth:`chunk`."""
        self._numbers.clear()
        put_back(self.paged, self.slots(start, end), chunk)

    def fill(self, slots: Sequence[int], paged: bytes) -> None:
        """Take over what a client unpacked: the slots that it was given as they are, and whatever else it wrote elsewhere."""
        self._numbers.clear()
        unpacked = np.frombuffer(paged, WORDS[self.cache.dtype]).reshape(self.cache.paged_shape)
        for layer in range(LAYERS):
            for vector in range(len(self.cache.vectors)):
                came, rows = _rows_of(unpacked, layer, vector), self._rows(layer, vector)
                written: NDArray[np.bool] = np.any(came, axis=-1)
                written[list(slots)] = True
                rows[written] = came[written]

    def _rows(self, layer: int, vector: int) -> NDArray[Any]:
        return _rows_of(self.paged, layer, vector)


def cut(paged: NDArray[Any], slots: Sequence[int]) -> bytes:
    """A chunk of any paged memory, with keys and values or latent (LAY-001, LAY-003, LAY-004)."""
    return b"".join(_rows_of(paged, layer, vector)[slot].tobytes() for vector, layer, slot in _order(paged, slots))


def put_back(paged: NDArray[Any], slots: Sequence[int], chunk: bytes) -> None:
    """The inverse of :func:`cut`."""
    elements = np.frombuffer(chunk, paged.dtype).reshape(-1, _rows_of(paged, 0, 0).shape[-1])
    for values, (vector, layer, slot) in zip(elements, _order(paged, slots), strict=True):
        _rows_of(paged, layer, vector)[slot] = values


def _order(paged: NDArray[Any], slots: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Vector, layer and slot of each vector of a chunk."""
    layers, vectors = paged.shape[0], 1 if paged.ndim == _LATENT_AXES else 2
    return itertools.product(range(vectors), range(layers), slots)


def _rows_of(paged: NDArray[Any], layer: int, vector: int) -> NDArray[Any]:
    """One vector of all slots of a layer, ``[slots, width]``; a view."""
    of_layer: NDArray[Any] = paged[layer] if paged.ndim == _LATENT_AXES else paged[layer, vector]
    return of_layer.reshape(of_layer.shape[0] * of_layer.shape[1], -1)


def leftovers(cache: CacheFormat) -> NDArray[Any]:
    """What other requests left in memory: numbers of the usual size, the same ones every time."""
    count = int(np.prod(cache.paged_shape))
    drawn = np.frombuffer(hashlib.shake_128(b"what other requests left").digest(count), np.int8)
    return rounded(cache.dtype, drawn.astype(np.float64) * (UNIT / 64)).reshape(cache.paged_shape)
