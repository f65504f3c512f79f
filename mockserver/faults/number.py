"""The value of a header field as a fault gives it: a number, a name, or relative to what the reply would honestly say."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from wire.lm.enums import CODES, DTYPES, FORMATS, LOCATIONS
from wire.numerals import NoNumber, read_integer

_NAMED: Final[Mapping[str, Mapping[str, int]]] = MappingProxyType(
    {
        "code": CODES,
        "format": FORMATS,
        "dtype": {name or "none": number for name, number in DTYPES.items()},
        "location": {name or "none": number for name, number in LOCATIONS.items()},
    }
)
_INT32: Final = range(-(2**31), 2**31)
_STORED: Final = "stored"
_SPELLING: Final = re.compile(rf"{_STORED}(?:(?P<operator>[+*-])(?P<operand>[0-9]+))?")


@dataclass(frozen=True, slots=True)
class Stored:
    """The honest value, and a change to it: ``stored+1``, ``stored-1``, ``stored*2``."""

    operator: str = "+"
    operand: int = 0

    def of(self, honest: int) -> int:
        """The changed value; what does not fit into 32 bits wraps, as it does in C."""
        match self.operator:
            case "+":
                changed = honest + self.operand
            case "-":
                changed = honest - self.operand
            case _:
                changed = honest * self.operand
        return (changed + 2**31) % 2**32 - 2**31

    def __str__(self) -> str:
        return f"{_STORED}{self.operator}{self.operand}"


Number = int | Stored | str
"""A number, a change of the honest one, or a name of the field's table such as ``float32``."""


def read_number(text: str) -> Number:
    """A value as ``--fault`` spells it; whether a name is one of the field's is for :func:`require_number`.

    Raises:
        ValueError: it is empty.
    """
    try:
        return read_integer(text, hexadecimal=True)
    except NoNumber:
        found = _SPELLING.fullmatch(text)
        if found is not None:
            return Stored(found["operator"] or "+", read_integer(found["operand"] or "0"))
        if not text:
            raise
        return text


def require_number(field: str, value: Number) -> None:
    """Refuse what cannot stand in a field.

    Raises:
        ValueError: an integer outside int32, or a name that is not in the field's table.
    """
    if isinstance(value, int) and value not in _INT32:
        raise ValueError(f"a header field holds an int32, {value} is none")
    if isinstance(value, str) and value not in _NAMED.get(field, {}):
        names = list(_NAMED.get(field, ()))
        close = difflib.get_close_matches(value, [*names, _STORED], n=1)
        guess = f" (did you mean {close[0]}?)" if close else ""
        raise ValueError(f"{field} cannot be {value!r}{guess}; it is {', '.join(['an integer', *names, 'or such as stored+1'])}")


def number_for(field: str, value: Number, honest: int) -> int:
    """The number to send in place of the honest one."""
    if isinstance(value, Stored):
        return value.of(honest)
    return value if isinstance(value, int) else _NAMED[field][value]
