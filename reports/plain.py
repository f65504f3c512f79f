"""Makes any value, however wild, a bounded JSON value that fits into a record."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

JsonValue: TypeAlias = bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"] | None
JsonObject: TypeAlias = dict[str, Any]

LONGEST_TEXT: Final = 4096
LONGEST_LIST: Final = 256
DEEPEST: Final = 16


def plain(value: object) -> JsonValue:
    """The value as JSON: bytes become ``{"hex": ...}``, NaN and infinities become text, excess becomes a remark.

    Bounds: 4096 characters a text, 256 members a list or object, 16 levels. A value within them is unchanged.
    """
    return _plain(value, 0)


def clip(text: str, limit: int = LONGEST_TEXT, *, keep: Literal["start", "end"] = "start") -> str:
    """The text, or its start or end with a remark of how much there was; an end begins with a whole line if it has one."""
    if len(text) <= limit:
        return text
    if keep == "end":
        end = whole_lines(text, limit)
        begin = "\n" if text[-len(end) - 1] == "\n" else " "
        return f"... ({len(text)} characters, the last {len(end)} follow){begin}{end}"
    return f"{text[:limit]}... ({len(text)} characters in all)"


def whole_lines(text: str, limit: int) -> str:
    """The last lines that fit into so many characters, of the last line the end if it alone does not fit."""
    if len(text) <= limit:
        return text
    cut = len(text) - limit
    line = text.find("\n", cut - 1, len(text) - 1) + 1
    return text[line or cut :]


def _plain(value: object, depth: int) -> JsonValue:
    match value:
        case None | bool():
            return value
        case int():
            return value if abs(value) < 2**63 else clip(_digits(value))
        case float():
            return value if math.isfinite(value) else str(value)
        case str():
            return clip(value)
        case bytes() | bytearray() | memoryview():
            return {"hex": clip(bytes(value).hex())}
    if depth >= DEEPEST:
        return "... (nested too deeply)"
    match value:
        case Mapping():
            members = list(value.items())
            known = {clip(str(name)): _plain(member, depth + 1) for name, member in members[:LONGEST_LIST]}
            return known | ({"...": f"{len(members)} members in all"} if len(members) > LONGEST_LIST else {})
        case Sequence():
            rows = [_plain(row, depth + 1) for row in value[:LONGEST_LIST]]
            return [*rows, f"... ({len(value)} in all)"] if len(value) > LONGEST_LIST else rows
        case _:
            return clip(repr(value))


def _digits(value: int) -> str:
    # Python refuses to write integers of thousands of digits in decimal.
    return str(value) if value.bit_length() < 4096 else hex(value)
