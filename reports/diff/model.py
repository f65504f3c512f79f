"""Two runs compared, case by case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reports.diff.kinds import Kind, State
from reports.record import CaseRecord
from reports.results import Results


class ComparisonError(Exception):
    """Two runs that cannot be compared, or not in the way that was asked for; the message says why and what to do."""


@dataclass(frozen=True)
class Releases:
    """The release of OLD that is compared with one of NEW."""

    old: str
    new: str


@dataclass(frozen=True)
class Run:
    """One of the two."""

    name: str
    """As the user named it."""
    results: Results


@dataclass(frozen=True)
class Change:
    """A case that is not as it was; one of the two records is there."""

    kind: Kind
    old: CaseRecord | None
    new: CaseRecord | None
    note: str = ""
    """Why one record is not there, or what else must be known."""

    @property
    def case(self) -> CaseRecord:
        """The record of NEW, or else that of OLD."""
        found = self.new or self.old
        assert found is not None
        return found


@dataclass(frozen=True)
class Comparison:
    """What became of each case."""

    old: Run
    new: Run
    changes: tuple[Change, ...]
    """The gravest first."""
    same: Mapping[State, int]
    """Cases that are as they were."""
    notes: tuple[str, ...]
    """What makes the runs differ besides what is judged: whoever reads the changes must know it."""
    faults: tuple[str, ...]
    """Why nothing can be concluded from the comparison as a whole."""
    releases: Releases | None = None

    @property
    def counts(self) -> dict[Kind, int]:
        """Changes of each kind."""
        counted = dict.fromkeys(Kind, 0)
        for change in self.changes:
            counted[change.kind] += 1
        return counted

    @property
    def unchanged(self) -> int:
        """Cases that are as they were."""
        return sum(self.same.values())
