"""Runs the matrix: starts pytest in this process with our plugin, shows progress, writes the reports, gives the verdict."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import pytest
from rich.console import Console

from fixturegen.corpus import captured_releases, load_corpus
from fixturegen.environment import open_environment
from fixturegen.errors import CaptureError, EnvironmentUnavailable
from harness import interruption, meeting
from harness.bare_pytest import bare_pytest
from harness.case import TargetName, case_name, spec_of, topic_of
from harness.client import Budget
from harness.clients.spec import may_kill, open_client
from harness.collectors import collectors
from harness.executions import case_id, cell_of
from harness.expectations.file import ExpectationsFile, read_expectations
from harness.expectations.write import require_free, write_expectations
from harness.judged import SubjectOptions, open_judged
from harness.mp.targets import LiveMpServers
from harness.named_class import parse_params
from harness.placeholders import WORDS, unknown_words
from harness.plugin import CLIENT_START, DEADLINE, SEED
from harness.protocols import BOTH, DECLARED, Protocol, as_choice, declared, named, no_case, parse_protocol
from harness.requirements import load_requirements
from harness.room import alone_in, require_room_for_reports, require_room_for_results
from harness.servers.spec import ServerSpec, parse_server, require_one_release
from harness.sharding import parse_shard
from harness.sides import FACTS, require_runtime, require_targets, where_listed
from harness.targets import LiveServers
from harness.usage import (
    UsageError,
    parse_address,
    parse_effort,
    parse_limits,
    parse_releases,
    parse_require,
    parse_runtime,
    parse_seed,
    parse_targets,
    read_client_limits,
)
from harness.wanted import context_of, read_wanted
from harness.workers import WorkerFault, Workers
from reports.outputs import RESULTS, write_reports
from reports.progress import RunProgress, run_progress
from reports.record import CaseRecord
from reports.results import Results, read_results
from reports.side import Side
from reports.terminal import make_console, print_summary
from reports.verdict import ExitCode
from reports.words import count, listing
from wire.release import Release


class BrokenCases(Exception):
    """Cases cannot be collected, which is a fault of the harness."""


@dataclass(frozen=True)
class RunOptions:
    """What to run, as the command line gives it."""

    client: str = "reference"
    lmcache: str = "all"
    target: str = "fixtures,mock"
    only: Sequence[str] = ()
    protocol: str = DECLARED
    """The wires that cases are about."""
    side: Side = "client"
    """What is judged; ``client`` names it, whatever it is."""
    kind: str | None = None
    """The interface that a plugin implements."""
    params: str | None = None
    """JSON with the parameters of a plugin or connector."""
    backend: str | None = None
    """What runs the storage behind it."""
    url: str | None = None
    """The URL that a connector is chosen by."""
    require: str = "should"
    """The lowest level whose failures count."""
    live: str | None = None
    runtime: str = "venv"
    folder: Path = Path("lmconform-results")
    examples: int | None = None
    """Examples of each property; None means the usual number, and fewer of those that take long."""
    seed: int = SEED
    """What examples are drawn from; the default gives the same in every run."""
    properties: bool = False
    """Only the cases that draw examples."""
    deadline: float = DEADLINE
    client_start: float = CLIENT_START
    """Seconds that the client may take to start."""
    client_memory: str | None = None
    """Bytes that the client may hold; by default what the machine has for so many of them."""
    client_limits: str | None = None
    """What the kernel limits besides."""
    failures: int = 10
    jobs: int = 1
    """Cases at once; more than one means that other processes execute them."""
    isolate: bool = False
    """Let another process execute even what one could execute here, so that a Python client takes nothing along when it dies."""
    expectations: Path | None = None
    """A list of known failures."""
    write_expectations: Path | None = None
    """Where to write one that holds every failure of this run."""
    force: bool = False
    """Overwrite that file."""
    shard: str | None = None
    """The part of the cases to execute, such as ``2/4``."""
    summary: Path | None = None
    """Where to write a summary in Markdown."""
    reports: Sequence[str] = ()
    """Other reports to write, each ``FORMAT`` or ``FORMAT=FILE``."""


@dataclass(frozen=True)
class ListedCase:
    """One execution that a run would make."""

    id: str
    name: str
    title: str
    cites: tuple[str, ...]


def run_matrix(options: RunOptions) -> ExitCode:
    """Judge a client, or another side, and write ``results.jsonl``, ``junit.xml`` and ``report.html``.

    Raises:
        UsageError: the options make no sense, nothing matches them, or the folder cannot be written.
        ClientFailure: the client, or whatever else is judged, cannot be started.
        CorpusError: the corpus of a release is damaged.
    """
    with meeting.expected(options.client) if options.side == "client" else contextlib.nullcontext():
        return _run(options)


def _run(options: RunOptions) -> ExitCode:
    """Find out whether the run can be made, then make it."""
    releases = parse_releases(options.lmcache)
    targets = parse_targets(options.target)
    require_targets(options.side, targets)
    parse_require(options.require)
    require_runtime(options.side, parse_runtime(options.runtime))
    parse_protocol(options.protocol)
    load_requirements()
    address = _address(options, releases, targets)
    if address is not None and options.protocol != DECLARED:
        _require_answer(address, releases[0], named(options.protocol), judged=options.side == "server")
    parse_effort(options.examples, options.deadline)
    parse_seed(options.seed)
    _require_sense_of_the_shard(options)
    budget = _budget(options)
    known = read_expectations(options.expectations) if options.expectations is not None else None
    _require_room_for_the_list(options, releases)
    for release in releases:
        load_corpus(release)
    require_room_for_results(options.folder)
    require_room_for_reports(read_wanted(options.reports, options.summary, options.folder), options.folder)
    protocols = _protocols(options, budget, releases)
    if address is not None and options.protocol == DECLARED:
        _require_answer(address, releases[0], protocols, judged=False)
    if options.side == "server":
        _require_start(parse_server(options.client, options.protocol), releases[0], protocols[0])
    if "live" in targets and _needs_the_real_server(options):
        _prepare(options.runtime, releases)
    for warning in known.warnings() if known is not None else ():
        print(f"lmconform: warning: {warning}", file=sys.stderr)
    for word in unknown_words(parse_params(options.params)):
        print(f"lmconform: warning: {word} in --params stays as it is; {', '.join(WORDS)} are replaced", file=sys.stderr)
    with alone_in(options.folder):
        return _judge(options, budget, known, protocols)


def _address(options: RunOptions, releases: Sequence[Release], targets: Sequence[TargetName]) -> tuple[str, int] | None:
    """Where the user's server listens that cases meet, be it for a client or because it is judged."""
    if options.side == "server":
        server = parse_server(options.client, options.protocol)
        require_one_release(server, releases)
        return None if server.address is None else parse_address(server.text, releases, targets, given_by=server.text)
    return parse_address(options.live, releases, targets)


def _needs_the_real_server(options: RunOptions) -> bool:
    """Whether live cases are about servers that the pinned environment has to start."""
    if options.side == "server":
        return parse_server(options.client, options.protocol).kind == "real"
    return options.live is None


def _protocols(options: RunOptions, budget: Budget, releases: Sequence[Release]) -> Sequence[Protocol]:
    """What cases will be about; what is judged is started for it once, and must start."""
    if options.side != "client":
        names = {name: getattr(options, name) for name in ("kind", "params", "backend", "url")}
        open_judged(options.side, SubjectOptions(options.client, options.protocol, releases, budget=budget, **names)).stop()
        return named(options.protocol) if options.side == "server" else FACTS[options.side].protocols
    session = open_client(options.client, budget=budget, apart=options.isolate and may_kill(options.client))
    session.stop()
    return declared(session.description.operations) if options.protocol == DECLARED else named(options.protocol)


def _require_answer(address: tuple[str, int], release: Release, protocols: Sequence[Protocol], *, judged: bool) -> None:
    """Find out whether the user's server answers.

    Raises:
        UsageError: it is not clear which wire it speaks.
        TargetUnavailable: it does not answer.
    """
    if len(protocols) > 1:
        raise UsageError("--live names one server, which speaks one wire; add --protocol lm or --protocol mp")
    if protocols[0] == "mp":
        LiveMpServers(address=address, judged=judged).get(release)
    else:
        LiveServers(address=address, judged=judged).get(release)


def _require_start(server: ServerSpec, release: Release, protocol: Protocol) -> None:
    """Find out whether the user's command starts a server, before each case finds out for itself.

    Raises:
        TargetUnavailable: it does not, and the message ends with what it wrote.
    """
    if server.kind != "command":
        return
    live: LiveServers | LiveMpServers
    live = (
        LiveMpServers(command=server.command, judged=True)
        if protocol == "mp"
        else LiveServers(command=server.command, judged=True)
    )
    try:
        live.get(release)
    finally:
        live.close()


def _budget(options: RunOptions) -> Budget:
    start, memory = parse_limits(options.client_start, options.client_memory, clients=options.jobs)
    return Budget(
        start=start, call=options.deadline, memory=memory, limits=read_client_limits(options.client_limits, options.client)
    )


def _judge(options: RunOptions, budget: Budget, known: ExpectationsFile | None, protocols: Sequence[Protocol]) -> ExitCode:
    """Run the matrix, and read back what it wrote."""
    path = options.folder / RESULTS
    arguments = [
        *("--client", options.client, "--lmcache", options.lmcache, "--target", options.target),
        *("--runtime", options.runtime, "--side", options.side, "--require", options.require),
        *(
            word
            for name in ("kind", "params", "backend", "url")
            if (value := getattr(options, name)) is not None
            for word in (f"--{name}", value)
        ),
        *("--seed", str(options.seed), "--deadline", str(options.deadline)),
        *(("--examples", str(options.examples)) if options.examples is not None else ()),
        *(("--properties",) if options.properties else ()),
        *("--client-start", str(options.client_start), "--client-memory", str(budget.memory)),
        *(("--client-limits", options.client_limits) if options.client_limits is not None else ()),
        *(("--live", options.live) if options.live is not None else ()),
        *(word for pattern in options.only for word in ("--only", pattern)),
        *(("--shard", options.shard) if options.shard is not None else ()),
    ]
    apart = options.isolate and options.side == "client" and may_kill(options.client)
    # Workers need not ask the client; all of them must find the same cases.
    theirs = [*arguments, "--protocol", as_choice(protocols) if options.side == "client" else options.protocol]
    workers = [Workers(options.jobs, theirs, at_once=not options.only, always=apart)] if options.jobs > 1 or apart else []
    with own_output() as output:
        console = make_console(output)
        if options.seed != SEED:
            console.print(f"examples are drawn from seed {options.seed}", highlight=False)
        reporter = _Reporter(console)
        # Workers know nothing of known failures: records are held against the list here, where the whole run is seen.
        listed = ("--expectations", str(options.expectations)) if options.expectations is not None else ()
        try:
            status = bare_pytest(
                [*arguments, "--protocol", options.protocol, *listed, "--results", str(path)], reporter, *workers
            )
        except KeyboardInterrupt:  # while pytest was about to begin or to end; otherwise it says so itself
            status = pytest.ExitCode.INTERRUPTED
        if reporter.errors:
            for line in reporter.errors:
                console.print(line, markup=False, highlight=False)
            return ExitCode.UNDECIDED
        if status == pytest.ExitCode.NO_TESTS_COLLECTED and collectors.results != path:  # a shard may have no case
            releases = parse_releases(options.lmcache)
            raise UsageError(no_case(releases, protocols, where_listed(options.side)))
        if collectors.results != path:
            console.print(f"the run ended before its first case; nothing is claimed about the {options.side}")
            return ExitCode.UNDECIDED
        with interruption.postponed():  # the run is over; what is left takes a moment
            results = read_results(path)
            write_reports(
                results, options.folder, read_wanted(options.reports, options.summary, options.folder), context_of(path)
            )
            print_summary(console, results, path, limit=options.failures)
            if options.write_expectations is not None:
                write_the_list(results, options.write_expectations, force=options.force, old=known)
        return results.exit_code


def write_the_list(results: Results, path: Path, *, force: bool, old: ExpectationsFile | None = None) -> None:
    """Write a new list of known failures, and tell about it on standard error: the summary ends with its last line."""

    def tell(line: str) -> None:
        print(f"lmconform: {line}", file=sys.stderr)

    if results.incomplete is not None:
        tell(f"{path} was not written: {results.incomplete}")
        return
    written = write_expectations(results, path, force=force, old=old)
    kept = f", {written.kept} of them as they were" if old is not None else ""
    tell(f"wrote {count(written.entries, 'entry', 'entries')}{kept} to {path}; fill in the reasons, then run with --expectations")
    if written.unlisted:
        tell(f"not listed, because they were not run or their error has no words: {listing(written.unlisted)}")


def _require_room_for_the_list(options: RunOptions, releases: Sequence[Release]) -> None:
    if options.write_expectations is None:
        if options.force:
            raise UsageError("--force is for --write-expectations, which is not given")
        return
    if options.expectations is not None and (options.only or set(releases) < set(captured_releases())):
        raise UsageError(
            "with --expectations, --write-expectations brings a list up to date, which takes all cases and all releases; "
            "leave out --only and --lmcache"
        )
    require_free(options.write_expectations, force=options.force)


def _require_sense_of_the_shard(options: RunOptions) -> None:
    if options.shard is None:
        return
    parse_shard(options.shard)
    if options.write_expectations is not None:
        raise UsageError(
            "--write-expectations takes the whole run, of which a shard is a part; "
            "merge the shards first, with 'lmconform merge --write-expectations'"
        )


def _prepare(runtime: str, releases: Sequence[Release]) -> None:
    """Build what live servers need while standard error is still the user's; what goes wrong is for the cases to report."""
    with contextlib.suppress(EnvironmentUnavailable, CaptureError):
        environment = open_environment(runtime)
        for release in releases:
            environment.prepare(release)


def collect_cases(
    *, lmcache: str, target: str, only: Sequence[str], protocol: str = BOTH, side: Side = "client"
) -> list[ListedCase]:
    """Every execution that a run with these options would make.

    Raises:
        UsageError: the options make no sense, or nothing matches them.
        CorpusError: the corpus of a release is damaged.
        BrokenCases: a module of cases cannot be imported.
    """
    for release in parse_releases(lmcache):
        load_corpus(release)
    require_targets(side, parse_targets(target))
    parse_protocol(protocol)
    collected = _Collected()
    patterns = [word for pattern in only for word in ("--only", pattern)]
    with own_output():
        chosen = ("--lmcache", lmcache, "--target", target, "--protocol", protocol, "--side", side)
        bare_pytest(["--collect-only", *chosen, *patterns], collected)
    if collected.errors:
        raise BrokenCases("\n".join(collected.errors))
    if not collected.found:
        about = named(protocol) if side in {"client", "server"} else FACTS[side].protocols
        advice = "leave out --only to see what there is" if only else "no selected release has one there"
        raise UsageError(no_case(parse_releases(lmcache), about, advice))
    return collected.found


class _Watcher:
    """Keeps what goes wrong outside of any case."""

    def __init__(self) -> None:
        self.errors: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A module of cases that cannot be imported is a fault of the harness."""
        if report.failed:
            self.errors.append(f"{report.nodeid} cannot be collected:\n{report.longreprtext}")

    def pytest_internalerror(self, excrepr: Any, excinfo: pytest.ExceptionInfo[BaseException]) -> bool:
        """An error inside pytest or this plugin, or a disk that is full; pytest need not print it as well."""
        error = excinfo.value
        if isinstance(error, WorkerFault):
            self.errors.append(f"the run cannot go on: {error}")
        elif isinstance(error, OSError):
            self.errors.append(
                f"the run cannot go on: {error.strerror or error}{f': {error.filename}' if error.filename else ''}"
            )
        else:
            self.errors.append(f"internal error, please report it:\n{excrepr}")
        return True


class _Reporter(_Watcher):
    """Shows progress besides."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console
        self._progress: RunProgress | None = None
        self._stack = contextlib.ExitStack()
        self._names: dict[str, str] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Begin the progress once the number of cases is known."""
        for item in session.items:
            cell = cell_of(item)
            if cell is not None:
                self._names[item.nodeid] = case_id(item, cell)
        self._progress = self._stack.enter_context(run_progress(self._console, len(session.items)))
        collectors.watch(self._finished)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Show which case is running."""
        if self._progress is not None:
            self._progress.started(self._names.get(nodeid, nodeid))

    def pytest_unconfigure(self) -> None:
        """End the progress."""
        self._stack.close()

    def _finished(self, record: CaseRecord) -> None:
        if self._progress is not None:
            self._progress.finished(record)


class _Collected(_Watcher):
    """Notes what was collected."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[ListedCase] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note every execution."""
        for item in session.items:
            cell = cell_of(item)
            function: Any = getattr(item, "function", None)
            spec = spec_of(function)
            if cell is None or spec is None:
                continue
            name = f"{topic_of(item.path)}.{case_name(function.__name__)}"
            title = (function.__doc__ or "").strip().splitlines()[0]
            self.found.append(ListedCase(case_id(item, cell), name, title, spec.cites))


class _PatientOutput(io.FileIO):
    """Output that nobody needs to read to the end: ``| head`` must not cost the run its results or its exit code."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return super().write(data)


@contextlib.contextmanager
def own_output() -> Iterator[TextIO]:
    """Standard output as it was before pytest captures it."""
    if sys.stdout is None:
        descriptor = os.open(os.devnull, os.O_WRONLY)
    else:
        sys.stdout.flush()
        descriptor = os.dup(sys.stdout.fileno())
    raw = _PatientOutput(descriptor, "w")
    with io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace") as output:
        yield output
