"""Defects in packing: the right bytes in another order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.mutants.mutant import mutant
from harness.reference.lm import ReferenceClient
from wire.layouts import carrier, layout_of

Answer = dict[str, Any]
PACKED = ("pack_layout",)
PACKING = ("layouts.packing.pack", "layouts.packing.unpack")


def _array(data: bytes, dtype: str | None, shape: Sequence[int]) -> NDArray[Any]:
    assert dtype is not None
    return np.frombuffer(data, dtype=carrier(dtype)).reshape(shape)


class _OtherOrder(ReferenceClient):
    """Packs a chunk as lmcache does, and then moves its elements; unpacking moves them back."""

    def moved(self, chunk: NDArray[Any], axes: Sequence[str]) -> NDArray[Any]:
        """The elements in another order; the same again gives the first one."""
        del axes
        return chunk

    def pack_layout(self, *, format: str, dtype: str | None, **members: Any) -> Answer:  # noqa: A002  # the name of the contract
        """Other bytes of the same shape."""
        packed = super().pack_layout(format=format, dtype=dtype, **members)
        chunk = self.moved(_array(packed["bytes"], dtype, packed["shape"]), layout_of(format).axes)
        return {"bytes": np.ascontiguousarray(chunk).tobytes(), "shape": packed["shape"]}

    def unpack_layout(
        self,
        *,
        format: str,  # noqa: A002
        dtype: str | None,
        bytes: bytes,  # noqa: A002
        shape: Sequence[int],
        **members: Any,
    ) -> Answer:
        """Memory of other bytes."""
        chunk = self.moved(_array(bytes, dtype, shape), layout_of(format).axes)
        data = np.ascontiguousarray(chunk).tobytes()
        return super().unpack_layout(format=format, dtype=dtype, bytes=data, shape=shape, **members)


@mutant(
    "layout-keys-and-values-swapped",
    stands_for="Two tensors in the wrong order: everything has the right size, and attention reads values as keys.",
    found_by=PACKING,
    captured=PACKED,
)
class KeysAndValuesSwapped(_OtherOrder):
    """Puts values where keys belong."""

    def moved(self, chunk: NDArray[Any], axes: Sequence[str]) -> NDArray[Any]:
        """With the axis of K and V reversed."""
        return np.flip(chunk, axes.index("kv"))


@mutant(
    "layout-layers-and-tokens-swapped",
    stands_for="LMCache #722 and #2881, chunks of one layout taken for another; pull request 4798, two axes mistaken.",
    found_by=PACKING,
    captured=PACKED,
)
class LayersAndTokensSwapped(_OtherOrder):
    """Writes the layers of a token side by side, instead of the tokens of a layer."""

    def moved(self, chunk: NDArray[Any], axes: Sequence[str]) -> NDArray[Any]:
        """Read in the order of swapped axes."""
        first = axes.index("layer") if "layer" in axes else axes.index("kv")
        return np.swapaxes(chunk, first, axes.index("token")).reshape(chunk.shape)


@mutant(
    "layout-tokens-reversed",
    stands_for="A loop that counts down.",
    found_by=PACKING,
    captured=PACKED,
)
class TokensReversed(_OtherOrder):
    """Writes the last token first."""

    def moved(self, chunk: NDArray[Any], axes: Sequence[str]) -> NDArray[Any]:
        """With the tokens reversed."""
        return np.flip(chunk, axes.index("token"))


@mutant(
    "layout-hidden-reversed",
    stands_for="Elements of the wrong byte order, or heads from the last to the first.",
    found_by=PACKING,
    captured=PACKED,
)
class HiddenReversed(_OtherOrder):
    """Writes the elements of a token backwards."""

    def moved(self, chunk: NDArray[Any], axes: Sequence[str]) -> NDArray[Any]:
        """With the last axis reversed."""
        return np.flip(chunk, axes.index("hidden"))


@mutant(
    "layout-slots-sorted",
    stands_for="Slots sorted for faster copies: a chunk holds its tokens in the order of the prompt.",
    found_by=("layouts.packing.pack", "layouts.properties.round-trip"),
    captured=PACKED,
)
class SlotsSorted(ReferenceClient):
    """Takes the slots of a chunk in ascending order."""

    def pack_layout(self, *, slots: Sequence[int], **members: Any) -> Answer:
        """In the order of memory."""
        return super().pack_layout(slots=sorted(slots), **members)


@mutant(
    "layout-unpacks-to-the-front",
    stands_for="A slot mapping that was tried with one request, whose blocks are the first ones.",
    found_by=("layouts.packing.unpack", "layouts.properties.round-trip"),
)
class ToTheFront(ReferenceClient):
    """Unpacks a chunk into the first slots, whatever the mapping says."""

    def unpack_layout(self, *, slots: Sequence[int], **members: Any) -> Answer:
        """Into slots 0, 1, 2 and so on."""
        return super().unpack_layout(slots=range(len(slots)), **members)


@mutant(
    "layout-unpack-spoils-the-rest",
    stands_for="Whole blocks written where a chunk fills a part: the other slots belong to other requests.",
    found_by=("layouts.packing.unpack", "layouts.properties.round-trip"),
)
class SpoilsTheRest(ReferenceClient):
    """Writes into slots that are not its own."""

    def unpack_layout(self, **members: Any) -> Answer:
        """With something in every slot."""
        paged = super().unpack_layout(**members)["paged"]
        whole = np.frombuffer(paged, dtype=np.uint8).copy()
        whole[whole == 0] = 1
        return {"paged": whole.tobytes()}


@mutant(
    "layout-shape-flattened",
    stands_for="The number of bytes alone is right: whoever allocates by the shape of the header allocates something else.",
    found_by=("layouts.packing.pack", "layouts.properties.round-trip"),
)
class Flattened(ReferenceClient):
    """Gives a chunk the shape of one row."""

    def pack_layout(self, **members: Any) -> Answer:
        """As one row."""
        packed = super().pack_layout(**members)
        return {"bytes": packed["bytes"], "shape": [1, 1, 1, math.prod(packed["shape"])]}
