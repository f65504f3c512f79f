"""Which operation has which number in which release, as captured, and what comes of sending it to another release."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from fixturegen.corpus import captured_releases, load_corpus
from reports.collisions.effects import Family, family
from reports.collisions.fates import Fate, pair_of
from reports.collisions.harm import Harm
from reports.collisions.tables import dialects
from reports.drift.mp.observed import MpObserved, observe_mp
from wire.mp.operations import RENAMED, OperationNumber
from wire.release import Release

COLLIDES: Final = (Harm.DESTROYS, Harm.CORRUPTS, Harm.LEAKS, Harm.STRANDS, Harm.MISLEADS)
"""What may come of a number that means something else where it is read; that nobody answers is not told here."""


@dataclass(frozen=True)
class Collision:
    """The worst that a number does at a server where it means something else."""

    harm: Harm
    server: str
    meets: str
    what: str


@dataclass(frozen=True)
class Cell:
    """One operation in one release."""

    number: OperationNumber
    name: str
    """The release's own name for the operation."""
    retired: bool = False
    """The number is kept and means nothing."""
    collision: Collision | None = None


@dataclass(frozen=True)
class Row:
    """One operation through the releases."""

    name: str
    """Its newest name; ``, the first`` follows where a later operation has the same name."""
    family: Family
    cells: Mapping[str, Cell] = field(default_factory=dict)
    """By release."""

    @property
    def names(self) -> tuple[str, ...]:
        """All names that it had, oldest first."""
        return tuple(dict.fromkeys(cell.name for cell in self.cells.values()))


@dataclass(frozen=True)
class Numbering:
    """All operations of all captured releases."""

    releases: tuple[str, ...]
    rows: tuple[Row, ...]
    """By family, in each first what the newest release has in the order of its numbers, and then what is gone."""

    @property
    def borders(self) -> list[str]:
        """Releases in which an operation has another number than in the release before, or none, or is new."""
        found = []
        for old, new in zip(self.releases, self.releases[1:], strict=False):
            if any(_number(row, old) != _number(row, new) for row in self.rows):
                found.append(new)
        return found

    def moved(self, row: Row, release: str) -> bool:
        """Whether an operation has another number than in the release before."""
        before = self._before(row, release)
        return before is not None and before.number != row.cells[release].number

    def added(self, row: Row, release: str) -> bool:
        """Whether an operation is new in a release that is not the first of all."""
        return self._before(row, release) is None and release != self.releases[0]

    def _before(self, row: Row, release: str) -> Cell | None:
        index = self.releases.index(release)
        return row.cells.get(self.releases[index - 1]) if index else None


def _number(row: Row, release: str) -> OperationNumber | None:
    cell = row.cells.get(release)
    return None if cell is None or cell.retired else cell.number


@functools.cache
def captured_numbering() -> Numbering:
    """The operations of all releases whose multiprocess protocol was captured.

    Raises:
        CorpusError: a capture is damaged.
    """
    releases = sorted(captured_releases(protocol="mp"))
    return numbering([observe_mp(load_corpus(release, protocol="mp")) for release in releases])


def numbering(observed: Sequence[MpObserved]) -> Numbering:
    """The operations of some captures, oldest first."""
    releases = tuple(one.release for one in observed)
    worst = _collisions(releases)
    cells: dict[str, dict[str, Cell]] = {}
    for one in observed:
        for name, operation in one.operations.items():
            cell = Cell(operation.wire, name, collision=worst.get((one.release, name)))
            cells.setdefault(_row_name(observed, one.release, name), {})[one.release] = cell
    for one in observed:
        for number in one.retired:
            row, old = _last_owner(cells, number, one.release)
            cells[row][one.release] = Cell(number, old.name, retired=True)
    rows = [Row(name, family(name.partition(",")[0]), found) for name, found in cells.items()]
    return Numbering(releases, tuple(sorted(rows, key=lambda row: _place(row, releases))))


def _row_name(observed: Sequence[MpObserved], release: str, name: str) -> str:
    """The newest name of an operation, told apart from an older operation that had that name before."""
    if name in RENAMED:
        return RENAMED[name]
    olds = [old for old, new in RENAMED.items() if new == name]
    lasts = [one.release for one in observed if any(old in one.operations for old in olds)]
    older = bool(lasts) and Release.parse(release) <= Release.parse(lasts[-1])
    return f"{name}, the first" if older else name


def _last_owner(cells: Mapping[str, Mapping[str, Cell]], number: int, release: str) -> tuple[str, Cell]:
    """The operation that had a number in the release before it was retired."""
    found = [
        (Release.parse(where), name, cell)
        for name, found in cells.items()
        for where, cell in found.items()
        if cell.number == number and Release.parse(where) < Release.parse(release)
    ]
    _, name, cell = max(found, key=lambda one: one[0])
    return name, cell


def _place(row: Row, releases: Sequence[str]) -> tuple[int, bool, bool, int]:
    """Families in their order; in each first what the newest release has, numbers before texts, and then what is gone."""
    last = next(row.cells[release] for release in reversed(releases) if release in row.cells)
    gone = releases[-1] not in row.cells
    text = isinstance(last.number, str)
    return list(Family).index(row.family), gone, text, 0 if isinstance(last.number, str) else last.number


def _collisions(releases: Sequence[str]) -> Mapping[tuple[str, str], Collision]:
    """The worst of each operation of each release at all others."""
    found = {release: dialect for release, (dialect, _) in dialects(map(Release.parse, releases)).items()}
    worst: dict[tuple[str, str], Collision] = {}
    for client, dialect in found.items():
        for server, other in found.items():
            for fate in _met(pair_of(dialect, other).fates):
                key = (str(client), fate.operation)
                old = worst.get(key)
                if old is None or COLLIDES.index(fate.grade.harm) < COLLIDES.index(old.harm):
                    worst[key] = Collision(fate.grade.harm, str(server), fate.meets or "", fate.what)
    return worst


def _met(fates: Sequence[Fate]) -> Iterator[Fate]:
    """Fates of plain payloads whose number means another operation, which is executed."""
    for fate in fates:
        other = fate.meets is not None and RENAMED.get(fate.meets, fate.meets) != RENAMED.get(fate.operation, fate.operation)
        if other and fate.executed and not fate.odd and fate.grade.harm in COLLIDES:
            yield fate
