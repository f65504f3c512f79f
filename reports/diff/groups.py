"""Changes that have one cause, told once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from reports.diff.kinds import Kind
from reports.diff.model import Change, Releases
from reports.diff.reasons import reason_of
from reports.record import CaseRecord

_BY_NOTE = frozenset({Kind.NOT_RUN, Kind.GONE, Kind.NEW})
"""Kinds of which a reader wants to know how many and why, and not each case."""
_BYTES: Final = re.compile(r"\d+ of (?=\d+ bytes differ)")
"""How many of the bytes differ follows from the values of a case; what and where the first is tells mistakes apart."""


@dataclass(frozen=True)
class ChangeGroup:
    """Changes of one kind and one cause; the first stands for all."""

    first: Change
    others: tuple[Change, ...] = ()

    @property
    def kind(self) -> Kind:
        """Of all of them."""
        return self.first.kind

    @property
    def size(self) -> int:
        """How many they are."""
        return 1 + len(self.others)


def change_groups(changes: Iterable[Change], releases: Releases | None = None) -> list[ChangeGroup]:
    """Groups in the order of their first change."""
    found: dict[tuple[object, ...], list[Change]] = {}
    for change in changes:
        found.setdefault(_cause(change, releases), []).append(change)
    return [ChangeGroup(first, tuple(others)) for first, *others in found.values()]


def _cause(change: Change, releases: Releases | None) -> tuple[object, ...]:
    if change.kind in _BY_NOTE:
        return change.kind, change.note, change.case.verdict
    old = _reason(change.old, releases.old if releases else None)
    new = _reason(change.new, releases.new if releases else None)
    return change.kind, change.case.name, change.note, old, new


def _reason(case: CaseRecord | None, release: str | None) -> tuple[str, ...] | None:
    if case is None:
        return None
    *others, said = reason_of(case, release)
    return *others, _BYTES.sub("", said)
