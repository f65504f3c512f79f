"""A server under test as a child process: on a port that the kernel picked, answering before use, gone with the run."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from fixturegen import leash
from fixturegen.environment import LOCALHOST
from fixturegen.server_process import free_port
from harness.failure import ServerUnavailable, TargetUnavailable
from harness.servers.tail import Tail
from wire.release import Release

START: Final = 60.0
"""Seconds that it may take until it answers."""
STOP: Final = 5.0
_LOOK_AGAIN: Final = 0.05
_LAST_WORDS: Final = 3000

Answers = Callable[[str, int], bool]
"""Whether the server at a host and port answers as one of its release; false where it cannot be reached yet."""


class StartedServer:
    """A server that a command starts; it can be killed, and started again at the same address."""

    def __init__(self, command: Sequence[str], release: Release, answers: Answers, **settings: Any) -> None:
        self.host = LOCALHOST
        self.port = free_port()
        self._release = release
        self._answers = answers
        values = {"host": self.host, "port": self.port, "release": str(release), **settings}
        self._words = [command[0], *(word.format(**values) for word in command[1:])]
        self._before = ""
        self._tail: Tail | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._leash: leash.Leash | None = None
        self._marked = 0

    def mark(self) -> None:
        """Note where its log ends now, when a case begins."""
        self._marked = self._tail.written if self._tail is not None else 0

    @property
    def said(self) -> str:
        """What it wrote since the mark, and how it ended if it did."""
        if self._tail is None:
            return ""
        written = self._tail.since(self._marked)[-_LAST_WORDS:]
        status = self._process.poll() if self._process is not None else None
        return written if status is None else f"{written.rstrip()}\nthe server ended with status {status}".lstrip()

    @property
    def alive(self) -> bool:
        """Whether its process runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        """The end of what it wrote, before it was started again as well."""
        return (self._before + (self._tail.text if self._tail is not None else ""))[-_LAST_WORDS:]

    def start(self) -> None:
        """Start it, and wait until it answers.

        Raises:
            TargetUnavailable: there is no such program.
            ServerUnavailable: it ended, or did not answer in time; the message ends with what it wrote.
        """
        self._tail, self._marked = Tail(), 0
        try:
            self._process, self._leash = leash.start(
                self._words, os.environ, stdin=subprocess.DEVNULL, stdout=self._tail.writing, stderr=subprocess.STDOUT
            )
        except OSError as error:
            raise TargetUnavailable(f"{self._words[0]} does not start: {error.strerror or error}") from None
        finally:
            self._tail.started()
        until = time.monotonic() + START
        while time.monotonic() < until:
            if not self.alive:
                status = self._process.returncode
                self.kill()
                raise ServerUnavailable(f"the server ended with status {status} when it was started{self._said}")
            if self._answers(self.host, self.port):
                return
            time.sleep(_LOOK_AGAIN)
        self.kill()
        raise ServerUnavailable(
            f"the server did not answer as lmcache {self._release} does within {START:g} s at {self.host}:{self.port}{self._said}"
        )

    def restart(self) -> None:
        """Kill it, and start it again at the same address."""
        self.kill()
        self.start()

    def kill(self) -> None:
        """End it as a crash would, with its children."""
        if self._process is None or self._leash is None:
            return
        self._leash.kill()
        self._process.wait(STOP)
        self._leash.let_go()
        self._process = self._leash = None
        if self._tail is not None:
            self._tail.finish()
            self._before, self._tail = self.log, None

    def stop(self) -> None:
        """Ask it to end, and see to it."""
        if self._process is not None and self._leash is not None:
            self._process.terminate()
            leash.ended(self._process.pid, STOP)
        self.kill()

    def status(self) -> Mapping[str, Any] | None:
        """Nothing: how a server of the user tells its state is not known."""
        return None

    @property
    def _said(self) -> str:
        return f"; it wrote:\n{self.log}" if self.log else "; it wrote nothing"
