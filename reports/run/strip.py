"""A header as a row of boxes, field by field: where what differs stands among the others."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reports.diagnosis import Diagnosis, FrameDump
from reports.pictures.frames import Field, Layout
from reports.pictures.strip import layout_of
from reports.run.bytes import Piece, joined
from reports.words import count
from wire.release import Release

KINDS: Final = ("request", "reply", "metadata")
WHOLE: Final = 8
"""Bytes up to which a field is written out."""


@dataclass(frozen=True)
class Box:
    """A field: the bytes that came, and those that were expected where these are others."""

    name: str
    got: tuple[Piece, ...]
    expected: str
    wrong: bool


def strip(diagnosis: Diagnosis, release: str) -> tuple[Box, ...]:
    """The fields of the header in which something differs; empty where it is not known which header that is.

    It is known where one header of the release alone has all fields that are named as different, in their places.
    """
    if len(diagnosis.frames) != 2 or not diagnosis.fields:
        return ()
    expected, got = diagnosis.frames
    if not (expected.title.startswith("expected") and _whole(expected) and _whole(got)):
        return ()
    found = [layout for layout in _layouts(release) if layout.size == len(expected.data) and _has_all(layout, diagnosis)]
    return tuple(_box(field, expected.data, got.data) for field in found[0].fields) if len(found) == 1 else ()


def _whole(frame: FrameDump) -> bool:
    return frame.offset == 0 and frame.truncated_from is None


def _has_all(layout: Layout, diagnosis: Diagnosis) -> bool:
    known = {(field.name, field.offset, field.size) for field in layout.fields}
    return all((field.name, field.offset, field.size) in known for field in diagnosis.fields)


@functools.cache
def _layouts(release: str) -> Sequence[Layout]:
    try:
        return [layout_of(kind, Release.parse(release)) for kind in KINDS]
    except (LookupError, ValueError):
        return []


def _box(field: Field, expected: bytes, got: bytes) -> Box:
    due, came = (data[field.offset : field.end] for data in (expected, got))
    wrong = [place for place in range(field.size) if due[place : place + 1] != came[place : place + 1]]
    if field.size > WHOLE:
        told = f"{count(field.size, 'byte')}{f', {len(wrong)} of them differ' if wrong else ''}"
        return Box(field.name, (Piece(told),), "", bool(wrong))
    pieces = joined(piece for place in range(field.size) for piece in _pieces(came, place, place in wrong))
    return Box(field.name, tuple(pieces), due.hex(" ") if wrong else "", bool(wrong))


def _pieces(came: bytes, place: int, wrong: bool) -> tuple[Piece, ...]:
    byte = f"{came[place]:02x}" if place < len(came) else "--"
    return (*([Piece(" ")] if place else []), Piece(byte, "mark" if wrong else ""))
