"""What meets what, in which order: as little as shows that every mutant dies and every execution finds one, or everything.

Covering, a mutant first meets the cases that are about it, all of their executions that have found nothing so far, and if none
finds it the others until one does. Then executions that are still idle meet the mutants that they are the likeliest to find.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.patterns import matches
from reports.mutants.model import ExecutionColumn, Meeting, Mode
from reports.side import Side
from reports.verdict import Verdict

PATIENCE: Final = 60.0
"""Seconds that one mutant may take in one go of a covering run, and an execution in all, before it is left as it is."""


@dataclass(frozen=True)
class Candidate:
    """A mutant in one release."""

    name: str
    side: Side
    release: str
    found_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """Executions, by number, that a mutant is to meet: all of ``first``, then ``then`` until it is found."""

    candidate: Candidate
    first: tuple[int, ...]
    then: tuple[int, ...] = ()
    limit: float | None = None
    """Seconds after which a mutant that was found already meets no more, and any mutant nothing of ``then``."""


class Baseline:
    """Executions with the reference client and the mock as they are, in shares."""

    def __init__(self, numbers: Sequence[int], share: int = 40) -> None:
        self._shares = [
            Task(Candidate("", "client", f"share {start}"), tuple(numbers[start : start + share]))
            for start in range(0, len(numbers), share)
        ]
        self.under_way = 0

    def next(self) -> Task | None:
        """The next share."""
        if not self._shares:
            return None
        self.under_way += 1
        return self._shares.pop(0)

    def learn(self, task: Task, number: int, *, killed: bool, seconds: float) -> None:
        """Nothing to learn."""

    def end(self, task: Task) -> None:
        """One share less."""
        del task
        self.under_way -= 1

    def give_up(self, task: Task, number: int | None) -> None:
        """One share less; whoever heard of it knows that it did not pass."""
        del number
        self.end(task)


class Schedule:
    """Hands out tasks, and learns from what came of them; calls come from one thread at a time.

    ``seconds`` is what each execution took with the reference client, ``sought`` the releases whose executions must find
    something (None: all of them).
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        executions: Sequence[ExecutionColumn],
        seconds: Sequence[float],
        *,
        mode: Mode,
        excused: Mapping[str, str],
        sought: Collection[str] | None = None,
    ) -> None:
        self._candidates = candidates
        self._executions = executions
        self._seconds = seconds
        self._mode = mode
        self._waiting = list(candidates)
        self._running: set[Candidate] = set()
        self._tried: dict[Candidate, set[int]] = {candidate: set() for candidate in candidates}
        self._found: dict[Candidate, set[str]] = {candidate: set() for candidate in candidates}
        """Cases that have found each mutant."""
        self._by_side: dict[tuple[str, Side], frozenset[int]] = defaultdict(frozenset)
        for number, column in enumerate(executions):
            self._by_side[column.release, column.judges] |= {number}
        self._spent = [0.0] * len(executions)
        self._idle = {
            number
            for number, column in enumerate(executions)
            if (sought is None or column.release in sought) and column.id not in excused
        }

    def next(self) -> Task | None:
        """What to do next; None: nothing now, and nothing at all once no task is under way."""
        task = self._first_meeting() if self._waiting else None if self._must_wait() else self._second_meeting()
        if task is not None:
            self._running.add(task.candidate)
        return task

    def learn(self, task: Task, number: int, *, killed: bool, seconds: float) -> None:
        """Take the outcome of one execution."""
        self._tried[task.candidate].add(number)
        self._spent[number] += seconds
        if killed or self._spent[number] > PATIENCE:
            self._idle.discard(number)
        if killed:
            self._found[task.candidate].add(self._executions[number].case)

    def end(self, task: Task) -> None:
        """The task is done: what was left of it when its time was up is not asked for again."""
        self._tried[task.candidate].update(task.first)
        self._running.discard(task.candidate)

    def give_up(self, task: Task, number: int | None) -> None:
        """Its worker was lost, with an execution under way or none; what comes behind that is still to be met."""
        if number is not None:
            self._tried[task.candidate].add(number)
        self._running.discard(task.candidate)
        if self._mode == "complete" or not self._found[task.candidate]:
            self._waiting.insert(0, task.candidate)

    @property
    def under_way(self) -> int:
        """Tasks that were handed out and have not ended."""
        return len(self._running)

    @property
    def left(self) -> str:
        """What there is to do, in words for a progress line."""
        if self._waiting:
            return f"{len(self._waiting)} mutants to meet for the first time"
        few = ": " + ", ".join(self._executions[number].id for number in sorted(self._idle)) if 0 < len(self._idle) <= 3 else ""
        return f"{len(self._idle)} executions that have found nothing yet{few}"

    def _must_wait(self) -> bool:
        """First meetings that are still under way may leave fewer executions idle."""
        return any(not self._tried[candidate] for candidate in self._running)

    def _first_meeting(self) -> Task:
        candidate = self._waiting.pop(0)
        possible = self._possible(candidate) - self._tried[candidate]
        if self._mode == "complete":
            return Task(candidate, tuple(sorted(possible)))
        about = {number for number in possible if is_about(candidate, self._executions[number])}
        first = sorted(about & self._idle)
        others = sorted(
            possible - set(first),
            key=lambda number: (number not in about, number not in self._idle, self._seconds[number], number),
        )
        return Task(candidate, tuple(first), tuple(others), PATIENCE)

    def _second_meeting(self) -> Task | None:
        if self._mode == "complete":
            return None
        best: tuple[tuple[int, int, int], Candidate, set[int]] | None = None
        cases, topics = self._idle_cases()
        for candidate in self._candidates:
            if candidate in self._running:
                continue
            fresh = (self._idle - self._tried[candidate]) & self._possible(candidate)
            if not fresh:
                continue
            found = self._found[candidate]
            score = (
                sum(cases[candidate.release, case] for case in found),
                sum(topics[candidate.release, case.rpartition(".")[0]] for case in found),
                len(found),
            )
            if best is None or score > best[0]:
                best = score, candidate, fresh
        if best is None:
            return None
        _, candidate, fresh = best
        return Task(candidate, tuple(sorted(fresh, key=lambda number: (self._seconds[number], number))), limit=PATIENCE)

    def _idle_cases(self) -> tuple[Mapping[tuple[str, str], int], Mapping[tuple[str, str], int]]:
        """How many idle executions there are by release and case, and by release and topic."""
        cases: dict[tuple[str, str], int] = defaultdict(int)
        topics: dict[tuple[str, str], int] = defaultdict(int)
        for number in self._idle:
            column = self._executions[number]
            cases[column.release, column.case] += 1
            topics[column.release, column.case.rpartition(".")[0]] += 1
        return cases, topics

    def _possible(self, candidate: Candidate) -> frozenset[int]:
        """The executions of its release that judge its side."""
        return self._by_side[candidate.release, candidate.side]


def is_about(candidate: Candidate, execution: ExecutionColumn) -> bool:
    """Whether a mutant can meet an execution, and says that it is found by it."""
    return (execution.release, execution.judges) == (candidate.release, candidate.side) and any(
        matches(pattern, execution.id) for pattern in candidate.found_by
    )


def meeting_of(task: Task, execution: ExecutionColumn, line: Mapping[str, object]) -> Meeting:
    """What a worker says of one execution."""
    return Meeting(
        mutant=task.candidate.name,
        execution=execution.id,
        verdict=Verdict(str(line["verdict"])),
        killed=line["killed"] is True,
        seconds=float(str(line["seconds"])),
        why=str(line["why"]),
    )
