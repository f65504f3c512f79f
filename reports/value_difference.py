"""Where two JSON-like answers differ, by path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from reports.diagnosis import ValueDifference
from reports.plain import clip, plain

LIMIT: Final = 20


def value_differences(expected: object, got: object, *, limit: int = LIMIT) -> tuple[ValueDifference, ...]:
    """The places where two answers differ, in reading order; ``()`` if they do not.

    ``true`` and ``1`` differ, ``1`` and ``1.0`` do not (JSON has one kind of number), NaN equals NaN, tuples equal
    lists. After ``limit`` places one more row says that there is more.
    """
    found = list(islice(_walk(expected, got, ""), limit + 1))
    if len(found) <= limit:
        return tuple(found)
    return (*found[:limit], ValueDifference("...", None, None, "more places differ"))


def same_value(expected: object, got: object) -> bool:
    """Whether two answers are equal in the sense of :func:`value_differences`."""
    return next(_walk(expected, got, ""), None) is None


def _walk(expected: object, got: object, path: str) -> Iterator[ValueDifference]:
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        yield from _walk_members(expected, got, path)
    elif _is_list(expected) and _is_list(got):
        assert isinstance(expected, Sequence)
        assert isinstance(got, Sequence)
        yield from _walk_rows(expected, got, path)
    elif not _equal(expected, got):
        yield ValueDifference(path, plain(expected), plain(got), _note(expected, got))


def _walk_members(expected: Mapping[object, object], got: Mapping[object, object], path: str) -> Iterator[ValueDifference]:
    for name, value in expected.items():
        place = _member(path, name)
        if name in got:
            yield from _walk(value, got[name], place)
        else:
            yield ValueDifference(place, plain(value), None, "missing")
    for name, value in got.items():
        if name not in expected:
            yield ValueDifference(_member(path, name), None, plain(value), "not expected")


def _walk_rows(expected: Sequence[object], got: Sequence[object], path: str) -> Iterator[ValueDifference]:
    if len(expected) != len(got):
        yield ValueDifference(f"{path}.length" if path else "length", len(expected), len(got))
    for index, (one, other) in enumerate(zip(expected, got, strict=False)):
        yield from _walk(one, other, f"{path}[{index}]")


def _member(path: str, name: object) -> str:
    return f"{path}.{clip(str(name), 80)}" if path else clip(str(name), 80)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview)


def _equal(expected: object, got: object) -> bool:
    if isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    if isinstance(expected, float) and isinstance(got, float) and expected != expected and got != got:  # noqa: PLR0124  # NaN
        return True
    return expected == got


def _note(expected: object, got: object) -> str:
    if isinstance(expected, str) and isinstance(got, str):
        shared = next((i for i, (a, b) in enumerate(zip(expected, got, strict=False)) if a != b), min(len(expected), len(got)))
        return f"differs from character {shared} on" if shared else ""
    kinds = _kind(expected), _kind(got)
    return "" if kinds[0] == kinds[1] else f"{kinds[1]} instead of {kinds[0]}"


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case bytes() | bytearray() | memoryview():
            return "bytes"
        case Mapping():
            return "an object"
        case Sequence():
            return "a list"
        case _:
            return type(value).__name__
