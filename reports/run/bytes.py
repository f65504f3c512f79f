"""Hexdumps for a page: rows of sixteen bytes in pieces, of which those that differ are marked and cuts of the stream show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from reports.diagnosis import FrameDump
from reports.hexdump import caption
from reports.plain import clip

ROW: Final = 16
ROWS: Final = 24
"""Rows shown at most, as in the dump of a terminal."""
TITLE: Final = 300
MOST: Final = 0.75


@dataclass(frozen=True)
class Piece:
    """Text of a row, and what is the matter with it: ``mark``, ``cut`` or nothing."""

    text: str
    kind: str = ""


@dataclass(frozen=True)
class Dump:
    """A frame as rows of pieces."""

    caption: str
    expected: bool
    """It is the one that was expected, and its marked bytes are the right ones."""
    rows: tuple[tuple[Piece, ...], ...]
    whole: bool
    """Nearly all bytes differ, so that marks do not tell them apart."""
    more: int
    """Bytes that are not shown."""


def dumps(frames: Sequence[FrameDump]) -> tuple[Dump, ...]:
    """All frames of a diagnosis."""
    return tuple(_dump(frame, expected=len(frames) > 1 and frame.title.startswith("expected")) for frame in frames)


def _dump(frame: FrameDump, *, expected: bool) -> Dump:
    starts = range(0, len(frame.data), ROW)
    shown = starts[:ROWS]
    marked = {place for offset, length in frame.marks for place in range(offset, min(offset + length, _end(frame)))}
    rows = tuple(tuple(joined(_row(frame, start, marked))) for start in shown)
    whole = len(marked) > MOST * len(frame.data)
    return Dump(clip(caption(frame), TITLE), expected, rows, whole, max(0, len(frame.data) - ROWS * ROW))


def _row(frame: FrameDump, start: int, marked: set[int]) -> Iterator[Piece]:
    data = frame.data[start : start + ROW]
    first = frame.offset + start
    cuts = {cut for cut in frame.cuts if cut > 0}
    yield Piece(f"{first:04x} ")
    for place, byte in enumerate(data, first):
        yield Piece("|", "cut") if place in cuts else Piece(" ", "mark" if {place - 1, place} <= marked and place > first else "")
        yield Piece(f"{byte:02x}", "mark" if place in marked else "")
    yield Piece("|", "cut") if first + len(data) in cuts and start + ROW >= len(frame.data) else Piece(" ")
    yield Piece("   " * (ROW - len(data)) + " ")
    for place, byte in enumerate(data, first):
        yield Piece(chr(byte) if 0x20 <= byte < 0x7F else ".", "mark" if place in marked else "")


def joined(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Neighbours of one kind as one piece."""
    text, kind = "", ""
    for piece in pieces:
        if piece.kind == kind and kind != "cut":
            text += piece.text
            continue
        if text:
            yield Piece(text, kind)
        text, kind = piece.text, piece.kind
    if text:
        yield Piece(text, kind)


def _end(frame: FrameDump) -> int:
    return frame.offset + len(frame.data)
