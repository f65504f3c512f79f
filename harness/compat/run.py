"""Plays every client against every server: each server is started once, and all clients meet it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from fixturegen.corpus import corpus_fingerprint
from fixturegen.environment import open_environment
from fixturegen.errors import CaptureError, EnvironmentUnavailable
from fixturegen.server_process import healthy
from harness.compat.exchange import Place, ServerAsleep
from harness.compat.facts import facts_of
from harness.compat.frames_of import frames_of
from harness.compat.generations import client_seal, generations, server_seal
from harness.compat.share import Both, share
from harness.compat.talk import Tags, talk
from harness.machine import at_once
from harness.targets import mock_server
from harness.version import TOOL_VERSION
from reports.compat.model import Cell, CompatResult
from reports.results import utc_now
from reports.words import count
from wire.errors import WireError
from wire.release import Release

TargetName = Literal["live", "mock"]
PATIENCE: Final[Mapping[TargetName, float]] = {"live": 1.0, "mock": 0.4}
"""Seconds of silence before a server is asked whether it is awake; if it is, silence means that it waits."""
AWAKE_WITHIN: Final = 30.0
"""Seconds that a server on a busy machine may take to answer HEALTH."""
MOCKS: Final = 4
"""Mock servers at a time: most of the time all wait for silence."""
CONVERSATIONS: Final = 24
"""Connections to one server at a time."""
MEMORY_OF_ONE: Final = 1 << 30
"""Bytes that one real server may need while it starts."""

Address = tuple[str, int]
Opener = Callable[[Release], AbstractContextManager[Address]]


@dataclass(frozen=True)
class CompatOptions:
    """What to play."""

    clients: Sequence[Release]
    servers: Sequence[Release]
    target: TargetName = "live"
    runtime: str = "venv"
    derive: bool = True
    """Play one release of each generation, and take its cells for the others."""
    jobs: int | None = None
    """Servers at a time; None: as processors and memory allow."""


@dataclass(frozen=True)
class Plan:
    """Which releases are played, and for whom else."""

    clients: Sequence[Sequence[Release]]
    """Groups of releases; the last of each is played."""
    servers: Sequence[Sequence[Release]]

    @classmethod
    def of(cls, options: CompatOptions) -> Plan:
        """The plan for some options."""
        if options.derive:
            return cls(generations(options.clients, client_seal), generations(options.servers, server_seal))
        return cls([[release] for release in sorted(options.clients)], [[release] for release in sorted(options.servers)])


def run_compat(
    options: CompatOptions, progress: Callable[[str], None] = lambda _: None, opener: Opener | None = None
) -> CompatResult:
    """Play the matrix.

    A server that does not start, or that stops answering, costs its own cells and no others.

    Raises:
        CorpusError: captures of a selected release are missing or damaged.
        EnvironmentUnavailable: the runtime cannot work here at all.
    """
    started, clock = utc_now(), time.monotonic()
    for release in {*options.clients, *options.servers}:
        frames_of(release)
        facts_of(release)
    plan = Plan.of(options)
    stage = _Stage(options, plan, opener or _opener(options), progress)
    cells = stage.play()
    return CompatResult(
        tool_version=TOOL_VERSION,
        started=started,
        seconds=round(time.monotonic() - clock, 1),
        target=options.target,
        runtime=options.runtime if options.target == "live" else None,
        corpus=corpus_fingerprint(sorted({*options.clients, *options.servers})),
        clients=tuple(str(release) for release in sorted(options.clients)),
        servers=tuple(str(release) for release in sorted(options.servers)),
        cells={(cell.client, cell.server): cell for cell in cells},
        same_client=[[str(release) for release in group] for group in generations(options.clients, client_seal)],
        same_server=[[str(release) for release in group] for group in generations(options.servers, server_seal)],
    )


@dataclass
class _Stage:
    """One run, and what it has in its hands."""

    options: CompatOptions
    plan: Plan
    opener: Opener
    progress: Callable[[str], None]
    _stop: threading.Event = field(default_factory=threading.Event)
    _done: int = 0

    def play(self) -> list[Cell]:
        """The cells of all servers."""
        groups = self.plan.servers
        jobs = self.options.jobs or default_jobs(len(groups), self.options.target)
        cells: list[Cell] = []
        with ThreadPoolExecutor(jobs, thread_name_prefix="compat-server") as pool:
            try:
                for future in as_completed([pool.submit(self._group, group) for group in groups]):
                    cells += future.result()
            except BaseException:
                self._stop.set()
                pool.shutdown(cancel_futures=True)
                raise
        return cells

    def _group(self, group: Sequence[Release]) -> list[Cell]:
        """The cells of servers that are the same: the newest that starts is played, for itself and for those before it."""
        cells: list[Cell] = []
        for newest in range(len(group), 0, -1):
            server = group[newest - 1]
            begun = time.monotonic()
            try:
                with self.opener(server) as address:
                    for clients in self.plan.clients:
                        if not self._stop.is_set():
                            cells += _spread(self._cell(clients[-1], server, address), clients, group[:newest])
            except (EnvironmentUnavailable, CaptureError, OSError) as error:
                self.progress(f"lmcache {server}: its server does not start; its cells are not run")
                cells += [Cell(str(client), str(server), problem=str(error)) for client in self.options.clients]
                continue
            self._done += 1
            seconds = time.monotonic() - begun
            done = f"{self._done} of {len(self.plan.servers)}"
            self.progress(f"{done}: server of lmcache {server} met {count(len(self.plan.clients), 'client')} in {seconds:.0f} s")
            return cells
        return cells

    def _cell(self, client: Release, server: Release, address: Address) -> Cell:
        """One client against one server that runs."""
        stores, asks = frames_of(client), frames_of(server)
        place = Place(*address, PATIENCE[self.options.target], lambda: _ask_whether_awake(server, address))
        tags = Tags(client)
        with ThreadPoolExecutor(CONVERSATIONS, thread_name_prefix="compat-client") as pool:
            try:
                talked = talk(place, stores, server, tags, pool)
                shared = share(Both(place, stores, asks), talked, tags, pool)
            except (ServerAsleep, OSError) as error:
                return Cell(str(client), str(server), problem=f"the server answers nobody any more ({error})")
        findings = (*talked.findings, *shared.findings)
        return Cell(str(client), str(server), findings, talked.questions + shared.questions)


def _spread(cell: Cell, clients: Sequence[Release], servers: Sequence[Release]) -> list[Cell]:
    """A cell that was played, and the cells that are derived from it."""
    played = cell.client, cell.server
    places = [(str(client), str(server)) for client in clients for server in servers]
    return [cell if at == played else replace(cell, client=at[0], server=at[1], derived_from=played) for at in places]


def _ask_whether_awake(server: Release, address: Address) -> None:
    try:
        answered = healthy(server, *address, timeout=AWAKE_WITHIN)
    except (OSError, WireError) as error:
        raise ServerAsleep(str(error)) from None
    if not answered:
        raise ServerAsleep("HEALTH is answered with failure")


def default_jobs(count: int, target: TargetName) -> int:
    """How many servers run at a time where nobody says."""
    if target == "mock":
        return max(1, min(count, MOCKS))
    return at_once(count, memory_of_one=MEMORY_OF_ONE)


def _opener(options: CompatOptions) -> Opener:
    if options.target == "mock":
        return _mock
    environment = open_environment(options.runtime)

    @contextmanager
    def live(release: Release) -> Iterator[Address]:
        with environment.server(release) as address:
            yield address.host, address.port

    return live


@contextmanager
def _mock(release: Release) -> Iterator[Address]:
    with mock_server(release) as server:
        yield server.host, server.port
