"""The server of a bench: the mock in a process of its own, or one that the user runs."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from fixturegen.errors import EnvironmentUnavailable
from harness import meeting
from harness.failure import TargetUnavailable
from harness.interpreter import program
from harness.supervise import LineTooLong, PipeClosed, ProcessEnded, SupervisedProcess, Tail
from harness.targets import LiveServers
from harness.usage import UsageError, address_of
from wire.numerals import shown
from wire.release import Release

START: Final = 30.0
"""Seconds that the mock may take to listen."""
_LISTENS: Final = re.compile(rb"lm://(?P<host>\S+):(?P<port>[0-9]+)")


@dataclass(frozen=True)
class Place:
    """Where it listens, and what it is in words."""

    host: str
    port: int
    about: str
    live: bool


@contextlib.contextmanager
def served(release: Release, live: str | None) -> Iterator[Place]:
    """A server of a release; ``live`` is HOST:PORT of one that the user runs.

    Raises:
        UsageError: that is no address.
        TargetUnavailable: no server answers.
    """
    if live is None:
        with _mock(release) as place:
            yield place
        return
    address = address_of(live)
    if address is None:
        raise UsageError(f"--live {shown(live)!r} is no address; write HOST:PORT, such as 127.0.0.1:65432")
    servers = LiveServers(address=address)
    try:
        found = servers.get(release)
        yield Place(found.host, found.port, f"the running server at {found.host}:{found.port}", live=True)
    finally:
        servers.close()


@contextlib.contextmanager
def _mock(release: Release) -> Iterator[Place]:
    words = ["serve", "--lmcache", release.text, "--host", meeting.host(), "--allow-remote"]
    said = Tail()
    try:
        process = SupervisedProcess(program("harness.cli.main", words), stderr=said)
    except OSError as error:
        raise EnvironmentUnavailable(f"the mock server cannot be started: {error.strerror}") from None
    try:
        yield _listening(process, said)
    finally:
        process.end(time.monotonic())


def _listening(process: SupervisedProcess, said: Tail) -> Place:
    try:
        found = _LISTENS.search(process.receive(time.monotonic() + START))
    except (TimeoutError, ProcessEnded, PipeClosed, LineTooLong) as problem:
        raise TargetUnavailable(f"the mock server did not start: {problem or 'no line within the time'}\n{said.text()}") from None
    if found is None:
        raise TargetUnavailable(f"the mock server did not say where it listens\n{said.text()}")
    host = found["host"].decode().strip("[]")
    return Place(host, int(found["port"]), "the mock of lmconform, in a process of its own", live=False)
