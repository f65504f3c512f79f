"""The drift of every captured release against the one before it: generations down the side, releases along the top."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from reports.drift.aspects import direct
from reports.drift.compare import compare
from reports.drift.generations import labels
from reports.drift.model import Aspect, Change, Drift, Level, in_order
from reports.drift.observe.observed import Observed
from reports.words import listing

ALWAYS = (Aspect.CHUNKS, Aspect.OTHER, Aspect.UNEXPLAINED)
"""Aspects that have rows only if something changed in them."""


@dataclass(frozen=True)
class Group:
    """Consecutive releases with no change between them."""

    releases: tuple[str, ...]

    @property
    def first(self) -> str:
        """The oldest."""
        return self.releases[0]

    @property
    def last(self) -> str:
        """The newest."""
        return self.releases[-1]

    @property
    def name(self) -> str:
        """``0.3.4 to 0.3.5``, or the one release."""
        return self.first if len(self.releases) == 1 else f"{self.first} to {self.last}"


@dataclass(frozen=True)
class Generation:
    """One way of doing one part of the wire, and the groups of releases that do it so."""

    aspect: Aspect
    label: str
    groups: tuple[int, ...]
    """Indices of the groups, rising."""
    level: Level | None
    """How badly its beginning hits; None for the first one."""


@dataclass(frozen=True)
class History:
    """All captured releases."""

    releases: tuple[str, ...]
    groups: tuple[Group, ...]
    generations: tuple[Generation, ...]
    drifts: tuple[Drift, ...]
    """One for each release but the first, against the one before it."""

    @property
    def boundaries(self) -> list[Drift]:
        """The drifts with a change."""
        return [drift for drift in self.drifts if drift.changes]

    @property
    def worst(self) -> Level:
        """The highest level of all."""
        return max((drift.worst for drift in self.drifts), default=Level.NONE)


def history(observed: Sequence[Observed]) -> History:
    """Compare each release with the one before it; releases come oldest first."""
    drifts = [_with_gaps(compare(old, new), observed[: index + 1], new) for index, (old, new) in enumerate(pairwise(observed))]
    groups: list[list[int]] = [[0]] if observed else []
    for index, drift in enumerate(drifts, 1):
        if drift.changes:
            groups.append([index])
        else:
            groups[-1].append(index)
    return History(
        releases=tuple(found.release for found in observed),
        groups=tuple(Group(tuple(observed[index].release for index in group)) for group in groups),
        generations=tuple(_generations(observed, groups, drifts)),
        drifts=tuple(drifts),
    )


def _with_gaps(drift: Drift, before: Sequence[Observed], new: Observed) -> Drift:
    """The drift with what the release before could not be asked, compared with the last one that could."""
    found: list[Change] = []
    for op in new.evidence.corpus.vectors if new.lm else ():
        if op in direct.UNDERSTOOD or before[-1].evidence.of(op):
            continue
        holder = next((observed for observed in reversed(before) if observed.evidence.of(op)), None)
        if holder:
            changes = direct.compare_operation(holder, new, op).changes
            found += [
                replace(change, title=f"{change.title} (against {holder.release}, the last with captures of it)")
                for change in changes
            ]
    return replace(drift, changes=in_order([*drift.changes, *found])) if found else drift


def _generations(observed: Sequence[Observed], groups: Sequence[Sequence[int]], drifts: Sequence[Drift]) -> Iterator[Generation]:
    for aspect in Aspect:
        rows = list(_of_aspect(observed, groups, drifts, aspect))
        if len(rows) > 1 or (rows and aspect not in ALWAYS):
            yield from rows


def _of_aspect(
    observed: Sequence[Observed], groups: Sequence[Sequence[int]], drifts: Sequence[Drift], aspect: Aspect
) -> Iterator[Generation]:
    """The generations of one aspect; releases whose capture holds nothing about it belong to none."""
    current: Generation | None = None
    known = labels(observed, aspect)
    for index, group in enumerate(groups):
        changes = [change for change in drifts[group[0] - 1].changes if change.aspect is aspect] if group[0] else []
        name = next((found for place in group if (found := known[place]) is not None), None)
        if name is None:
            continue
        if current is None or changes:
            if current:
                yield current
            if (current and name == current.label) or (name == "as first captured" and changes):
                name = listing((change.title for change in changes), 1)
            level = max((change.levels.worst for change in changes), default=None)
            current = Generation(aspect, name, (index,), level)
        else:
            current = replace(current, groups=(*current.groups, index))
    if current:
        yield current
