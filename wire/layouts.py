"""Chunk layouts: how paged K/V blocks become the bytes of one chunk, and back.

An engine keeps K/V in blocks and names a token by its slot, ``block * block_size + offset``. A chunk holds the tokens
of a slot list, in the order of that list, with the heads of a token side by side ("hidden"). Nothing but the order of
elements changes, so 16-bit brain floats and 8-bit floats travel as unsigned words.

Source: ``lmcache.v1.memory_management.MemoryFormat`` names the axes. What moves the elements:
``VLLMNestedTupleGPUConnector`` (0.3.1), ``VLLMPagedMemXPUConnectorV2`` (0.3.10 to 0.4.1) and the Python twins of the
CUDA kernels ``multi_layer_kv_transfer`` and ``single_layer_kv_transfer``: ``lmcache.non_cuda_equivalents`` (0.4.4, 0.4.5),
``lmcache.python_ops_fallback`` (0.4.6, 0.5.1) and ``lmcache.v1.platform`` (0.5.4, 0.5.6).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wire.errors import DecodeError, EncodeError

CARRIERS: Final[Mapping[str, np.dtype[Any]]] = MappingProxyType(
    {
        "float16": np.dtype("<f2"),
        "bfloat16": np.dtype("<u2"),
        "float32": np.dtype("<f4"),
        "float64": np.dtype("<f8"),
        "uint8": np.dtype("u1"),
        "int8": np.dtype("i1"),
        "int16": np.dtype("<i2"),
        "int32": np.dtype("<i4"),
        "int64": np.dtype("<i8"),
        "float8_e4m3fn": np.dtype("u1"),
        "float8_e5m2": np.dtype("u1"),
        "float8_e4m3fnuz": np.dtype("u1"),
        "float8_e5m2fnuz": np.dtype("u1"),
    }
)
"""The numpy type that carries the elements of each torch dtype; ``.itemsize`` is the size of one element in bytes."""

_ELEMENT_AXES: Final = ("layer", "kv", "token", "hidden")
_PAGED_AXES: Final = ("layers", "2", "blocks", "block_size", "heads", "head_size")
_LATENT_PAGED_AXES: Final = ("layers", "blocks", "block_size", "head_size")


@dataclass(frozen=True)
class Layout:
    """The order of elements in a chunk of one memory format."""

    axes: tuple[str, ...]
    """Outermost first."""
    latent: bool = False
    """One latent vector per token (MLA) instead of a key and a value; the ``kv`` axis has length 1."""

    @property
    def layerwise(self) -> bool:
        """A chunk holds one layer; a request of n layers makes n chunks, each under a key of its own."""
        return "layer" not in self.axes

    @property
    def paged_axes(self) -> tuple[str, ...]:
        """Axes of the paged array that such chunks are cut from."""
        return _LATENT_PAGED_AXES if self.latent else _PAGED_AXES


LAYOUTS: Final[Mapping[str, Layout]] = MappingProxyType(
    {
        "KV_2LTD": Layout(("kv", "layer", "token", "hidden")),
        "KV_T2D": Layout(("token", "kv", "hidden")),
        "KV_2TD": Layout(("kv", "token", "hidden")),
        "KV_MLA_FMT": Layout(("kv", "layer", "token", "hidden"), latent=True),
    }
)
"""Every format whose chunks are cut from paged K/V blocks."""


def carrier(dtype: str) -> np.dtype[Any]:
    """The numpy type that carries elements of a torch dtype, little-endian.

    Raises:
        EncodeError: the dtype is unknown.
    """
    try:
        return CARRIERS[dtype]
    except KeyError:
        raise EncodeError(f"no carrier for dtype {dtype!r}; known: {', '.join(CARRIERS)}") from None


def layout_of(format_name: str) -> Layout:
    """The layout of a memory format.

    Raises:
        EncodeError: chunks of this format are not cut from paged blocks, or there is no such format.
    """
    try:
        return LAYOUTS[format_name]
    except KeyError:
        raise EncodeError(
            f"memory format {format_name!r} is not cut from paged K/V blocks; those that are: {', '.join(LAYOUTS)}"
        ) from None


def chunk_shape(format_name: str, *, layers: int, tokens: int, hidden: int) -> tuple[int, ...]:
    """The shape of one chunk; ``hidden`` is heads times head size, for KV_MLA_FMT the head size of the paged array.

    Upstream calls the last axis of KV_MLA_FMT the *aligned* head size, but none of 0.3.1, 0.3.7, 0.3.12, 0.4.1 and 0.5.6
    aligns anything: it must equal that of the engine's cache tensor, padding included if the engine pads.
    Source: ``get_shape`` of ``VLLMPagedMemGPUConnectorV2``, ``VLLMPagedMemLayerwiseGPUConnector`` (KV_T2D) and
    ``VLLMBufferLayerwiseGPUConnector`` (KV_2TD).

    Raises:
        EncodeError: the format is unknown, a size is not positive, or a layerwise chunk is asked for more than one layer.
    """
    layout = layout_of(format_name)
    for name, size in (("layers", layers), ("tokens", tokens), ("hidden", hidden)):
        if size < 1:
            raise EncodeError(f"a {format_name} chunk needs at least 1 for {name}, not {size}")
    if layout.layerwise and layers != 1:
        raise EncodeError(
            f"a {format_name} chunk holds one layer, not {layers}; make one chunk per layer, each from paged[i : i + 1]"
        )
    sizes = {"kv": 1 if layout.latent else 2, "layer": layers, "token": tokens, "hidden": hidden}
    return tuple(sizes[axis] for axis in layout.axes)


def pack(format_name: str, paged: NDArray[Any], slots: Sequence[int]) -> NDArray[Any]:
    """The chunk that holds the tokens of ``slots``, in that order.

    ``paged`` is [layers, 2, blocks, block_size, heads, head_size], for KV_MLA_FMT [layers, blocks, block_size, head_size].
    The answer is a new C-ordered array of the same element type; its bytes are the payload.

    Raises:
        EncodeError: the format is unknown, the shape does not fit it, or a slot is outside the blocks or named twice.
    """
    paging = _paging(format_name, paged.shape)
    wanted = _checked(slots, paging)
    shape = chunk_shape(format_name, layers=paging.layers, tokens=len(wanted), hidden=paging.hidden)
    taken = paged.reshape(paging.flat)[:, :, wanted]
    return np.ascontiguousarray(taken.transpose(_order(format_name)).reshape(shape))


def unpack(format_name: str, chunk: NDArray[Any], slots: Sequence[int], paged_shape: Sequence[int]) -> NDArray[Any]:
    """Paged blocks that hold the tokens of a chunk at ``slots``, and zeros everywhere else.

    Raises:
        EncodeError: the format is unknown, ``paged_shape`` does not fit it, or a slot is outside the blocks or named twice.
        DecodeError: the chunk has another shape than this format, these slots and these blocks give.
    """
    paging = _paging(format_name, paged_shape)
    wanted = _checked(slots, paging)
    shape = chunk_shape(format_name, layers=paging.layers, tokens=len(wanted), hidden=paging.hidden)
    if chunk.shape != shape:
        axes = ", ".join(layout_of(format_name).axes)
        raise DecodeError(
            f"a {format_name} chunk of {len(wanted)} slots from blocks {list(paged_shape)} has shape {list(shape)} "
            f"[{axes}]; this chunk has {list(chunk.shape)}"
        )
    order = _order(format_name)
    spread = chunk.reshape([(paging.layers, paging.kv, len(wanted), paging.hidden)[axis] for axis in order])
    flat = np.zeros(paging.flat, dtype=chunk.dtype)
    flat[:, :, wanted] = spread.transpose([order.index(axis) for axis in range(len(order))])
    return flat.reshape(tuple(paged_shape))


@dataclass(frozen=True)
class _Paging:
    """The sizes of a paged array that matter to a chunk."""

    layers: int
    kv: int
    pages: int
    hidden: int

    @property
    def flat(self) -> tuple[int, int, int, int]:
        return self.layers, self.kv, self.pages, self.hidden


def _paging(format_name: str, paged_shape: Sequence[int]) -> _Paging:
    layout = layout_of(format_name)
    axes = layout.paged_axes
    expected = f"{format_name} is cut from [{', '.join(axes)}]"
    if len(paged_shape) != len(axes):
        raise EncodeError(f"{expected}; these blocks have {len(paged_shape)} axes, not {len(axes)}: {list(paged_shape)}")
    if any(size < 1 for size in paged_shape):
        raise EncodeError(f"{expected}; every size is at least 1, these are {list(paged_shape)}")
    if layout.latent:
        layers, blocks, block_size, head_size = paged_shape
        return _Paging(layers, 1, blocks * block_size, head_size)
    layers, key_and_value, blocks, block_size, *heads = paged_shape
    if key_and_value != 2:
        raise EncodeError(f"{expected}; the second axis is keys and values, 2, not {key_and_value} of {list(paged_shape)}")
    return _Paging(layers, key_and_value, blocks * block_size, math.prod(heads))


def _checked(slots: Sequence[int], paging: _Paging) -> list[int]:
    """The slots as plain integers, each within the blocks and named once."""
    wanted = [operator.index(slot) for slot in slots]
    if not wanted:
        raise EncodeError("a chunk holds at least one token, so it needs at least one slot")
    seen: set[int] = set()
    for position, slot in enumerate(wanted):
        if slot < 0:
            raise EncodeError(
                f"slots[{position}] is {slot}: a negative slot marks a token that has no block; leave such tokens out"
            )
        if slot >= paging.pages:
            raise EncodeError(f"slots[{position}] is {slot}, but these blocks have {paging.pages} slots, 0 to {paging.pages - 1}")
        if slot in seen:
            raise EncodeError(f"slots[{position}] is {slot}, and so is slots[{wanted.index(slot)}]: a slot holds one token")
        seen.add(slot)
    return wanted


def _order(format_name: str) -> tuple[int, ...]:
    """Where each axis of a chunk stands in [layer, kv, token, hidden]; the single layer of a layerwise chunk comes first."""
    layout = layout_of(format_name)
    axes = ("layer", *layout.axes) if layout.layerwise else layout.axes
    return tuple(_ELEMENT_AXES.index(axis) for axis in axes)
