"""The kill matrix: mutants, executions of cases, and what came of one meeting the other."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from reports.side import Side
from reports.verdict import Verdict

Mode = Literal["covering", "complete"]


@dataclass(frozen=True)
class MutantRow:
    """A mutant, and the releases of the run in which its defect shows."""

    name: str
    side: Side
    defect: str
    stands_for: str
    releases: tuple[str, ...]
    where: str = ""
    """Where it shows, in words, if in none of the run."""


@dataclass(frozen=True)
class ExecutionColumn:
    """One execution of a case; ``judges`` is what it is about, and only mutants of that side meet it."""

    id: str
    case: str
    title: str
    release: str
    target: str
    judges: Side
    variant: str | None = None


@dataclass(frozen=True)
class Meeting:
    """What came of one execution against one mutant."""

    mutant: str
    execution: str
    verdict: Verdict
    killed: bool
    """The case asserted something, and it did not hold. A crash or a fault of the harness is no kill."""
    seconds: float
    why: str = ""


@dataclass(frozen=True)
class Missed:
    """A pattern of the cases that are about a mutant, none of whose executions found it."""

    mutant: str
    release: str
    pattern: str
    met: int
    """Executions: all that the pattern means in the release."""


@dataclass(frozen=True)
class Survivor:
    """A mutant that no case of a release has found."""

    mutant: str
    release: str
    met: int
    """Executions that it met."""
    noises: tuple[Meeting, ...]
    """Executions that ended in something that is neither a pass nor a kill."""


@dataclass(frozen=True)
class IdleCase:
    """A case of a release, and its executions that have found nothing."""

    case: str
    title: str
    release: str
    executions: tuple[str, ...]
    of: int
    """How many executions it has."""

    @property
    def wholly(self) -> bool:
        """None of its executions has found anything."""
        return len(self.executions) == self.of


@dataclass(frozen=True)
class KillMatrix:
    """Everything that a run has found out."""

    tool_version: str
    mode: Mode
    releases: tuple[str, ...]
    targets: tuple[str, ...]
    mutants: tuple[MutantRow, ...]
    executions: tuple[ExecutionColumn, ...]
    meetings: tuple[Meeting, ...]
    seconds: float
    jobs: int
    all_mutants: bool = True
    """Every mutant took part; where some were left out, a case that finds nothing is no fault."""
    all_cases: bool = True
    """Every case took part; where some were left out, a mutant that lives on is no fault, unless it was asked for by name."""
    excused: Mapping[str, str] = field(default_factory=dict)
    """Executions that need not find a mutant, and why."""
    extra_releases: tuple[str, ...] = ()
    """Releases in which only mutants that show in no other of the run met cases; what is idle there is no fault."""
    missed: tuple[Missed, ...] = ()
    """What is said to find a mutant and did not, though something else did."""

    @functools.cached_property
    def kills(self) -> Mapping[tuple[str, str], Sequence[Meeting]]:
        """By mutant and release."""
        found: dict[tuple[str, str], list[Meeting]] = defaultdict(list)
        for meeting in self.meetings:
            if meeting.killed:
                found[meeting.mutant, self.column(meeting.execution).release].append(meeting)
        return found

    @functools.cached_property
    def _columns(self) -> Mapping[str, ExecutionColumn]:
        return {column.id: column for column in self.executions}

    def column(self, execution: str) -> ExecutionColumn:
        """The execution of an id."""
        return self._columns[execution]

    @functools.cached_property
    def survivors(self) -> Sequence[Survivor]:
        """Mutants that live on; none is looked for where cases were left out and nobody asked for the mutants by name."""
        if not self.all_cases and self.all_mutants:
            return ()
        return tuple(
            self._survivor(row.name, release)
            for row in self.mutants
            for release in row.releases
            if (row.name, release) not in self.kills
        )

    @functools.cached_property
    def unmet(self) -> Sequence[MutantRow]:
        """Mutants that show in no release of the run; none is looked for where survivors are not."""
        if not self.all_cases and self.all_mutants:
            return ()
        return tuple(row for row in self.mutants if not row.releases)

    def _survivor(self, mutant: str, release: str) -> Survivor:
        met = [
            meeting for meeting in self.meetings if meeting.mutant == mutant and self.column(meeting.execution).release == release
        ]
        noises = tuple(meeting for meeting in met if meeting.verdict not in {Verdict.PASS, Verdict.UNSUPPORTED})
        return Survivor(mutant, release, len(met), noises)

    @functools.cached_property
    def idle(self) -> Sequence[IdleCase]:
        """Cases with executions that found nothing and are not excused; none is looked for where mutants were left out."""
        if not self.all_mutants:
            return ()
        busy = {meeting.execution for meeting in self.meetings if meeting.killed}
        by_case: dict[tuple[str, str], list[ExecutionColumn]] = defaultdict(list)
        for column in self.executions:
            if column.release not in self.extra_releases:
                by_case[column.case, column.release].append(column)
        return tuple(self._idle_cases(by_case.values(), busy))

    def _idle_cases(self, cases: Iterable[Sequence[ExecutionColumn]], busy: Collection[str]) -> Iterator[IdleCase]:
        for columns in cases:
            silent = tuple(column.id for column in columns if column.id not in busy and column.id not in self.excused)
            if silent:
                yield IdleCase(columns[0].case, columns[0].title, columns[0].release, silent, len(columns))

    @property
    def needless_excuses(self) -> Sequence[str]:
        """Executions that are excused although they found something."""
        return [meeting.execution for meeting in self.meetings if meeting.killed and meeting.execution in self.excused]

    @property
    def shown(self) -> bool:
        """Every mutant met cases and died, and every execution found one."""
        return not self.survivors and not self.unmet and not self.idle
