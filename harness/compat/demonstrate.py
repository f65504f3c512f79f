"""Plays the worst collisions against running servers: a store that one question empties, a thread that one message ends."""

from __future__ import annotations

import contextlib
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from fixturegen.environment import open_environment
from fixturegen.errors import CaptureError, EnvironmentUnavailable
from fixturegen.mp.counts import counts
from fixturegen.mp.dealer import Dealers
from fixturegen.mp.launch import NO_SERVER, STATUS_PATH
from harness.compat.shown import KINDS, SHORT_TITLE, Kind, short
from harness.compat.stage import CHUNK, NoAnswer, Running, Stage
from mockserver.mp.server import MpServer as MockServer
from reports.collisions.demonstration import Demonstration, Target
from reports.collisions.effects import UNASKED
from reports.collisions.fates import Fate
from reports.collisions.matrix import Collisions
from reports.words import count
from wire.errors import WireError
from wire.release import Release


@dataclass(frozen=True)
class Play:
    """What is to be shown at one server: a collision of a client, or without one the message of one frame."""

    server: str
    kind: str = "short"
    client: str = ""
    fate: Fate | None = None

    @property
    def title(self) -> str:
        """What is shown."""
        if self.fate is None:
            return SHORT_TITLE
        return KINDS[self.kind].title.format(operation=self.fate.operation, client=self.client)


def plays(result: Collisions) -> list[Play]:
    """The worst of each kind, at the newest servers that show it, and the message of one frame at one of them."""
    found = [play for name, kind in KINDS.items() if (play := _worst(result, name, kind)) is not None]
    able = [str(release) for release in map(Release.parse, result.servers) if NO_SERVER[release] is None]
    if able:
        used = [play.server for play in found]
        found.append(Play(used[0] if used and able[-1] not in used else able[-1]))
    return found


def _worst(result: Collisions, name: str, kind: Kind) -> Play | None:
    """A collision of plain use; best one that nobody asks for, of newest releases."""
    found = [
        (pair, fate)
        for pair in result.pairs
        for fate in pair.troubles
        if fate.grade.plain and not fate.odd and kind.fits(pair, fate)
    ]
    chosen = max(
        found,
        key=lambda one: (one[1].operation in UNASKED, Release.parse(one[0].server), Release.parse(one[0].client)),
        default=None,
    )
    if chosen is None:
        return None
    pair, fate = chosen
    client = next(one for one in reversed(result.generation(pair.client).releases) if one in result.clients)
    server = next(one for one in reversed(result.generation(pair.server).releases) if one in result.servers)
    return Play(server, name, client, fate)


Opener = Callable[[Release], AbstractContextManager[Running]]


def demonstrate(result: Collisions, target: Target, runtime: str, progress: Callable[[str], None]) -> list[Demonstration]:
    """Play what :func:`plays` chooses; a server that does not start costs its own demonstrations.

    Raises:
        EnvironmentUnavailable: the runtime cannot work here at all.
    """
    opener = _mock if target == "mock" else _live(runtime)
    chosen = plays(result)
    found: list[Demonstration] = []
    for server in dict.fromkeys(play.server for play in chosen):
        own = [play for play in chosen if play.server == server]
        what = "the real server" if target == "live" else "the mock"
        progress(f"lmcache {server}: {count(len(own), 'demonstration')} against {what}")
        try:
            with opener(Release.parse(server)) as running:
                for number, play in enumerate(own):
                    if number:
                        running.restart()
                    found.append(_played(play, running, target))
        except (EnvironmentUnavailable, CaptureError, OSError) as error:
            done = len([one for one in found if one.server == server])
            found += [_failed(play, target, str(error)) for play in own[done:]]
    return found


def _failed(play: Play, target: Target, problem: str) -> Demonstration:
    return Demonstration(play.title, play.client, play.server, target, (), shown=False, verdict="", problem=problem)


def _played(play: Play, running: Running, target: Target) -> Demonstration:
    with Dealers(*running.address) as dealers:
        stage = Stage(running, target, dealers)
        try:
            shown, verdict = (
                short(stage) if play.fate is None else KINDS[play.kind].play(stage, Release.parse(play.client), play.fate)
            )
        except (NoAnswer, WireError, OSError) as error:
            return replace(_failed(play, target, str(error)), acts=stage.acts)
    return Demonstration(play.title, play.client, play.server, target, stage.acts, shown, verdict)


@dataclass
class _RealServer:
    server: Any
    release: Release

    @property
    def address(self) -> tuple[str, int]:
        return self.server.host, self.server.port

    def restart(self) -> None:
        self.server.restart()

    def read_locked(self) -> int:
        return counts(self.server.status())["read_locked"]

    def health(self) -> str:
        path = STATUS_PATH[self.release]
        if path is None:
            return "the server is started without one"
        url = f"http://{self.server.host}:{self.server.http_port}{path.replace('status', 'healthcheck')}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return f"{answer.status}, {answer.read(200).decode(errors='replace')}"
        except (OSError, urllib.error.URLError) as error:
            return f"no answer ({error})"


@dataclass
class _MockServer:
    server: MockServer
    release: Release

    @property
    def address(self) -> tuple[str, int]:
        return self.server.address

    def restart(self) -> None:
        self.server.restart()

    def read_locked(self) -> int:
        return counts(self.server.status())["read_locked"]

    def health(self) -> str:
        """The mock has no HTTP; what it has is its port."""
        with socket.create_connection(self.server.address, timeout=10):
            return "a mock has none; its port still takes connections"


def _live(runtime: str) -> Opener:
    environment = open_environment(runtime)

    @contextlib.contextmanager
    def opened(release: Release) -> Iterator[Running]:
        with environment.mp_server(release) as server:
            yield _RealServer(server, release)

    return opened


@contextlib.contextmanager
def _mock(release: Release) -> Iterator[Running]:
    with MockServer(release, chunk_size=CHUNK) as server:
        yield _MockServer(server, release)
