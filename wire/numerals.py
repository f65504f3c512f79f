"""Numbers as people write them: in digits of ASCII, and nothing else that Python would take for a number."""

from __future__ import annotations

import math
import re
from typing import Final

LONGEST: Final = 40
"""Characters of the longest number that is read, and of a longer text that :func:`shown` leaves."""
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_HEXADECIMAL: Final = re.compile(r"[+-]?0[xX][0-9a-fA-F]+")
_DECIMAL: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


class NoNumber(ValueError):
    """A text is none that is read here."""


def read_integer(text: str, *, hexadecimal: bool = False) -> int:
    """An integer: digits with or without a sign, or such as ``0x7f`` where that is allowed.

    Raises:
        NoNumber: it is none, or has more than :data:`LONGEST` characters.
    """
    if len(text) <= LONGEST:
        if _INTEGER.fullmatch(text):
            return int(text)
        if hexadecimal and _HEXADECIMAL.fullmatch(text):
            return int(text, 16)
    raise NoNumber(f"{shown(text)!r} is no integer")


def read_decimal(text: str) -> float:
    """A number with or without a fraction or an exponent.

    Raises:
        NoNumber: it is none, not finite, or has more than :data:`LONGEST` characters.
    """
    if len(text) <= LONGEST and _DECIMAL.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    raise NoNumber(f"{shown(text)!r} is no number")


def decimal(number: int) -> str:
    """The digits of an integer in base 10.

    Raises:
        NoNumber: it has more than the interpreter writes (4,300, unless somebody set another limit).
    """
    try:
        return str(number)
    except ValueError:
        raise NoNumber(f"a number of {number.bit_length()} bits has too many decimal digits to be written") from None


def shown(text: str) -> str:
    """A text as a message quotes it."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
