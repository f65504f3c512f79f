"""The pure operations on paged memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.client import ClientError
from harness.reference.values import release_of, wire_errors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Answer = dict[str, Any]


class LayoutOperations:
    """Paged K and V to the bytes of a chunk, and back."""

    def pack_layout(
        self,
        *,
        release: str,
        format: str,  # noqa: A002  # the name of the contract, here and below
        dtype: str | None,
        paged: bytes,
        paged_shape: Sequence[int],
        slots: Sequence[int],
        **_: Any,
    ) -> Answer:
        """The chunk that holds the tokens of the slots."""
        from wire.layouts import pack

        release_of(release)
        with wire_errors():
            chunk = pack(format, _array(paged, dtype, paged_shape), slots)
        return {"bytes": chunk.tobytes(), "shape": list(chunk.shape)}

    def unpack_layout(
        self,
        *,
        release: str,
        format: str,  # noqa: A002
        dtype: str | None,
        bytes: bytes,  # noqa: A002
        shape: Sequence[int],
        slots: Sequence[int],
        paged_shape: Sequence[int],
        **_: Any,
    ) -> Answer:
        """The paged memory that holds a chunk, zeros where no slot wrote."""
        from wire.layouts import unpack

        release_of(release)
        with wire_errors():
            return {"paged": unpack(format, _array(bytes, dtype, shape), slots, paged_shape).tobytes()}


def _array(data: bytes, dtype: str | None, shape: Sequence[int]) -> NDArray[np.generic]:
    import numpy as np

    from wire.layouts import carrier

    if dtype is None:
        raise ClientError("refused", "memory without an element type has no layout")
    element = carrier(dtype)
    needed = math.prod(shape) * element.itemsize
    if min(shape, default=0) < 0 or needed != len(data):
        raise ClientError("refused", f"{dtype} of shape {list(shape)} takes {needed} bytes, got {len(data)}")
    return np.frombuffer(data, dtype=element).reshape(shape)
