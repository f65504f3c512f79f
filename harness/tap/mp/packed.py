"""msgpack by its bytes: where each value of a frame stands. Nothing is made of the values, and nothing is executed."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wire.errors import WireError
from wire.mp.values import DEEPEST

Path = tuple[object, ...]
"""Indices of arrays and keys of maps, from the outside in."""


class Malformed(WireError):
    """Bytes that are no msgpack; ``offset`` says where."""

    def __init__(self, offset: int, words: str) -> None:
        super().__init__(f"no msgpack at byte {offset}: {words}")
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Place:
    """One value in a frame, or one key of a map; arrays and maps come before what they hold."""

    path: Path
    start: int
    body: int
    """Where what follows the type and the length begins."""
    end: int
    """Of an array or a map: of its head alone."""
    kind: str
    """``nil``, ``bool``, ``int``, ``float``, ``str``, ``bytes``, ``ext``, ``array`` or ``map``."""
    count: int
    """Elements of an array, members of a map, bytes of a text and the like."""
    is_key: bool = False


_FIXED: Final[dict[int, tuple[str, int]]] = {
    0xC0: ("nil", 0), 0xC2: ("bool", 0), 0xC3: ("bool", 0), 0xCA: ("float", 4), 0xCB: ("float", 8),
    0xCC: ("int", 1), 0xCD: ("int", 2), 0xCE: ("int", 4), 0xCF: ("int", 8),
    0xD0: ("int", 1), 0xD1: ("int", 2), 0xD2: ("int", 4), 0xD3: ("int", 8),
    0xD4: ("ext", 1), 0xD5: ("ext", 2), 0xD6: ("ext", 4), 0xD7: ("ext", 8), 0xD8: ("ext", 16),
}  # fmt: skip
_SIZED: Final[dict[int, tuple[str, int]]] = {
    0xC4: ("bytes", 1),
    0xC5: ("bytes", 2),
    0xC6: ("bytes", 4),
    0xC7: ("ext", 1),
    0xC8: ("ext", 2),
    0xC9: ("ext", 4),
    0xD9: ("str", 1),
    0xDA: ("str", 2),
    0xDB: ("str", 4),
    0xDC: ("array", 2),
    0xDD: ("array", 4),
    0xDE: ("map", 2),
    0xDF: ("map", 4),
}


def head(data: bytes, start: int) -> tuple[str, int, int, int]:
    """Kind, where the body begins, where it ends by what the head says, and the count; the end may lie behind the data.

    Raises:
        Malformed: there is no head, or half of one.
    """
    if start >= len(data):
        raise Malformed(start, "the frame ends where a value is due")
    first = data[start]
    if first < 0x80 or first >= 0xE0:
        return "int", start + 1, start + 1, 0
    if first < 0x90:
        return "map", start + 1, start + 1, first & 0x0F
    if first < 0xA0:
        return "array", start + 1, start + 1, first & 0x0F
    if first < 0xC0:
        return "str", start + 1, start + 1 + (first & 0x1F), first & 0x1F
    if first in _FIXED:
        kind, size = _FIXED[first]
        body = start + 1 + (kind == "ext")
        return kind, body, body + size, size
    if first not in _SIZED:
        raise Malformed(start, f"no value begins with {first:02x}")
    kind, width = _SIZED[first]
    if start + 1 + width > len(data):
        raise Malformed(start, "the frame ends inside of a length")
    count = int.from_bytes(data[start + 1 : start + 1 + width], "big")
    body = start + 1 + width + (kind == "ext")
    return kind, body, body if kind in ("array", "map") else body + count, count


@dataclass
class _Level:
    path: Path
    left: int
    is_map: bool
    index: int = 0
    key: object = None
    due_key: bool = False


def places(data: bytes) -> Iterator[Place]:
    """Every value of a frame, in the order of their bytes.

    Raises:
        Malformed: it is no msgpack value, is nested too deep, or something stands behind it.
    """
    levels = [_Level((), 1, is_map=False)]
    start = 0
    while levels:
        level = levels[-1]
        if not level.left:
            levels.pop()
            continue
        kind, body, end, count = head(data, start)
        if end > len(data):
            raise Malformed(start, f"a {kind} of {end - body} bytes does not fit into the frame")
        is_key = level.is_map and level.due_key
        path = level.path if len(levels) == 1 else (*level.path, level.key if level.is_map else level.index)
        if is_key:
            path = (*level.path, _key(data, kind, start, body, end))
            level.key, level.due_key = path[-1], False
        else:
            level.left -= 1
            level.index += 1
            level.due_key = True
        yield Place(path, start, body, end, kind, count, is_key)
        if kind in ("array", "map"):
            if len(levels) > DEEPEST:
                raise Malformed(start, f"arrays and maps are nested more than {DEEPEST} deep")
            levels.append(_Level(path, count, kind == "map", due_key=kind == "map"))
        start = end
    if start != len(data):
        raise Malformed(start, f"{len(data) - start} bytes stand behind the value")


def _key(data: bytes, kind: str, start: int, body: int, end: int) -> object:
    if kind == "str":
        return data[body:end].decode("utf-8", "replace")
    if kind == "int":
        return number(data, start)
    return data[start:end]


def number(data: bytes, start: int) -> int:
    """The integer whose type byte stands at a place."""
    first = data[start]
    if first < 0x80:
        return first
    if first >= 0xE0:
        return first - 0x100
    _, size = _FIXED[first]
    return int.from_bytes(data[start + 1 : start + 1 + size], "big", signed=first >= 0xD0)


def with_number(data: bytes, start: int, value: int) -> bytes:
    """The bytes of an integer in the form, and so the size, of the one at a place."""
    first = data[start]
    if first < 0x80 or first >= 0xE0:
        return struct.pack("b", value)
    _, size = _FIXED[first]
    return bytes([first]) + value.to_bytes(size, "big", signed=first >= 0xD0)


def place_of(data: bytes, path: Path) -> Place | None:
    """Where the value at a path begins; of a path that is not there, the innermost array or map that is."""
    found: Place | None = None
    try:
        for place in places(data):
            if place.is_key:
                continue
            if place.path == path:
                return place
            if path[: len(place.path)] == place.path and (found is None or len(place.path) > len(found.path)):
                found = place
    except Malformed:
        return found
    return found


def place_at(data: bytes, offset: int) -> Place | None:
    """The innermost value, or key, whose bytes an offset is among."""
    found: Place | None = None
    try:
        for place in places(data):
            if place.start > offset:
                break
            found = place
    except Malformed:
        return found
    return found


def path_text(path: Sequence[Any]) -> str:
    """A path as people write it: ``token_ids[3]``, ``context.slots[0].offset``."""
    words = ""
    for step in path:
        words += f"[{step}]" if isinstance(step, int) else f".{step}" if words else str(step)
    return words
