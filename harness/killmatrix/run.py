"""Runs the kill matrix: the reference client first, which must pass, then every mutant."""

from __future__ import annotations

import fnmatch
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.killmatrix.excused import reason_for
from harness.killmatrix.pool import Line, Pool, Work, WorkerLost
from harness.killmatrix.releases import ChosenReleases, chosen_releases, require_meetings, where
from harness.killmatrix.schedule import Baseline, Candidate, Schedule, Task, is_about, meeting_of
from harness.mutants.mutant import AnyMutant, PluginMutant, load_all_mutants
from harness.patterns import matches
from harness.protocols import Protocol
from harness.sides import require_targets, where_listed
from harness.usage import UsageError, parse_effort, parse_targets
from harness.version import TOOL_VERSION
from harness.workers import default_jobs
from reports.mutants.model import ExecutionColumn, KillMatrix, Meeting, Missed, Mode, MutantRow
from reports.side import Side
from reports.verdict import Verdict
from reports.words import count

DEADLINES: Final[Mapping[Side, float]] = {"client": 3.0, "server": 3.0, "plugin": 10.0, "connector": 10.0}
"""Seconds after which a silent mutant hangs; none that is right needs as long. Plugins and connectors wait for disks."""


REFERENCE: Final = "reference"
NATIVE: Final = "native_plugin"
TARGETS: Final[Mapping[Side, str]] = {"client": "fixtures,mock", "server": "mock", "plugin": "alone", "connector": "alone"}
"""What mutants meet unless somebody asks for more."""
_COLLECTED: Final[Mapping[Side, str]] = {"client": "fixtures,mock,live"}
"""Live cells are always collected where stand-ins take the place of servers that are judged."""


class NothingShown(Exception):
    """The kill matrix says nothing: the reference client fails a case, or a worker or the collection of cases broke down."""


@dataclass(frozen=True)
class MutantOptions:
    """What to run, as the command line gives it."""

    protocol: Protocol = "lm"
    """Whose cases, and whose mutants."""
    side: Side = "client"
    """The runs whose cases they are; those of clients have cases of the mock server as well."""
    kind: str | None = None
    """The interface of plugins; None: ``native_plugin``."""
    lmcache: str | None = None
    """None: the newest captured release and the oldest, and the fewest others in which the rest of the mutants show."""
    target: str | None = None
    """None: what mutants of the side meet."""
    only_mutants: Sequence[str] = ()
    only: Sequence[str] = ()
    mode: Mode = "covering"
    jobs: int | None = None
    deadline: float | None = None
    """Seconds; None: those of the side."""

    @property
    def patience(self) -> float:
        """Seconds after which a silent mutant hangs."""
        return DEADLINES[self.side] if self.deadline is None else self.deadline


def selected(
    patterns: Sequence[str], protocol: Protocol = "lm", side: Side = "client", kind: str | None = None
) -> list[AnyMutant]:
    """The mutants of a protocol that patterns name and runs of a side meet, clients before servers; all without a pattern.

    Raises:
        UsageError: a pattern names none.
    """
    known = [
        mutant
        for mutant in load_all_mutants()
        if (mutant.protocol, mutant.runs) == (protocol, side)
        and (not isinstance(mutant, PluginMutant) or mutant.kind == (kind or NATIVE))
    ]
    named = {mutant.name for found in _by_pattern(patterns, known, protocol).values() for mutant in found}
    return [mutant for mutant in known if not patterns or mutant.name in named]


def _by_pattern(patterns: Sequence[str], known: Sequence[AnyMutant], protocol: Protocol) -> Mapping[str, Sequence[AnyMutant]]:
    found = {pattern: [mutant for mutant in known if fnmatch.fnmatchcase(mutant.name, pattern)] for pattern in patterns}
    for pattern, mutants in found.items():
        if not mutants:
            raise UsageError(
                f"--only-mutant {pattern!r} names no mutant of --protocol {protocol}; "
                f"'lmconform mutants --protocol {protocol} --list' shows them all"
            )
    return found


def run_mutants(options: MutantOptions, progress: Callable[[str], None]) -> KillMatrix:
    """Let every mutant meet the cases.

    Raises:
        UsageError: the options make no sense, or nothing matches them.
        CorpusError: the corpus of a release is damaged.
        NothingShown: the reference client does not pass, or the harness broke down.
    """
    began = time.monotonic()
    targets = parse_targets(options.target or TARGETS[options.side])
    require_targets(options.side, targets)
    parse_effort(None, options.patience)
    mutants = selected(options.only_mutants, options.protocol, options.side, options.kind)
    chosen = chosen_releases(options.lmcache, mutants, options.protocol)
    require_meetings(_by_pattern(options.only_mutants, mutants, options.protocol), chosen)
    candidates = _candidates(mutants, chosen)
    jobs = options.jobs or default_jobs()
    try:
        with Pool(jobs, _arguments(options, chosen), options.patience) as pool:
            run = _Run(pool, options, chosen)
            for words in _plan(mutants, chosen):
                progress(words)
            meetings = run.meet(candidates, progress)
    except WorkerLost as error:
        raise NothingShown(f"a worker of the kill matrix was lost: {error}") from None
    met = {meeting.execution for meeting in meetings}
    extra = tuple(str(release) for release in chosen.extra)
    executions = tuple(column for column in run.columns if column.release not in extra or column.id in met)
    return KillMatrix(
        tool_version=TOOL_VERSION,
        mode=options.mode,
        releases=tuple(map(str, chosen.all)),
        targets=tuple(targets),
        mutants=tuple(_row(mutant, chosen) for mutant in mutants),
        executions=executions,
        meetings=tuple(meetings),
        seconds=round(time.monotonic() - began, 1),
        jobs=jobs,
        all_mutants=not options.only_mutants,
        all_cases=not options.only,
        excused=run.excused,
        extra_releases=extra,
        missed=tuple(missed(candidates, executions, meetings)),
    )


def _plan(mutants: Sequence[AnyMutant], chosen: ChosenReleases) -> Iterator[str]:
    """What is about to be done, in words."""
    if chosen.whole:
        yield f"{count(len(mutants), 'mutant')} in lmcache {', '.join(map(str, chosen.whole))}"
    for release, some in chosen.extra.items():
        yield f"lmcache {release} for {', '.join(mutant.name for mutant in some)} alone: shown in neither of these"


def _arguments(options: MutantOptions, chosen: ChosenReleases) -> list[str]:
    """Arguments of pytest."""
    return [
        options.target or TARGETS[options.side],
        *("--side", options.side, "--client", REFERENCE),
        *(("--protocol", options.protocol) if options.side in {"client", "server"} else ()),
        *(("--kind", options.kind) if options.kind is not None else ()),
        *("--lmcache", ",".join(map(str, chosen.all)), "--target", _COLLECTED.get(options.side, TARGETS[options.side])),
        *("--deadline", str(options.patience)),
        *(word for pattern in options.only for word in ("--only", pattern)),
    ]


def _candidates(mutants: Sequence[AnyMutant], chosen: ChosenReleases) -> list[Candidate]:
    return [
        Candidate(mutant.name, mutant.side, str(release), mutant.found_by)
        for release in reversed(chosen.all)
        for mutant in mutants
        if release in chosen.of(mutant)
    ]


def _row(mutant: AnyMutant, chosen: ChosenReleases) -> MutantRow:
    shows = tuple(map(str, chosen.of(mutant)))
    return MutantRow(mutant.name, mutant.side, mutant.defect, mutant.stands_for, shows, "" if shows else where(mutant))


class _Run:
    """The executions of a run, and the workers that have collected them."""

    def __init__(self, pool: Pool, options: MutantOptions, chosen: ChosenReleases) -> None:
        listing = pool.listing
        if "usage" in listing:
            raise UsageError(listing["usage"])
        if listing["broken"]:
            raise NothingShown("\n".join(listing["broken"]))
        self.columns = [ExecutionColumn(**described) for described in listing["executions"]]
        if not self.columns:
            raise UsageError(f"no case matches; {where_listed(options.side)}")
        whole = frozenset(map(str, chosen.whole))
        self.excused: dict[str, str] = {
            column.id: reason
            for column in self.columns
            if column.release in whole and (reason := reason_for(column.case, column.variant, options.kind)) is not None
        }
        self._whole = whole
        self._pool = pool
        self._options = options

    def meet(self, candidates: Sequence[Candidate], progress: Callable[[str], None]) -> list[Meeting]:
        """Everything that came of it.

        Where mutants were named, or meet few cases of a release, the reference client first passes the cases that are about
        them, and afterwards what else they met.

        Raises:
            NothingShown: the reference client does not pass an execution that a mutant met.
        """
        seconds = [0.0] * len(self.columns)
        checked = self._to_begin_with(candidates)
        progress(f"{count(len(checked), 'execution')} with the reference client")
        self._baseline(sorted(checked), seconds)
        meetings = self._meetings(candidates, seconds, progress)
        met = {meeting.execution for meeting in meetings}
        later = [number for number, column in enumerate(self.columns) if column.id in met and number not in checked]
        if later:
            progress(f"{count(len(later), 'execution')} more with the reference client")
            self._baseline(later, seconds)
        return meetings

    def _to_begin_with(self, candidates: Sequence[Candidate]) -> set[int]:
        """What is about these candidates; where idle executions are looked for, every execution."""
        entire = frozenset() if self._options.only_mutants else self._whole
        numbers = {number for number, column in enumerate(self.columns) if column.release in entire}
        for candidate in candidates:
            if candidate.release not in entire:
                numbers |= {number for number, column in enumerate(self.columns) if is_about(candidate, column)}
        return numbers

    def _baseline(self, numbers: Sequence[int], seconds: list[float]) -> None:
        """Seconds of executions with the reference client and the mock as they are, which pass.

        Raises:
            NothingShown: one does not.
        """
        failed: list[str] = []

        def heard(_: Task, line: Line) -> None:
            place = line["execution"]
            seconds[place] = line["seconds"]
            if line["verdict"] == Verdict.UNSUPPORTED and self._options.side != "client":
                self.excused[self.columns[place].id] = f"the reference lacks what it needs: {line['why']}"
            elif line["verdict"] != Verdict.PASS:
                failed.append(f"{self.columns[place].id}: {line['verdict']}: {line['why']}")

        def lost(_: Task, number: int | None, why: str) -> None:
            failed.append(f"{'between cases' if number is None else self.columns[number].id}: a worker was lost: {why}")

        self._run(Baseline(numbers), heard, lost)
        if failed:
            shown = "\n  ".join(failed[:10])
            raise NothingShown(f"the reference client does not pass, so that no mutant says anything:\n  {shown}")

    def _meetings(
        self, candidates: Sequence[Candidate], seconds: Sequence[float], progress: Callable[[str], None]
    ) -> list[Meeting]:
        meetings: list[Meeting] = []
        schedule = Schedule(
            candidates,
            self.columns,
            seconds,
            mode=self._options.mode,
            excused=self.excused,
            sought=frozenset() if self._options.only_mutants else self._whole,
        )
        told = time.monotonic()

        def heard(task: Task, line: Line) -> None:
            nonlocal told
            meetings.append(meeting_of(task, self.columns[line["execution"]], line))
            if time.monotonic() - told > 10:
                told = time.monotonic()
                progress(f"{count(len(meetings), 'meeting')}, {schedule.left}")

        def lost(task: Task, number: int | None, why: str) -> None:
            if number is not None:
                execution = self.columns[number].id
                meetings.append(Meeting(task.candidate.name, execution, Verdict.CRASH, killed=False, seconds=0.0, why=why))

        self._run(schedule, heard, lost)
        return meetings

    def _run(
        self,
        work: Work,
        heard: Callable[[Task, Line], None],
        lost: Callable[[Task, int | None, str], None],
    ) -> None:
        def words(task: Task) -> Line:
            return {
                "mutant": task.candidate.name or None,
                "side": task.candidate.side,
                "first": task.first,
                "then": task.then,
                "limit": task.limit,
            }

        self._pool.run(work, words, heard, lost)


def missed(
    candidates: Sequence[Candidate], executions: Sequence[ExecutionColumn], meetings: Sequence[Meeting]
) -> Iterator[Missed]:
    """Patterns of ``found_by`` that found nothing, though everything that they mean in a release met the mutant."""
    columns = {column.id: column for column in executions}
    killed: dict[tuple[str, str], dict[str, bool]] = defaultdict(lambda: defaultdict(bool))
    for meeting in meetings:
        killed[meeting.mutant, columns[meeting.execution].release][meeting.execution] |= meeting.killed
    for candidate in candidates:
        met = killed[candidate.name, candidate.release]
        possible = [column for column in executions if (column.release, column.judges) == (candidate.release, candidate.side)]
        for pattern in candidate.found_by if any(met.values()) else ():
            meant = [column.id for column in possible if matches(pattern, column.id)]
            if meant and all(name in met and not met[name] for name in meant):
                yield Missed(candidate.name, candidate.release, pattern, len(meant))
