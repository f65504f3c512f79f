"""The types of payloads and results: a small grammar for them, and whether a msgpack value is one.

========== ==================================================
``int``    an integer; ``bool``, ``str``, ``bytes``, ``float`` likewise
``map``    a map with any members
``any``    anything
``ext``    msgpack extension type 1: a KV tensor wrapper
``T?``     a ``T`` or nil
``[T]``    an array of ``T``
``(T, U)`` an array of exactly these
``{T: U}`` a map
``Name``   a record of :mod:`wire.mp.records`, or an enumeration, by its upstream name
========== ==================================================
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Final

SCALARS: Final = ("int", "bool", "str", "bytes", "float", "map", "any", "ext")
_WORD: Final = re.compile(r"[A-Za-z]\w*|[\[\](){}:,?]|\s+")


@dataclass(frozen=True)
class Scalar:
    """One of :data:`SCALARS`."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Named:
    """A record or an enumeration."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Optional:
    """A value or nil."""

    inner: Type

    def __str__(self) -> str:
        return f"{self.inner}?"


@dataclass(frozen=True)
class Array:
    """Any number of elements of one type."""

    element: Type

    def __str__(self) -> str:
        return f"[{self.element}]"


@dataclass(frozen=True)
class Tuple:
    """A fixed number of elements."""

    elements: tuple[Type, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.elements))})"


@dataclass(frozen=True)
class Map:
    """Keys and values of one type each."""

    key: Type
    value: Type

    def __str__(self) -> str:
        return f"{{{self.key}: {self.value}}}"


Type = Scalar | Named | Optional | Array | Tuple | Map


@functools.lru_cache(maxsize=512)
def parse_type(text: str) -> Type:
    """Read a type of the grammar above.

    Raises:
        ValueError: the text is none.
    """
    words = [word for word in _WORD.findall(text) if not word.isspace()]
    if "".join(words) != re.sub(r"\s+", "", text):
        raise ValueError(f"{text!r} has a character that no type has")
    try:
        found = _read(words)
    except RecursionError:
        raise ValueError(f"{text[:60]!r} is nested too deep for a type") from None
    if words:
        raise ValueError(f"{text!r} goes on behind a whole type: {' '.join(words)}")
    return found


def _read(words: list[str]) -> Type:
    word = _next(words)
    found: Type
    if word == "[":
        found = Array(_read(words))
        _expect(words, "]")
    elif word == "(":
        elements = [_read(words)]
        while words and words[0] == ",":
            words.pop(0)
            elements.append(_read(words))
        found = Tuple(tuple(elements))
        _expect(words, ")")
    elif word == "{":
        key = _read(words)
        _expect(words, ":")
        found = Map(key, _read(words))
        _expect(words, "}")
    elif word[0].isalpha():
        found = Scalar(word) if word in SCALARS else Named(word)
    else:
        raise ValueError(f"a type cannot begin with {word!r}")
    if words and words[0] == "?":
        words.pop(0)
        found = Optional(found)
    return found


def _next(words: list[str]) -> str:
    if not words:
        raise ValueError("a type ends too early")
    return words.pop(0)


def _expect(words: list[str], what: str) -> None:
    word = _next(words)
    if word != what:
        raise ValueError(f"{what!r} is missing in a type, there is {word!r}")
