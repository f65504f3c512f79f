"""Bytes with the name and the value of each stretch beside them.

An example::

    offset  bytes        field    holds
    0000    c8 00 00 00  code     200, SUCCESS
    0004    40 00 00 00  length   64

A long run of one byte is written ``20 x 97``. What is written can be read back (:func:`read_back`), so that a test sees that
no byte is missing or wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from reports.escape import escape

ROW: Final = 12
"""Bytes of a line: most names of fields fit into one, and a line fits into a page."""
_LONGEST_RUN: Final = 24
"""A longer run of one byte is written as such."""
_LINE: Final = re.compile(r"^(?P<offset>[0-9a-f]{4,}) {2,}(?P<bytes>(?:[0-9a-f]{2} )*[0-9a-f]{2}|[0-9a-f]{2} x \d+)(?=  |$)")


@dataclass(frozen=True)
class Part:
    """A stretch of bytes that means one thing."""

    data: bytes
    name: str
    value: str = ""
    depth: int = 0
    """How deep it is nested; what stands beside it is moved to the right."""


def annotated(parts: Iterable[Part]) -> str:
    """The parts as a fenced block, one after the other."""
    return fenced(lines_of([("offset", "bytes", "field", "holds"), *_rows(parts)]))


def framed(frames: Sequence[tuple[str, Sequence[Part]]]) -> str:
    """Several frames as one fenced block, each below its title and with offsets of its own."""
    rows = [list(_rows(parts)) for _, parts in frames]
    lines = iter(lines_of([row for of_frame in rows for row in of_frame]))
    written: list[str] = []
    for (title, _), of_frame in zip(frames, rows, strict=True):
        written += [*([""] if written else []), title, *(next(lines) for _ in of_frame)]
    return fenced(written)


def fenced(lines: Sequence[str]) -> str:
    """Lines as a block of plain text."""
    return "\n".join(["```text", *lines, "```"])


def lines_of(rows: Sequence[tuple[str, str, str, str]]) -> list[str]:
    """Rows in aligned columns; a column in which nothing stands is left out."""
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True) if width).rstrip() for row in rows]


def _rows(parts: Iterable[Part]) -> Iterator[tuple[str, str, str, str]]:
    offset = 0
    for part in parts:
        indent = " " * 2 * part.depth
        name, value = part.name and indent + part.name, (indent if not part.name else "") + escape(part.value)
        for piece in _pieces(part.data):
            yield f"{offset:04x}", _hexadecimal(piece), name, value
            offset += len(piece)
            name = value = ""


def _pieces(data: bytes) -> list[bytes]:
    """The bytes in rows; a long run of one byte at the end or as a whole is one piece."""
    run = len(data) - len(data.rstrip(data[-1:])) if data else 0
    head, tail = (data[:-run], data[-run:]) if run > _LONGEST_RUN else (data, b"")
    return [*(head[place : place + ROW] for place in range(0, len(head), ROW)), *([tail] if tail else [])]


def _hexadecimal(data: bytes) -> str:
    return f"{data[0]:02x} x {len(data)}" if len(data) > ROW else data.hex(" ")


def read_back(text: str) -> list[bytes]:
    """The bytes of a block that was written here: one piece for each run of offsets that begins at 0.

    Raises:
        ValueError: the offsets leave a gap.
    """
    found: list[bytes] = []
    for line in text.split("\n"):
        match = _LINE.match(line)
        if match is None:
            continue
        offset = int(match["offset"], 16)
        if offset == 0:
            found.append(b"")
        if not found or offset != len(found[-1]):
            raise ValueError(f"{line!r}: expected offset {len(found[-1]) if found else 0:04x}")
        byte, times, count = match["bytes"].partition(" x ")
        found[-1] += bytes.fromhex(byte) * int(count) if times else bytes.fromhex(match["bytes"])
    return found


def several(examples: Sequence[tuple[str, str]]) -> str:
    """Examples below each other, each with a line that says what it is."""
    return "\n\n".join(f"{title}\n\n{body}" for title, body in examples)
