"""Where two frames differ: named fields if their structure is known, marked bytes in any case."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from reports.diagnosis import FieldDifference, FrameDump
from wire.lm.frames import Field

WHOLE: Final = 256
"""Frames up to this many bytes are kept whole; every ``lm://`` header is."""
WINDOW: Final = 128
"""Bytes kept of a longer one: 8 rows of a hexdump, around the first byte that differs."""
ROW: Final = 16
BLOCK: Final = 4096


@dataclass(frozen=True)
class FrameDifference:
    """How a frame that came differs from the one that was expected; the members go into a ``Diagnosis``."""

    summary: str
    """Such as ``1 of 36 bytes differs, the first at 0x4``; empty if the two are equal."""
    fields: tuple[FieldDifference, ...]
    frames: tuple[FrameDump, ...]


def frame_difference(
    expected: bytes,
    got: bytes,
    describe: Callable[[bytes], list[Field]] | None = None,
    *,
    titles: tuple[str, str] = ("expected", "got"),
    cuts: Sequence[int] = (),
) -> FrameDifference:
    """Compare two frames.

    ``describe`` names the fields of such a frame, for example ``partial(describe_reply, profile)``; without it bytes
    are compared alone. ``cuts`` are the offsets at which the frame that came was cut into segments.
    """
    fields = field_differences(describe(expected), describe(got)) if describe else ()
    first = first_change(expected, got) or 0
    frames = tuple(
        frame_dump(title, data, marks=changed_ranges(expected, got, *_window(len(data), first)), around=first, cuts=where)
        for title, data, where in zip(titles, (expected, got), ((), cuts), strict=True)
    )
    return FrameDifference(_summary(expected, got, first), fields, frames)


def field_differences(expected: Sequence[Field], got: Sequence[Field]) -> tuple[FieldDifference, ...]:
    """The fields that differ in value, or that only one of the two has, in order of offset.

    Fields are paired by name. One that moved, as between two header layouts, differs even if its value does not.
    """
    came = {field.name: field for field in got}
    pairs = [(field, came.pop(field.name, None)) for field in expected]
    rows = [_field_row(field, other) for field, other in pairs if other is None or _differ(field, other)]
    rows += [FieldDifference(field.offset, field.size, field.name, None, _show(field), "not expected") for field in came.values()]
    return tuple(sorted(rows, key=lambda row: row.offset))


def first_change(expected: bytes, got: bytes) -> int | None:
    """The first offset at which the two differ, be it that only one of them reaches so far; ``None`` if equal."""
    if expected == got:
        return None
    shared = min(len(expected), len(got))
    block = next((start for start in range(0, shared, BLOCK) if expected[start : start + BLOCK] != got[start : start + BLOCK]), 0)
    return next((place for place in range(block, shared) if expected[place] != got[place]), shared)


def changed_ranges(expected: bytes, got: bytes, start: int = 0, end: int | None = None) -> tuple[tuple[int, int], ...]:
    """(offset, length) of each stretch from ``start`` to ``end`` that differs or that only one of the two has."""
    longest = max(len(expected), len(got))
    places = range(start, longest if end is None else min(end, longest))
    differing = [place for place in places if expected[place : place + 1] != got[place : place + 1]]
    runs = [[place for _, place in run] for _, run in groupby(enumerate(differing), lambda pair: pair[1] - pair[0])]
    return tuple((run[0], len(run)) for run in runs)


def frame_dump(
    title: str,
    data: bytes,
    *,
    marks: Sequence[tuple[int, int]] = (),
    cuts: Sequence[int] = (),
    around: int = 0,
) -> FrameDump:
    """The frame for a hexdump: whole up to 256 bytes, else 128 bytes around an offset; marks and cuts cut to fit."""
    start, end = _window(len(data), around)
    kept = data[start:end]
    inside = [(max(offset, start), min(offset + length, end)) for offset, length in marks]
    return FrameDump(
        title=title,
        data=kept,
        offset=start,
        cuts=tuple(cut for cut in cuts if start <= cut <= end),
        marks=tuple((begin, stop - begin) for begin, stop in inside if begin < stop),
        truncated_from=len(data) if len(kept) < len(data) else None,
    )


def _window(length: int, around: int) -> tuple[int, int]:
    if length <= WHOLE:
        return 0, length
    last = -(-length // ROW) * ROW - WINDOW
    start = max(0, min((around // ROW - 2) * ROW, last))
    return start, min(start + WINDOW, length)


def _summary(expected: bytes, got: bytes, first: int) -> str:
    if expected == got:
        return ""
    if not got:
        return f"nothing came, expected {_bytes(len(expected))}"
    if len(expected) == len(got):
        count = sum(map(operator.ne, expected, got))
        return f"{count} of {_bytes(len(got))} {'differs' if count == 1 else 'differ'}, the first at 0x{first:x}"
    lengths = f"{_bytes(len(got))} came, expected {len(expected)}"
    if first == min(len(expected), len(got)):
        return f"{lengths}; all that both have is equal"
    return f"{lengths}; the first difference is at 0x{first:x}"


def _bytes(count: int) -> str:
    return f"{count} byte" if count == 1 else f"{count} bytes"


def _differ(field: Field, other: Field) -> bool:
    return (field.value, field.offset, field.size) != (other.value, other.offset, other.size)


def _field_row(field: Field, other: Field | None) -> FieldDifference:
    if other is None:
        return FieldDifference(field.offset, field.size, field.name, _show(field), None, "not there")
    return FieldDifference(field.offset, field.size, field.name, _show(field), _show(other), _note(field, other))


def _note(field: Field, other: Field) -> str:
    if field.offset != other.offset:
        return f"stands at {other.offset}"
    if isinstance(field.value, str) and isinstance(other.value, str) and field.value != other.value:
        shared = _shared_start(field.value, other.value)
        return f"differs from character {shared} on" if shared else ""
    return "" if field.value != other.value else f"takes {_bytes(other.size)}"


def _shared_start(one: str, other: str) -> int:
    return next((index for index, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _show(field: Field) -> str:
    return f"{field.value} ({field.meaning})" if field.meaning else str(field.value)
