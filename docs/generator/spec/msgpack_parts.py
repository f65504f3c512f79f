"""A msgpack value in its parts: each head, name and value with its bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from docs.generator.spec.annotated import Part

_SCALARS: Final = {0xC0: "nil", 0xC2: "false", 0xC3: "true"}
_SIZED: Final = {
    0xC4: ("bytes", 1), 0xC5: ("bytes", 2), 0xC6: ("bytes", 4), 0xD9: ("text", 1), 0xDA: ("text", 2), 0xDB: ("text", 4),
    0xDC: ("array", 2), 0xDD: ("array", 4), 0xDE: ("map", 2), 0xDF: ("map", 4), 0xC7: ("extension", 1), 0xC8: ("extension", 2),
    0xC9: ("extension", 4),
}  # fmt: skip
_NUMBERS: Final = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8, 0xCA: 4, 0xCB: 8}
_LONGEST_VALUE: Final = 60


@dataclass(frozen=True)
class Head:
    """The head of a value: its kind, its bytes, and what it counts."""

    kind: str
    size: int
    count: int


def head_of(data: bytes, place: int) -> Head:
    """The head of the value at a place.

    Raises:
        ValueError: no value begins so.
    """
    first = data[place]
    if first <= 0x7F or first >= 0xE0:
        return Head("number", 1, 0)
    if first <= 0x8F:
        return Head("map", 1, first - 0x80)
    if first <= 0x9F:
        return Head("array", 1, first - 0x90)
    if first <= 0xBF:
        return Head("text", 1, first - 0xA0)
    if first in _SCALARS:
        return Head("scalar", 1, 0)
    if first in _NUMBERS:
        return Head("number", 1, _NUMBERS[first])
    if 0xD4 <= first <= 0xD8:
        return Head("extension", 2, 1 << (first - 0xD4))
    if first not in _SIZED:
        raise ValueError(f"no msgpack value begins with {first:02x}")
    kind, width = _SIZED[first]
    form = {1: ">B", 2: ">H", 4: ">I"}[width]
    return Head(kind, 1 + width + (kind == "extension"), struct.unpack_from(form, data, place + 1)[0])


def end_of(data: bytes, place: int) -> int:
    """Where the value at a place ends."""
    head = head_of(data, place)
    place += head.size
    if head.kind in {"array", "map"}:
        for _ in range(head.count * (2 if head.kind == "map" else 1)):
            place = end_of(data, place)
        return place
    return place + head.count


def parts(data: bytes) -> list[Part]:
    """The parts of a whole value; the value of a member stands below its name, further to the right."""
    return list(_parts(data, 0, 0))


def _parts(data: bytes, place: int, depth: int) -> Iterator[Part]:
    head, end = head_of(data, place), end_of(data, place)
    own = data[place : place + head.size]
    if head.kind == "map":
        yield Part(own, "", f"map of {head.count}", depth)
        inner = place + head.size
        for _ in range(head.count):
            after = end_of(data, inner)
            yield Part(data[inner:after], "", _value(data[inner:after]), depth + 1)
            yield from _parts(data, after, depth + 2)
            inner = end_of(data, after)
    elif head.kind == "array":
        yield Part(own, "", f"array of {head.count}", depth)
        yield from _elements(data, place + head.size, head.count, depth)
    elif head.kind == "extension":
        yield Part(own, "", f"extension type {own[-1]}, {head.count} bytes", depth)
        yield Part(data[place + head.size : end], "", "the KV tensor, see below", depth)
    else:
        yield Part(data[place:end], "", _value(data[place:end]), depth)


def _elements(data: bytes, place: int, count: int, depth: int) -> Iterator[Part]:
    """The elements of an array; numbers only are one part."""
    heads = []
    inner = place
    for _ in range(count):
        heads.append(head_of(data, inner))
        inner = end_of(data, inner)
    if count and all(head.kind == "number" for head in heads):
        values = [msgspec.msgpack.decode(data[begin:end]) for begin, end in _places(data, place, count)]
        yield Part(data[place:inner], "", _listed(values), depth + 1)
        return
    for begin, _ in _places(data, place, count):
        yield from _parts(data, begin, depth + 1)


def _places(data: bytes, place: int, count: int) -> Iterator[tuple[int, int]]:
    for _ in range(count):
        end = end_of(data, place)
        yield place, end
        place = end


def _listed(values: list[Any]) -> str:
    if len(values) > 4 and values == list(range(values[0], values[0] + len(values))):
        return f"{values[0]}, {values[1]}, ... {values[-1]}"
    return ", ".join(map(str, values))


def _value(data: bytes) -> str:
    value = msgspec.msgpack.decode(data)
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if value is None or isinstance(value, bool):
        return {None: "nil", True: "true", False: "false"}[value]
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."
