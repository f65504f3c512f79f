"""Runs the kill matrix: the reference client first, which must pass, then every mutant."""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fixturegen.corpus import captured_releases, load_corpus
from harness.killmatrix.excused import reason_for
from harness.killmatrix.pool import Line, Pool, Work, WorkerLost
from harness.killmatrix.schedule import Baseline, Candidate, Schedule, Task, meeting_of
from harness.mutants.mutant import Mutant, ServerMutant, load_mutants, load_server_mutants
from harness.patterns import matches
from harness.usage import UsageError, parse_effort, parse_releases, parse_targets
from harness.version import TOOL_VERSION
from harness.workers import default_jobs
from reports.mutants.model import ExecutionColumn, KillMatrix, Meeting, Mode, MutantRow
from reports.verdict import Verdict
from reports.words import count
from wire.release import Release

DEADLINE: Final = 3.0
"""Seconds after which a silent mutant hangs; no conformant client needs as long."""

AnyMutant = Mutant | ServerMutant


class NothingShown(Exception):
    """The kill matrix says nothing: the reference client fails a case, or a worker or the collection of cases broke down."""


@dataclass(frozen=True)
class MutantOptions:
    """What to run, as the command line gives it."""

    lmcache: str | None = None
    """None: the newest captured release and the oldest."""
    target: str = "fixtures,mock"
    only_mutants: Sequence[str] = ()
    only: Sequence[str] = ()
    mode: Mode = "covering"
    jobs: int | None = None
    deadline: float = DEADLINE


def selected(patterns: Sequence[str]) -> list[AnyMutant]:
    """The mutants that patterns name, clients before servers; all without a pattern.

    Raises:
        UsageError: a pattern names none.
    """
    known: list[AnyMutant] = [*load_mutants().values(), *load_server_mutants().values()]
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(mutant.name, pattern) for mutant in known):
            raise UsageError(f"--only-mutant {pattern!r} names no mutant; 'lmconform mutants --list' shows them all")
    return [mutant for mutant in known if not patterns or any(fnmatch.fnmatchcase(mutant.name, pattern) for pattern in patterns)]


def chosen_releases(text: str | None) -> list[Release]:
    """The releases of a run: those that are named, or the two ends of the corpus.

    Raises:
        UsageError: one of them is none, or not captured.
    """
    if text is not None:
        return parse_releases(text)
    captured = captured_releases()
    return sorted({captured[0], captured[-1]})


def shows_in(mutant: AnyMutant, release: Release) -> bool:
    """Whether the defect of a mutant shows in a release."""
    return release in mutant.releases and all(load_corpus(release).vectors.get(op) for op in mutant.captured)


def run_mutants(options: MutantOptions, progress: Callable[[str], None]) -> KillMatrix:
    """Let every mutant meet the cases.

    Raises:
        UsageError: the options make no sense, or nothing matches them.
        CorpusError: the corpus of a release is damaged.
        NothingShown: the reference client does not pass, or the harness broke down.
    """
    began = time.monotonic()
    releases = chosen_releases(options.lmcache)
    targets = parse_targets(options.target)
    parse_effort(None, options.deadline)
    mutants = selected(options.only_mutants)
    jobs = options.jobs or default_jobs()
    try:
        with Pool(jobs, _arguments(options, releases), options.deadline) as pool:
            run = _Run(pool, options)
            progress(f"{count(len(run.columns), 'execution')} with the reference client")
            seconds = run.baseline()
            progress(f"{count(len(mutants), 'mutant')} in {', '.join(map(str, releases))}")
            meetings = run.meet(_candidates(mutants, releases), seconds, progress)
    except WorkerLost as error:
        raise NothingShown(f"a worker of the kill matrix was lost: {error}") from None
    return KillMatrix(
        tool_version=TOOL_VERSION,
        mode=options.mode,
        releases=tuple(map(str, releases)),
        targets=tuple(targets),
        mutants=tuple(_row(mutant, releases) for mutant in mutants),
        executions=tuple(run.columns),
        meetings=tuple(meetings),
        seconds=round(time.monotonic() - began, 1),
        jobs=jobs,
        all_mutants=not options.only_mutants,
        all_cases=not options.only,
        excused=run.excused,
    )


def _arguments(options: MutantOptions, releases: Sequence[Release]) -> list[str]:
    """Arguments of pytest. Live cells are always collected: stand-ins take the place of servers that are judged."""
    return [
        options.target,
        *("--lmcache", ",".join(map(str, releases)), "--target", "fixtures,mock,live"),
        *("--deadline", str(options.deadline)),
        *(word for pattern in options.only for word in ("--only", pattern)),
    ]


def _candidates(mutants: Sequence[AnyMutant], releases: Sequence[Release]) -> list[Candidate]:
    return [
        Candidate(mutant.name, mutant.side, str(release), mutant.found_by)
        for release in reversed(releases)
        for mutant in mutants
        if shows_in(mutant, release)
    ]


def _row(mutant: AnyMutant, releases: Sequence[Release]) -> MutantRow:
    shows = tuple(str(release) for release in releases if shows_in(mutant, release))
    return MutantRow(mutant.name, mutant.side, mutant.defect, mutant.stands_for, shows)


class _Run:
    """The executions of a run, and the workers that have collected them."""

    def __init__(self, pool: Pool, options: MutantOptions) -> None:
        listing = pool.listing
        if "usage" in listing:
            raise UsageError(listing["usage"])
        if listing["broken"]:
            raise NothingShown("\n".join(listing["broken"]))
        self.columns = [ExecutionColumn(**described) for described in listing["executions"]]
        if not self.columns:
            raise UsageError("no case matches; 'lmconform list --ids' shows what there is")
        self.excused: Mapping[str, str] = {
            column.id: reason for column in self.columns if (reason := reason_for(column.case, column.variant)) is not None
        }
        self._pool = pool
        self._options = options

    def baseline(self) -> list[float]:
        """Seconds of every execution with the reference client and the mock as they are, which pass.

        Raises:
            NothingShown: one does not.
        """
        seconds = [0.0] * len(self.columns)
        failed: list[str] = []

        def heard(_: Task, line: Line) -> None:
            place = line["execution"]
            seconds[place] = line["seconds"]
            if line["verdict"] != Verdict.PASS:
                failed.append(f"{self.columns[place].id}: {line['verdict']}: {line['why']}")

        self._run(Baseline(len(self.columns)), None, heard, failed)
        if failed:
            shown = "\n  ".join(failed[:10])
            raise NothingShown(f"the reference client does not pass, so that no mutant says anything:\n  {shown}")
        return seconds

    def meet(self, candidates: Sequence[Candidate], seconds: Sequence[float], progress: Callable[[str], None]) -> list[Meeting]:
        """Everything that came of it."""
        meetings: list[Meeting] = []
        schedule = Schedule(
            candidates,
            self.columns,
            seconds,
            mode=self._options.mode,
            excused=self.excused,
            matches=matches,
            seek_idle=not self._options.only_mutants,
        )
        told = time.monotonic()

        def heard(task: Task, line: Line) -> None:
            nonlocal told
            meetings.append(meeting_of(task, self.columns[line["execution"]], line))
            if time.monotonic() - told > 10:
                told = time.monotonic()
                progress(f"{count(len(meetings), 'meeting')}, {schedule.left}")

        lost: list[str] = []
        self._run(schedule, "", heard, lost, meetings)
        return meetings

    def _run(
        self,
        work: Work,
        mutant: str | None,
        heard: Callable[[Task, Line], None],
        failed: list[str],
        meetings: list[Meeting] | None = None,
    ) -> None:
        def words(task: Task) -> Line:
            return {
                "mutant": None if mutant is None else task.candidate.name,
                "side": task.candidate.side,
                "first": task.first,
                "then": task.then,
                "limit": task.limit,
            }

        def lost(task: Task, number: int | None, why: str) -> None:
            if meetings is None or number is None:
                failed.append(f"{'before any case' if number is None else self.columns[number].id}: a worker was lost: {why}")
            else:
                meetings.append(
                    Meeting(task.candidate.name, self.columns[number].id, Verdict.CRASH, killed=False, seconds=0.0, why=why)
                )

        self._pool.run(work, words, heard, lost)
