"""Shapes on the ``lm://`` wire: always four int32, whatever the tensor has."""

from __future__ import annotations

import math
from collections.abc import Sequence

from wire.errors import EncodeError
from wire.lm.enums import BINARY_FORMATS, ITEM_SIZES
from wire.lm.profile import LmProfile

RANK = 4


def pad_shape(profile: LmProfile, shape: Sequence[int]) -> tuple[int, int, int, int]:
    """Four integers for a shape.

    Releases with short shapes (0.4.4 and later) append zeros; older ones take exactly four dimensions.

    Raises:
        EncodeError: the number of dimensions cannot be expressed.
    """
    if len(shape) != RANK and not (profile.short_shapes and len(shape) < RANK):
        allowed = "at most 4" if profile.short_shapes else "exactly 4"
        raise EncodeError(f"shape {list(shape)} has {len(shape)} dimensions; lmcache {profile.release} takes {allowed}")
    first, second, third, fourth = (*shape, *([0] * (RANK - len(shape))))
    return first, second, third, fourth


def strip_shape(profile: LmProfile, dims: Sequence[int], format_name: str | None) -> tuple[int, ...]:
    """The shape that a decoder reports for four integers.

    Source: from 0.4.4 ``lmcache.v1.protocol.strip_shape_padding`` drops trailing zeros, but keeps one dimension
    and leaves the two BINARY formats alone.
    """
    return tuple(dims) if not profile.short_shapes or format_name in BINARY_FORMATS else without_padding(dims)


def without_padding(dims: Sequence[int]) -> tuple[int, ...]:
    """The dimensions up to the last one that is not zero, but never none of them."""
    rank = max((index for index, dim in enumerate(dims, 1) if dim), default=1)
    return tuple(dims[:rank])


def payload_size(format_name: str, dtype: str | None, shape: Sequence[int]) -> int:
    """Bytes that a payload of this description amounts to.

    BINARY formats count their first dimension in bytes; padding zeros of a short shape do not count.
    """
    if format_name in BINARY_FORMATS or dtype is None:
        return shape[0] if shape else 0
    return math.prod(without_padding(shape)) * ITEM_SIZES[dtype]
