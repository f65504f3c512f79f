"""Which header begins with some bytes: those of which generation, and whether they can be a header at all."""

from __future__ import annotations

import re
from typing import Final

from wire.lm.enums import CODES, COMMANDS, DTYPE_ALIASES, DTYPES, FORMATS, LOCATIONS
from wire.lm.frames import header_numbers
from wire.lm.profile import HEADER_LAYOUTS, KEY_FIELD_SIZE, HeaderLayout

FIRST, WITH_LOCATION = (layout for _, layout in HEADER_LAYOUTS.rows())
DECIDES: Final = 4 * len(WITH_LOCATION.request)
"""Bytes of a request after which its layout is clear: the key of the one begins where a dimension of the other stands."""
SHORT: Final = FIRST.reply_size
"""Bytes that the replies of both generations have in common."""

KNOWN: Final[dict[str, frozenset[int]]] = {
    "command": frozenset(COMMANDS.values()),
    "code": frozenset(CODES.values()),
    "format": frozenset(FORMATS.values()),
    "dtype": frozenset({*DTYPES.values(), *DTYPE_ALIASES}),
    "location": frozenset(LOCATIONS.values()),
}
REQUEST_START: Final = re.compile(rb"[\x01-\x05]\0\0\0.{4}[\x00-\x08]\0\0\0[\x00-\x08]\0\0\0", re.DOTALL)
REPLY_START: Final = re.compile(rb"(?:\xc8\0|\x90\x01)\0\0.{4}[\x00-\x08]\0\0\0[\x00-\x08]\0\0\0", re.DOTALL)
_TEXT_BEGINS: Final = 0x20
_NO_TEXT: Final = frozenset({0, 0xFF})


def request_layout(start: bytes | bytearray) -> HeaderLayout:
    """The layout of a request header by its first :data:`DECIDES` bytes.

    The word that ends them is a dimension, unless it is the beginning of a key. UTF-8 has neither 0 nor 0xff, and a dimension
    with neither of them in its bytes would be of more than sixteen million.
    """
    return WITH_LOCATION if _NO_TEXT.intersection(start[DECIDES - 4 : DECIDES]) else FIRST


def request_layout_of(size: int) -> HeaderLayout:
    """The layout with request headers of this size."""
    return FIRST if size == FIRST.request_size else WITH_LOCATION


def unknown_fields(numbers: dict[str, int]) -> list[str]:
    """The fields of a header whose number is in no table of any release."""
    return [name for name, value in numbers.items() if name in KNOWN and value not in KNOWN[name]]


def is_request(layout: HeaderLayout, header: bytes) -> bool:
    """Whether bytes can be a request header, be it with one senseless number in it."""
    numbers = header_numbers(layout.request, header)
    wrong = unknown_fields(numbers)
    return not wrong or (len(wrong) == 1 and is_key(header[-KEY_FIELD_SIZE:]))


def is_key(field: bytes) -> bool:
    """Whether bytes look like a key, or the beginning of one."""
    return b"@" in field and min(field) >= _TEXT_BEGINS


def is_reply(numbers: dict[str, int]) -> bool:
    """Whether numbers can be those of a reply header, be it with one senseless number in it."""
    return len(unknown_fields({name: value for name, value in numbers.items() if name != "location"})) <= 1


def in_network_order(value: int) -> int:
    """What an integer would be with its bytes the other way round."""
    return int.from_bytes((value & 0xFFFFFFFF).to_bytes(4, "little"), "big", signed=True)
