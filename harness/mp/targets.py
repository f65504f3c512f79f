"""What cases about the multiprocess server run against: a fresh mock for each case, or live servers of the real lmcache."""

from __future__ import annotations

import contextlib
import functools
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import zmq

from fixturegen.environment import PinnedEnvironment, open_environment
from fixturegen.errors import CaptureError, EnvironmentUnavailable
from fixturegen.mp.launch import SHARED_MEMORY, Launch
from fixturegen.mp.recording import launch_for
from harness import meeting
from harness.client import ClientFailure
from harness.failure import TargetUnavailable
from harness.mp.approach import may_be
from harness.servers.started import StartedServer
from harness.servers.watch import Watch
from harness.tape import TAPES
from harness.targets import again, require_reachable
from mockserver.mp import Mode, MpServer
from mockserver.mp.behaviour import BOTH_WAYS
from mockserver.mp.faults import NO_MP_FAULTS, parse_mp_plan
from reports.mp_frames import message_text
from wire.errors import WireError
from wire.mp.frames import decode_reply, encode_request
from wire.mp.operations import operation_table
from wire.release import Release

CHUNK_SIZE: Final = 16
"""Tokens of a chunk of every server that is started here."""
ANSWER_TIMEOUT: Final = 2.0
"""Seconds that a live server may take for a NOOP."""


class LiveMpServer(Protocol):
    """The real server as the pinned environment gives it."""

    host: str
    port: int

    def restart(self) -> None:
        """Kill it, and start it again at the same address with an empty store."""

    def kill(self) -> None:
        """End it as a crash would."""

    def status(self) -> Mapping[str, Any] | None:
        """What it says of its state over HTTP; None for a release that says nothing."""


@dataclass(frozen=True)
class MpTarget:
    """A server that answers: the mock, with its journal and faults, or a live one, with neither."""

    release: Release
    host: str
    port: int
    mock: MpServer | None = None
    live: LiveMpServer | None = None
    """A live server that we started; None for the mock and for one of the user."""
    protocol: str = "mp"
    chunk_size: int = CHUNK_SIZE

    @property
    def journal(self) -> Any:
        """What crossed the wire of the mock."""
        return self._mock("has no journal").journal

    def misbehave(self, *faults: str) -> None:
        """Give the mock faults, written as for ``lmconform serve --protocol mp --fault``; none ends them."""
        self._mock("takes no faults").set_faults(parse_mp_plan(faults) if faults else NO_MP_FAULTS)

    def stop(self) -> None:
        """Stop the server, as a crash would."""
        if self.live is not None:
            self.live.kill()
        else:
            self._mock("is not ours to stop").stop()

    def restart(self) -> None:
        """Stop it, and start it again on the same port; registrations, objects and sessions are gone."""
        if self.live is not None:
            self.live.restart()
        else:
            self._mock("is not ours to restart").restart()

    def status(self) -> Mapping[str, Any]:
        """The counts of objects and locks, as ``/status`` of the real server has them.

        Raises:
            LookupError: the server tells nothing.
        """
        found = self.mock.status() if self.mock is not None else self.live.status() if self.live is not None else None
        if found is None:
            raise LookupError(f"the server of lmcache {self.release} tells nothing of its state")
        return found

    def _mock(self, what: str) -> MpServer:
        if self.mock is None:
            raise LookupError(f"a live server {what}; the case must run on the mock only")
        return self.mock


def seen_last(server: MpTarget) -> dict[str, Any]:
    """Members of a diagnosis that say what the mock saw last of a client, and what it answered."""
    if server.mock is None:
        return {}
    last = server.mock.journal.last_exchange()
    if last is None:
        return {"exchange": "the mock saw no message"}
    reply = f"answered {message_text(last.reply[1:])}" if last.reply is not None else "not answered"
    spoiled = f", with {', '.join(last.faults)}" if last.faults else ""
    asked = f"{last.operation or 'no request'} ({message_text(last.frames[1:])})"
    return {"exchange": f"exchange {last.number}, connection {last.connection}: {asked}, {reply}{spoiled}"}


class MakeMpMock(Protocol):
    """Makes a mock that is not started yet."""

    def __call__(
        self, release: Release, *, host: str, allow_remote: bool, chunk_size: int, shared_memory: bool, mode: Mode
    ) -> MpServer:
        """A mock of a release that will listen there."""


_make_mock: MakeMpMock = MpServer


@contextlib.contextmanager
def mp_mocks_made_by(make: MakeMpMock) -> Iterator[None]:
    """In this process, let mocks be something else than our mock server: one with a defect, which cases must find."""
    global _make_mock  # noqa: PLW0603  # cases make mocks themselves, and know of no run
    before, _make_mock = _make_mock, make
    try:
        yield
    finally:
        _make_mock = before


@contextlib.contextmanager
def mock_mp_server(
    release: Release, *, shared_memory: bool = True, mode: Mode = "engine_driven", make: MakeMpMock | None = None
) -> Iterator[MpTarget]:
    """A mock with an empty store, or another server of ours; ``shared_memory`` counts where the release has it."""
    shared = shared_memory and SHARED_MEMORY[release]
    host = meeting.host()
    made = make or _make_mock
    with made(release, host=host, allow_remote=True, chunk_size=CHUNK_SIZE, shared_memory=shared, mode=mode) as mock:
        found, port = mock.address
        mock.journal.tape = TAPES.mock
        yield MpTarget(release, found, port, mock)


def both_ways(release: Release) -> Mode:
    """The mode of a mock that also reads the memory of engines, where its release can do both at once."""
    return "auto" if BOTH_WAYS[release] else "engine_driven"


def answers_noop(release: Release, host: str, port: int, within: float = ANSWER_TIMEOUT) -> bool:
    """Whether the server at an address answers a NOOP in time; its health page says nothing about that."""
    table = operation_table(release)
    reply = asked_once(host, port, encode_request(table, "NOOP", []), within)
    try:
        return reply is not None and decode_reply(table, "NOOP", reply) is not None
    except WireError:
        return False


def still_there(release: Release, host: str, port: int, within: float) -> bool:
    """As :func:`answers_noop`, of a server that answered before.

    Raises:
        OSError: nobody listens, or nobody answers; a ``ConnectionError`` in the first case.
    """
    socket.create_connection((host, port), within).close()
    if answers_noop(release, host, port, within):
        return True
    raise TimeoutError(f"no NOOP was answered within {within:.1f} s")


def asked_once(host: str, port: int, frames: Sequence[bytes], within: float = ANSWER_TIMEOUT) -> list[bytes] | None:
    """The frames of a reply behind its uid, over a connection of its own; None where none comes in time."""
    context = zmq.Context()
    asking = context.socket(zmq.DEALER)
    asking.linger = 0
    try:
        asking.connect(f"tcp://{host}:{port}")
        asking.send_multipart([b"\x00", *frames])
        return asking.recv_multipart()[1:] if asking.poll(int(within * 1000)) else None
    except zmq.ZMQError:
        return None
    finally:
        asking.close()
        context.term()


@dataclass
class LiveMpServers:
    """Real servers by release, started on first use and stopped together; or the one that the user already runs."""

    runtime: str = "venv"
    address: tuple[str, int] | None = None
    """A running server of the user, in place of our own."""
    command: tuple[str, ...] = ()
    """What starts a server of the user, likewise."""
    judged: bool = False
    """The servers are what is judged: real ones with shared memory also read the memory of engines, where their release can do
    both at once, and before each case it is looked at whether a running one of the user is still there."""
    _stacks: dict[tuple[Release, bool], contextlib.ExitStack] = field(default_factory=dict)
    _running: dict[tuple[Release, bool], MpTarget] = field(default_factory=dict)
    _failed: dict[tuple[Release, bool], TargetUnavailable] = field(default_factory=dict)
    _watch: Watch | None = None
    """Looks after a running server of the user, once it has answered."""
    _environment: PinnedEnvironment | None = None

    def get(self, release: Release, *, shared_memory: bool = True) -> MpTarget:
        """The live server of a release; it is started again where the last case left it without an answer.

        Raises:
            TargetUnavailable: there is none, and the message says why.
            NotAsked: it is one of the user that is judged, and was lost in an earlier case.
        """
        if self._watch is not None:
            self._watch.require()
        place = (release, shared_memory and SHARED_MEMORY[release])
        if place in self._failed:
            raise again(self._failed[place])
        try:
            running = self._running.get(place)
            if running is None or not answers_noop(release, running.host, running.port):
                self._end(place)
                self._running[place] = self._start(*place)
        except (EnvironmentUnavailable, CaptureError) as error:
            advice = "" if self.judged else "; without live in --target none is needed"
            self._failed[place] = TargetUnavailable(f"no live multiprocess server of lmcache {release}: {error}{advice}")
            raise again(self._failed[place]) from None
        except TargetUnavailable as error:
            self._failed[place] = error
            raise
        found = self._running[place]
        if isinstance(found.live, StartedServer):
            found.live.mark()
        return found

    def said(self, release: Release) -> str:
        """What the servers that a command started wrote since they were got last, and how they ended; nothing of others."""
        ours = [found.live for (of, _), found in self._running.items() if of == release and isinstance(found.live, StartedServer)]
        return "\n".join(said for server in ours if (said := server.said))

    def failed(self, words: str) -> ClientFailure | None:
        """A case failed and said so; how it ended if a running server of the user is gone for good."""
        return self._watch.lost_by(words) if self._watch is not None else None

    def _start(self, release: Release, shared_memory: bool) -> MpTarget:
        if self.address is not None:
            host, port = self.address
            require_reachable(host)
            if not may_be(release, lambda frames: asked_once(host, port, frames)) or not answers_noop(release, host, port):
                raise EnvironmentUnavailable(
                    f"the server at {host}:{port} does not answer as lmcache {release} does; "
                    "check the address and the release it runs"
                )
            if self.judged:
                self._watch = Watch(f"the server at {host}:{port}", functools.partial(still_there, release, host, port))
            return MpTarget(release, host, port)
        stack = self._stacks[release, shared_memory] = contextlib.ExitStack()
        if self.command:
            started = StartedServer(self.command, release, functools.partial(answers_noop, release), chunk_size=CHUNK_SIZE)
            stack.callback(started.stop)
            started.start()
            return MpTarget(release, started.host, started.port, live=started)
        if self._environment is None:
            self._environment = open_environment(self.runtime)
        mode = launch_for(release, "control").mode if self.judged and shared_memory else "engine"
        launch = Launch(chunk_size=CHUNK_SIZE, shared_memory=shared_memory, mode=mode)
        server = stack.enter_context(self._environment.mp_server(release, launch, host=meeting.host()))
        return MpTarget(release, server.host, server.port, live=server)

    def _end(self, place: tuple[Release, bool]) -> None:
        self._running.pop(place, None)
        stack = self._stacks.pop(place, None)
        if stack is not None:
            stack.close()

    def close(self) -> None:
        """Stop every server that was started here."""
        for place in list(self._stacks):
            self._end(place)
        self._running.clear()
