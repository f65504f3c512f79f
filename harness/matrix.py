"""One run: the selection, the client, the live servers, and the records of what happened."""

from __future__ import annotations

import difflib
import functools
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from fixturegen.corpus import corpus_fingerprint
from fixturegen.errors import CorpusError
from harness import meeting
from harness.case import CaseSpec, Cell, TargetName, case_name, corpus_of, spec_of, topic_of
from harness.client import Budget, ClientFailure, Session
from harness.clients.spec import may_kill, open_client
from harness.collectors import collectors
from harness.examples import Examples
from harness.executions import case_id, cell_of, execution_of, spec_of_item, topic_and_case
from harness.expectations.book import Book
from harness.expectations.file import read_expectations
from harness.expectations.universe import pattern_exists
from harness.judge import Judge, explained
from harness.judged import Judged, SubjectOptions, open_judged
from harness.mp.targets import LiveMpServers
from harness.patience import START, Patience
from harness.patterns import matches
from harness.plugin import DEADLINE, EXAMPLES, SEED, option
from harness.protocols import (
    DECLARED,
    PROTOCOLS,
    Protocol,
    captured_protocol,
    declared,
    has_protocol,
    left_out_text,
    named,
    parse_protocol,
    protocol_of,
)
from harness.requirements import Requirement, load_requirements
from harness.rerun import rerun
from harness.servers.spec import ServerSpec, parse_server
from harness.sharding import PLACE, parse_shard
from harness.sides import FACTS, parse_side, require_runtime, require_targets, where_listed
from harness.tape import TAPES
from harness.tape.tapes import Seen
from harness.tape.told import conversation
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
from harness.verdicts import verdict_of
from harness.version import TOOL_VERSION
from reports.diagnosis import Diagnosis
from reports.parts import Selection, Shard
from reports.record import CaseRecord, ClientInfo, RunHeader
from reports.results import ResultsWriter, utc_now
from reports.side import Side
from wire.lm.profile import lm_profile
from wire.release import Release


@dataclass
class Matrix:
    """The state of one run."""

    spec: str
    releases: Sequence[Release]
    targets: Sequence[TargetName]
    only: Sequence[str]
    live: LiveServers
    results: Path | None
    protocol: str = DECLARED
    """The choice of wires that cases are about."""
    side: Side = "client"
    """What ``spec`` names: what the run judges."""
    options: SubjectOptions | None = None
    """What else is said of it; None for a client."""
    server: ServerSpec | None = None
    """The server that is judged, in a run that judges one."""
    lenient: bool = False
    """Failures of a SHOULD do not count."""
    live_mp: LiveMpServers = field(default_factory=LiveMpServers)
    book: Book | None = None
    examples: int | None = None
    """Examples of each property; None where nobody asked for a number."""
    seed: int = SEED
    properties: bool = False
    """Only the cases that draw examples."""
    shard: Shard | None = None
    """The part of the selection that is executed; None for all of it."""
    selection: Selection | None = None
    """All of it; None until it is known."""
    budget: Budget = field(default_factory=lambda: Budget(call=DEADLINE))
    shrink: bool = True
    """Whether a property that fails looks for a smaller example to show."""
    apart: bool = False
    """No case runs in this process, and what a Python client does must not end it."""
    attended: bool = False
    """Another process executes the run and notices when this one ends."""
    patience: Patience = field(default_factory=lambda: Patience(DEADLINE))
    """How much of it is left with the client of this process."""
    _session: Session | None = None
    _judged: Judged | None = None
    _companions: dict[bool, Session] = field(default_factory=dict)
    """By whether they have a process of their own for certain."""
    _left_out: set[Protocol] = field(default_factory=set)
    _writer: ResultsWriter | None = None
    _matched: set[str] = field(default_factory=set)
    _names: set[str] = field(default_factory=set)
    _seen: tuple[str, Seen | None] = ("", None)
    """What was on the tapes when the case of a node id failed."""
    _by_release: dict[Release, dict[str, Requirement]] = field(default_factory=dict)

    @classmethod
    def from_config(cls, config: pytest.Config) -> Matrix:
        """Read the options of pytest.

        Raises:
            pytest.UsageError: one of them makes no sense.
        """
        try:
            releases = parse_releases(option(config, "lmcache"))
            targets = parse_targets(option(config, "target"))
            protocol = parse_protocol(option(config, "protocol"))
            side = parse_side(option(config, "side"))
            lenient = parse_require(option(config, "require")) == "must"
            runtime = parse_runtime(option(config, "runtime"))
            address = parse_address(option(config, "live"), releases, targets)
            require_targets(side, targets)
            require_runtime(side, runtime)
            server = parse_server(option(config, "client"), protocol) if side == "server" and protocol in PROTOCOLS else None
            if server is not None and server.address is not None:
                address = parse_address(server.text, releases, targets, given_by=server.text)
            examples, deadline = parse_effort(option(config, "examples"), option(config, "deadline"))
            seed = parse_seed(option(config, "seed"))
            start, memory = parse_limits(option(config, "client-start"), option(config, "client-memory"))
            limits = read_client_limits(option(config, "client-limits"), option(config, "client"))
            asked = option(config, "shard")
            shard = parse_shard(asked) if asked is not None else None
            listed = option(config, "expectations")
            book = Book(read_expectations(Path(listed))) if listed is not None else None
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None
        results = option(config, "results")
        if side == "client":
            meeting.expect(option(config, "client"))
        budget = Budget(start=start, call=deadline, memory=memory, limits=limits)
        command = server.command if server is not None else ()
        return cls(
            patience=Patience(deadline, start),
            spec=option(config, "client"),
            releases=releases,
            targets=targets,
            only=option(config, "only"),
            protocol=protocol,
            side=side,
            options=_options(config, protocol, releases, budget) if side != "client" else None,
            server=server,
            lenient=lenient,
            live=LiveServers(runtime=runtime, address=address, command=command, judged=server is not None),
            live_mp=LiveMpServers(runtime=runtime, address=address, command=command, judged=server is not None),
            results=Path(results) if results else None,
            book=book,
            examples=examples,
            seed=seed,
            properties=option(config, "properties"),
            shard=shard,
            budget=budget,
        )

    @functools.cached_property
    def requirements(self) -> dict[str, Requirement]:
        """The specification."""
        return load_requirements()

    def _requirements_of(self, release: Release) -> dict[str, Requirement]:
        """The requirements that hold for a release."""
        if release not in self._by_release:
            found = {name: requirement for name, requirement in self.requirements.items() if release in requirement.releases}
            self._by_release[release] = found
        return self._by_release[release]

    @functools.cached_property
    def protocols(self) -> Sequence[Protocol]:
        """What cases are about; a client that cannot be started says nothing, and its cases tell why."""
        if self.side != "client":
            return named(self.protocol) if self.side == "server" else FACTS[self.side].protocols
        if self.protocol != DECLARED:
            return named(self.protocol)
        try:
            return declared(self.session().description.operations)
        except ClientFailure:
            return named(self.protocol)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The wires of which there are cases in the selection that the client declares nothing for."""
        return tuple(sorted(self._left_out)) if self.protocol == DECLARED and self.side == "client" else ()

    @property
    def left_out_note(self) -> str:
        """The same in words, to be put behind another sentence."""
        return f" ({left_out_text(self.left_out)})" if self.left_out else ""

    def releases_of(self, topic: str, case: str, spec: CaseSpec) -> Sequence[Release]:
        """The selected releases that speak the wire of a case; none where the run is not about that wire, which is noted."""
        if self.side not in spec.runs:
            return []
        protocol = protocol_of(topic)
        speaking = [release for release in self.releases if has_protocol(release, protocol)]
        if protocol in self.protocols:
            return speaking
        if speaking and self._may_be_wanted(f"{topic}.{case}"):
            self._left_out.add(protocol)
        return []

    def _may_be_wanted(self, name: str) -> bool:
        """Whether ``--only`` may mean an execution of a case."""
        return not self.only or any(matches(pattern.partition("[")[0], name) for pattern in self.only)

    def selects(self, item: pytest.Item) -> bool:
        """Whether an item has a cell and ``--only`` wants it."""
        cell = cell_of(item)
        if cell is None or (self.properties and "examples" not in item.fixturenames):  # type: ignore[attr-defined]  # functions
            return False
        identity = case_id(item, cell)
        matching = [pattern for pattern in self.only if matches(pattern, identity)]
        self._matched.update(matching)
        if self.only:
            self._names.add(identity.partition("[")[0])
        return bool(matching) or not self.only

    def examples_of(self, function: str, cell: Cell) -> Examples:
        """How a property is tried in one execution."""
        count, asked = self.examples or EXAMPLES, self.examples is not None
        return Examples(count, self.seed, f"{function}[{cell.id}]", shrink=self.shrink, asked=asked)

    @property
    def unmatched(self) -> list[str]:
        """The patterns of ``--only`` that no item matched so far."""
        return [pattern for pattern in self.only if pattern not in self._matched]

    def told_unmatched(self) -> str:
        """:attr:`unmatched` in words, with a guess at what was meant for the case that is misspelt."""
        return ", ".join(f"{pattern!r}{self._meant(pattern)}" for pattern in self.unmatched)

    def _meant(self, pattern: str) -> str:
        name = pattern.partition("[")[0]
        candidates = {f"{case.rpartition('.')[0]}.*" for case in self._names} if name.endswith("*") else self._names
        close = difflib.get_close_matches(name, sorted(candidates - {name}), n=1, cutoff=0.8)
        return f" (did you mean {close[0]}?)" if close else ""

    def faults_of_the_list(self, collected: Sequence[pytest.Item], selected: Sequence[pytest.Item], *, whole: bool) -> list[str]:
        """What is wrong with the list of known failures for the items that were selected.

        ``whole`` says that every case was collected; then a pattern that means none of them is wrong, unless ``--only`` is given.
        """
        if self.book is None:
            return []
        specs = {topic_and_case(item): spec_of_item(item) for item in collected}
        executions = (execution_of(item, cell) for item in selected if (cell := cell_of(item)) is not None)
        exists = (
            (lambda pattern, entry: pattern_exists(pattern, entry, specs))
            if whole and not self.only and not self.properties
            else None
        )
        return self.book.faults(executions, exists, where_listed(self.side))

    def targets_of(self, spec: CaseSpec) -> list[TargetName]:
        """The selected targets without those that a case must leave alone: a server of the user is not ours to fill."""
        spared = {"live"} if self.live.address is not None and spec.needs_own_server else set()
        return [target for target in self.targets if target not in spared]

    def judged(self) -> Session | Judged:
        """What is judged, started on first use.

        Raises:
            ClientFailure, UsageError, EnvironmentUnavailable: it cannot be started.
        """
        if self.options is None:
            return self.session()
        if self._judged is None:
            self._judged = open_judged(self.side, self.options)
        return self._judged

    def session(self) -> Session:
        """The running client, started on first use.

        Raises:
            ClientFailure: it cannot be started, or failed to so often that this was not tried again.
        """
        if self._session is None:
            self.patience.require(())
            began = time.monotonic()
            try:
                session = open_client(self.spec, budget=self.budget, apart=self._apart)
            except ClientFailure as failure:
                self.patience.failed(START, failure, time.monotonic() - began)
                raise
            session.patience = self.patience
            self._session = session
        return self._session

    def companion(self, *, own_process: bool) -> Session:
        """A second running client, started on first use; cases share it as they share the first."""
        if own_process not in self._companions:
            session = open_client(self.spec, budget=self.budget, apart=own_process or self._apart)
            session.patience = self.patience
            self._companions[own_process] = session
        return self._companions[own_process]

    @property
    def _apart(self) -> bool:
        return self.apart and self.may_kill

    @property
    def client_may_end_this_process(self) -> bool:
        """Whether a client of which we know nothing can end this process, and with it the run, unseen."""
        return self.may_kill and not self.apart and not self.attended

    @property
    def may_kill(self) -> bool:
        """Whether a client of which we know nothing runs inside the process that opens it."""
        return self.side == "client" and may_kill(self.spec)

    def change_subject(self, spec: str) -> None:
        """Judge another client, or whatever else the run judges, from now on, with all patience."""
        self.dismiss_client()
        self.spec, self.patience = spec, Patience(self.budget.call, self.budget.start)
        if self.options is None:
            meeting.expect(spec)
        else:
            self.options = replace(self.options, spec=spec)
            self.server = parse_server(spec, self.protocol) if self.side == "server" else None

    def dismiss_client(self) -> None:
        """Stop the client and its companions; the next use starts others."""
        while self._companions:
            self._companions.popitem()[1].stop()
        if self._session is not None:
            self._session.stop()
            self._session = None
        if self._judged is not None:
            self._judged.stop()
            self._judged = None

    def judge(self, cell: Cell, spec: CaseSpec, topic: str) -> Judge:
        """A judge for one execution."""
        try:
            captured = captured_protocol(protocol_of(topic))
            corpus = corpus_of(cell.release, captured) if captured is not None else None
        except CorpusError:
            corpus = None
        return Judge(spec, self._requirements_of(cell.release), lm_profile(cell.release), corpus)

    def begin(self) -> None:
        """Open the results file, in the process that sees the whole run.

        Raises:
            ClientFailure: the client cannot be started.
            OSError: the file cannot be written.
        """
        collectors.book, collectors.side = self.book, self.side
        if self.results is None:
            return
        self._writer = ResultsWriter(self.results, self.header())
        collectors.results = self.results
        collectors.listen(self._writer.add)

    def header(self) -> RunHeader:
        """What this run is."""
        described = self.judged().description
        return RunHeader(
            tool_version=TOOL_VERSION,
            started=utc_now(),
            client=ClientInfo(
                spec=self.spec,
                name=described.name,
                version=described.version,
                language=described.language,
                operations=tuple(described.operations),
                releases=tuple(described.releases),
                issues=described.issues,
            ),
            releases=tuple(str(release) for release in self.releases),
            targets=tuple(self.targets),
            command_line=tuple(sys.argv),
            seed=self.seed,
            python=platform.python_version(),
            platform=platform.platform(),
            corpus=corpus_fingerprint(self.releases, [found for name in self.protocols if (found := captured_protocol(name))]),
            expectations=self.book.about if self.book is not None else None,
            selection=self.selection,
            shard=self.shard,
            left_out=self.left_out,
            side=self.side,
        )

    def look_at_the_tapes(self, item: pytest.Item) -> None:
        """A case has failed at this moment: what crossed the wire until now belongs to its record, and what follows does not."""
        cell, spec = cell_of(item), spec_of_item(item)
        alone = cell is not None and spec is not None and spec.judges == "server" and cell.target == "live"
        self._seen = item.nodeid, TAPES.seen(ours=self.side != "client" or alone)

    def _with_the_conversation(self, diagnosis: Diagnosis, item: pytest.Item, cell: Cell, judges: Side) -> Diagnosis:
        """The diagnosis with what crossed the wire, where something of ours saw it; nothing sees a client with a live server."""
        of, seen = self._seen
        if of != item.nodeid or seen is None or (cell.target == "live" and judges == "client"):
            return diagnosis
        return replace(diagnosis, conversation=conversation(seen, cell.release, protocol=protocol_of(topic_of(item.path))))

    def record(self, item: pytest.Item, error: BaseException | None, seconds: float) -> CaseRecord:
        """The record of one execution."""
        cell = cell_of(item)
        function: Any = item.function  # type: ignore[attr-defined]  # cases are functions
        spec = spec_of(function)
        assert cell is not None
        assert spec is not None
        holding = self._requirements_of(cell.release)
        cited = tuple(name for name in spec.cites if name in holding)

        def explain(diagnosis: Diagnosis) -> Diagnosis:
            return explained(diagnosis, self.requirements[cited[0]] if cited else None)

        speaking = self._session or self._judged
        stderr = speaking.stderr if speaking is not None else ""
        if error is not None and self.server is not None and cell.target == "live":
            stderr = (self.live_mp if self.protocol == "mp" else self.live).said(cell.release)
        ended = verdict_of(error, explain, stderr, side=self.side, lenient=self.lenient)
        identity = case_id(item, cell)
        diagnosis = ended.diagnosis
        if diagnosis is not None:
            diagnosis = replace(diagnosis, rerun=rerun(self, identity, cell))
            diagnosis = self._with_the_conversation(diagnosis, item, cell, spec.judges)
        return CaseRecord(
            id=identity,
            topic=topic_of(item.path),
            case=case_name(function.__name__),
            release=str(cell.release),
            target=cell.target,
            verdict=ended.verdict,
            seconds=round(seconds, 6),
            title=(function.__doc__ or "").strip().splitlines()[0],
            variant=cell.variant.id if cell.variant else None,
            requirements=cited,
            reason=ended.reason,
            operation=ended.operation,
            not_run=ended.not_run,
            diagnosis=diagnosis,
            judges=spec.judges,
            place=item.stash.get(PLACE, None),
        )

    def end(self, *, complete: bool) -> None:
        """Stop the client and the servers, close the results file."""
        self.dismiss_client()
        self.live.close()
        self.live_mp.close()
        meeting.expect_nobody()
        if self._writer is not None:
            self._writer.close(complete=complete and not collectors.cut_short)
        collectors.clear()


def _options(config: pytest.Config, protocol: str, releases: Sequence[Release], budget: Budget) -> SubjectOptions:
    named = {name: option(config, name) for name in ("kind", "params", "backend", "url")}
    return SubjectOptions(option(config, "client"), protocol, releases, budget=budget, **named)
