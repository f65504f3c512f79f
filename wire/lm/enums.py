"""Numbers of the ``lm://`` wire and their names.

Source: ``lmcache.v1.protocol`` and ``lmcache.v1.memory_management`` of 0.3.1 to 0.5.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from wire.errors import DecodeError, EncodeError

COMMANDS: Final[Mapping[str, int]] = MappingProxyType({"PUT": 1, "GET": 2, "EXIST": 3, "LIST": 4, "HEALTH": 5})
CODES: Final[Mapping[str, int]] = MappingProxyType({"SUCCESS": 200, "FAIL": 400})
FORMATS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "UNDEFINED": 0,
        "KV_2LTD": 1,
        "KV_T2D": 2,
        "KV_2TD": 3,
        "BINARY": 4,
        "BINARY_BUFFER": 5,
        "KV_MLA_FMT": 6,
        "EC_TD": 7,
        "HS_TD": 8,
    }
)
LOCATIONS: Final[Mapping[str | None, int]] = MappingProxyType({None: 0, "LocalCPUBackend": 1, "LocalDiskBackend": 2})
DTYPES: Final[Mapping[str | None, int]] = MappingProxyType(
    {
        None: 0,
        "float16": 2,
        "bfloat16": 3,
        "float32": 4,
        "float64": 5,
        "uint8": 6,
        "float8_e4m3fn": 7,
        "float8_e5m2": 8,
    }
)
"""What an encoder emits. 1 is legal to read (``torch.half``) and comes back as ``float16``, number 2."""

DTYPE_ALIASES: Final[Mapping[int, str]] = MappingProxyType({1: "float16"})
ITEM_SIZES: Final[Mapping[str, int]] = MappingProxyType(
    {
        "float16": 2,
        "bfloat16": 2,
        "float32": 4,
        "float64": 8,
        "uint8": 1,
        "float8_e4m3fn": 1,
        "float8_e5m2": 1,
    }
)
"""Bytes per element of each dtype that a frame can carry."""

BINARY_FORMATS: Final = frozenset({"BINARY", "BINARY_BUFFER"})
"""Formats whose shape is ``[length, 0, 0, 0]`` and whose trailing zeros are never stripped."""

_NAMES: dict[str, dict[int, str | None]] = {
    "command": {number: name for name, number in COMMANDS.items()},
    "code": {number: name for name, number in CODES.items()},
    "format": {number: name for name, number in FORMATS.items()},
    "location": {number: name for name, number in LOCATIONS.items()},
    "dtype": {**{number: name for name, number in DTYPES.items()}, **DTYPE_ALIASES},
}
_NUMBERS: dict[str, Mapping[str | None, int] | Mapping[str, int]] = {
    "command": COMMANDS,
    "code": CODES,
    "format": FORMATS,
    "location": LOCATIONS,
    "dtype": DTYPES,
}


def number_of(field: str, name: str | None) -> int:
    """The number that stands for a name in a field (``command``, ``code``, ``format``, ``location``, ``dtype``).

    Raises:
        EncodeError: the field knows no such name.
    """
    numbers: Mapping[str | None, int] = _NUMBERS[field]  # type: ignore[assignment]  # reading only
    try:
        return numbers[name]
    except KeyError:
        known = ", ".join(str(known) for known in numbers)
        raise EncodeError(f"{field} {name!r} has no number on the wire; known: {known}") from None


def name_of(field: str, number: int) -> str | None:
    """The name that a number stands for.

    Raises:
        DecodeError: the number is outside the table of the field.
    """
    try:
        return _NAMES[field][number]
    except KeyError:
        known = ", ".join(str(known) for known in sorted(_NAMES[field]))
        raise DecodeError(f"{field} {number} is outside the table; known: {known}") from None
