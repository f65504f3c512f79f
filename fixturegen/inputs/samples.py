"""Descriptions whose length, format, dtype and shape agree: what a real client would store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from wire.lm.enums import BINARY_FORMATS, FORMATS
from wire.lm.frames import Description
from wire.lm.profile import LmProfile
from wire.lm.shapes import payload_size

SHAPES: Final[Mapping[str, tuple[int, ...]]] = {
    "KV_2LTD": (2, 2, 4, 8),
    "KV_T2D": (4, 2, 8),
    "KV_2TD": (2, 4, 8),
    "KV_MLA_FMT": (1, 2, 4, 8),
    "EC_TD": (4, 8),
    "HS_TD": (4, 8),
}
BINARY_LENGTH: Final = 128
"""Bytes of a sample whose format carries plain bytes."""


def storable_formats(profile: LmProfile) -> list[str]:
    """Formats in which a value can travel on this wire; 0 is no format of a value."""
    return [name for name, number in FORMATS.items() if 0 < number <= profile.highest_format]


def sample(profile: LmProfile, format_name: str = "KV_2LTD", dtype: str = "float16") -> Description:
    """A small value; layerwise shapes get trailing ones where the wire takes exactly four dimensions."""
    if format_name in BINARY_FORMATS:
        return Description(BINARY_LENGTH, format_name, "uint8", (BINARY_LENGTH, 0, 0, 0))
    shape = SHAPES[format_name]
    if not profile.short_shapes:
        shape = (*shape, *([1] * (4 - len(shape))))
    return Description(payload_size(format_name, dtype, shape), format_name, dtype, shape)
