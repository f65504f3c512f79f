"""What cases run against: a fresh mock server for each case, or one live server of the real lmcache for each release."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

from fixturegen.environment import PinnedEnvironment, open_environment
from fixturegen.errors import CaptureError, EnvironmentUnavailable
from fixturegen.server_process import healthy
from harness import meeting
from harness.client import ClientFailure
from harness.failure import TargetUnavailable
from harness.servers.started import StartedServer
from harness.servers.watch import Watch
from harness.tape import TAPES
from mockserver.faults import NO_FAULTS, parse_plan
from mockserver.journal import Journal
from mockserver.lm import LmServer
from wire.errors import WireError
from wire.release import Release


@dataclass(frozen=True)
class Server:
    """A server that answers: the mock, with its journal and faults, or a live one, with neither."""

    host: str
    port: int
    mock: LmServer | None = None
    protocol: str = "lm"

    @property
    def journal(self) -> Journal:
        """What crossed the wire of the mock."""
        if self.mock is None:
            raise LookupError("a live server has no journal; the case must run on the mock only")
        return self.mock.journal

    def misbehave(self, *faults: str) -> None:
        """Give the mock faults, written as for ``lmconform serve --fault``; none ends them."""
        if self.mock is None:
            raise LookupError("a live server takes no faults; the case must run on the mock only")
        self.mock.set_faults(parse_plan(faults) if faults else NO_FAULTS)

    def forget(self) -> None:
        """Empty the store and the journal of a mock, between two of thousands of examples; a live server keeps all."""
        if self.mock is not None:
            self.mock.store.clear()
            self.mock.journal.forget()
            TAPES.begin()

    def stop(self) -> None:
        """Stop the mock, as a crash would."""
        if self.mock is None:
            raise LookupError("a live server is not ours to stop; the case must run on the mock only")
        self.mock.stop()


class MakeMock(Protocol):
    """Makes a mock that is not started yet."""

    def __call__(self, release: Release, *, host: str, allow_remote: bool) -> LmServer:
        """A mock of a release that will listen there."""


_make_mock: MakeMock = LmServer
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


@contextlib.contextmanager
def mocks_made_by(make: MakeMock) -> Iterator[None]:
    """In this process, let mocks be something else than our mock server: one with a defect, which cases must find."""
    global _make_mock  # noqa: PLW0603  # cases make mocks themselves, and know of no run
    before, _make_mock = _make_mock, make
    try:
        yield
    finally:
        _make_mock = before


@contextlib.contextmanager
def mock_server(release: Release, make: MakeMock | None = None) -> Iterator[Server]:
    """A mock with an empty store, or another server of ours that ``make`` makes."""
    with (make or _make_mock)(release, host=meeting.host(), allow_remote=True) as mock:
        host, port = mock.address
        mock.journal.tape = TAPES.mock
        yield Server(host, port, mock)


def require_reachable(host: str) -> None:
    """A loopback address means another machine to a client in a container."""
    if host in _LOOPBACK and meeting.host() not in _LOOPBACK:
        raise EnvironmentUnavailable(
            f"a client in a container does not reach {host} of this machine: let the server listen on {meeting.host()} and give "
            "that to --live, or write docker:--network host IMAGE"
        )


@dataclass
class LiveServers:
    """Real servers by release, started on first use and stopped together; or the one that the user already runs."""

    runtime: str = "venv"
    address: tuple[str, int] | None = None
    """A running server of the user, in place of our own."""
    command: tuple[str, ...] = ()
    """What starts a server of the user, likewise."""
    judged: bool = False
    """The servers are what is judged: before each case it is looked at whether they are still there."""
    _stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    _started: dict[Release, StartedServer] = field(default_factory=dict)
    _running: dict[Release, Server] = field(default_factory=dict)
    _failed: dict[Release, TargetUnavailable] = field(default_factory=dict)
    _watches: dict[Release, Watch] = field(default_factory=dict)
    _environment: PinnedEnvironment | None = None

    def get(self, release: Release) -> Server:
        """The live server of a release.

        Raises:
            TargetUnavailable: there is none, and the message says why.
            NotAsked: it is judged, and was lost in an earlier case.
        """
        found = self._found(release)
        if self.judged or self.command:
            if release not in self._watches:
                self._watches[release] = self._watch(release, found)
            self._watches[release].require()
        if release in self._started:
            self._started[release].mark()
        return found

    def said(self, release: Release) -> str:
        """What the server that a command started wrote since it was got last, and how it ended; nothing of other servers."""
        return self._started[release].said if release in self._started else ""

    def failed(self, release: Release, seconds: float, words: str = "") -> ClientFailure | None:
        """A case failed with the server of a release, took so long, and said so; how it ended if the server is gone for good."""
        if release not in self._watches:
            return None
        self._watches[release].failed(seconds)
        return self._watches[release].lost_by(words)

    def _watch(self, release: Release, server: Server) -> Watch:
        """Looks after a server, and starts it again where it is ours."""
        started = self._started.get(release)
        return Watch(
            f"the server at {server.host}:{server.port}",
            lambda within: healthy(release, server.host, server.port, timeout=within),
            started.restart if started is not None else None,
        )

    def _found(self, release: Release) -> Server:
        if release in self._failed:
            raise again(self._failed[release])
        if self.command:
            return self._of_the_user(release)
        if release not in self._running:
            try:
                self._running[release] = self._start(release)
            except (EnvironmentUnavailable, CaptureError) as error:
                advice = "" if self.judged else "; without live in --target none is needed"
                self._failed[release] = TargetUnavailable(f"no live server of lmcache {release}: {error}{advice}")
                raise again(self._failed[release]) from None
        return self._running[release]

    def _start(self, release: Release) -> Server:
        if self.address is not None:
            host, port = self.address
            require_reachable(host)
            try:
                alive = healthy(release, host, port)
            except (OSError, WireError) as error:
                raise EnvironmentUnavailable(
                    f"the server at {host}:{port} does not answer HEALTH as lmcache {release} does ({error}); "
                    "check the address and the release it runs"
                ) from None
            if not alive:
                raise EnvironmentUnavailable(f"the server at {host}:{port} answers HEALTH with failure")
            return Server(host, port)
        if self._environment is None:
            self._environment = open_environment(self.runtime)
        address = self._stack.enter_context(self._environment.server(release, host=meeting.host()))
        return Server(address.host, address.port)

    def _of_the_user(self, release: Release) -> Server:
        """The server that the command starts; a watch starts it again where it has died or hangs."""
        started = self._started.get(release)
        if started is None:
            started = StartedServer(self.command, release, functools.partial(_answers_health, release), chunk_size=0)
            self._started[release] = started
            self._stack.callback(started.stop)
            try:
                started.start()
            except TargetUnavailable as error:
                self._failed[release] = error
                raise
        return Server(started.host, started.port)

    def close(self) -> None:
        """Stop every server that was started here."""
        self._running.clear()
        self._started.clear()
        self._watches.clear()
        self._stack.close()


def again(problem: TargetUnavailable) -> TargetUnavailable:
    """The same for another case."""
    return type(problem)(str(problem))


def _answers_health(release: Release, host: str, port: int) -> bool:
    try:
        return healthy(release, host, port)
    except (OSError, WireError):
        return False
