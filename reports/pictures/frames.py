"""Frames of fixed layout through the releases: where each field stands, and what became of it since the generation before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from reports.pictures.releases import members
from wire.lm.metadata import metadata_size
from wire.lm.profile import HEADER_LAYOUTS, KEY_FIELD_SIZE, METADATA_GROUPS, HeaderLayout
from wire.release import ReleaseRange

_INTEGER = 4
_SHOWN_GROUPS = 2


class Fate(StrEnum):
    """What became of a field since the generation before."""

    SAME = "same"
    MOVED = "moved"
    ADDED = "added"
    REMOVED = "removed"
    RESIZED = "resized"


@dataclass(frozen=True)
class Field:
    """One stretch of bytes."""

    name: str
    type: str
    offset: int
    size: int
    fate: Fate = Fate.SAME
    was: int | None = None
    """The offset in the generation before, where it had another one."""
    optional: bool = False
    """Whether a frame may end before it."""

    @property
    def end(self) -> int:
        """The first byte behind it."""
        return self.offset + self.size

    @property
    def is_text(self) -> bool:
        """Whether its bytes are characters."""
        return self.type.startswith("UTF-8")


@dataclass(frozen=True)
class Layout:
    """The fields of one frame, in order, without gaps between them."""

    fields: tuple[Field, ...]

    @property
    def size(self) -> int:
        """Bytes of the frame with all that it may have."""
        return max((field.end for field in self.fields), default=0)

    @property
    def least(self) -> int:
        """Bytes of the frame without what it may lack."""
        return max((field.end for field in self.fields if not field.optional), default=0)


@dataclass(frozen=True)
class Generation:
    """Releases that lay a frame out alike."""

    releases: tuple[str, ...]
    layout: Layout
    removed: tuple[Field, ...] = ()
    """Fields of the generation before that are gone, where they stood."""


@dataclass(frozen=True)
class History:
    """One kind of frame through the releases."""

    kind: str
    """``request``, ``reply`` or ``metadata``."""
    title: str
    generations: tuple[Generation, ...]


def request_history() -> History:
    """The request header of ``lm://``, as the tables of ``wire`` have it."""
    return _history("request", "Request header", [(range_, request_layout(table)) for range_, table in HEADER_LAYOUTS.rows()])


def reply_history() -> History:
    """The reply header of ``lm://``."""
    return _history("reply", "Reply header", [(range_, reply_layout(table)) for range_, table in HEADER_LAYOUTS.rows()])


def metadata_history() -> History:
    """RemoteMetadata, which other remote backends put in front of a value."""
    rows = [(range_, metadata_layout(_SHOWN_GROUPS if groups else 1)) for range_, groups in METADATA_GROUPS.rows()]
    return _history("metadata", "Remote metadata", rows)


def request_layout(table: HeaderLayout) -> Layout:
    """Integers, and the key behind them."""
    fields = _integers(table.request)
    return Layout((*fields, Field("key", "UTF-8, padded with spaces", len(fields) * _INTEGER, KEY_FIELD_SIZE)))


def reply_layout(table: HeaderLayout) -> Layout:
    """Integers alone."""
    return Layout(_integers(table.reply))


def metadata_layout(groups: int) -> Layout:
    """Length, format, and for each group a dtype and four dimensions; those behind the first may be missing."""
    names = ["length", "format"]
    for group in range(groups):
        names += [f"{f'g{group + 1}.' if group else ''}{name}" for name in ("dtype", "shape0", "shape1", "shape2", "shape3")]
    least = metadata_size(1)
    return Layout(tuple(replace(field, optional=field.offset >= least) for field in _integers(names)))


def _integers(names: Sequence[str]) -> tuple[Field, ...]:
    return tuple(Field(name, "int32", _INTEGER * index, _INTEGER) for index, name in enumerate(names))


def _history(kind: str, title: str, rows: Sequence[tuple[ReleaseRange, Layout]]) -> History:
    return history(kind, title, [(members(range_), layout) for range_, layout in rows])


def history(kind: str, title: str, rows: Sequence[tuple[tuple[str, ...], Layout]]) -> History:
    """Generations of layouts, oldest first: neighbours with the same layout are one."""
    merged: list[tuple[tuple[str, ...], Layout]] = []
    for releases, layout in rows:
        if merged and merged[-1][1] == layout:
            merged[-1] = ((*merged[-1][0], *releases), layout)
        else:
            merged.append((releases, layout))
    found: list[Generation] = []
    before: Layout | None = None
    for releases, layout in merged:
        found.append(Generation(releases, layout) if before is None else _compared(releases, before, layout))
        before = layout
    return History(kind, title, tuple(found))


def _compared(releases: tuple[str, ...], before: Layout, after: Layout) -> Generation:
    old = {field.name: field for field in before.fields}
    names = {field.name for field in after.fields}
    fields = tuple(_fated(field, old.get(field.name)) for field in after.fields)
    gone = tuple(replace(field, fate=Fate.REMOVED) for field in before.fields if field.name not in names)
    return Generation(releases, Layout(fields), gone)


def _fated(field: Field, old: Field | None) -> Field:
    if old is None:
        return replace(field, fate=Fate.ADDED)
    was = old.offset if old.offset != field.offset else None
    if old.size != field.size:
        return replace(field, fate=Fate.RESIZED, was=was)
    return field if was is None else replace(field, fate=Fate.MOVED, was=was)


HISTORIES: tuple[Callable[[], History], ...] = (request_history, reply_history, metadata_history)
"""All frames of fixed layout."""
