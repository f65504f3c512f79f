"""Servers in processes of their own, which say in their first line where they listen, and what they hold of the machine."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fixturegen import leash

ARENAS: Final = {"MALLOC_ARENA_MAX": "2"}
"""The allocator of glibc gives each new thread an arena, up to eight for each processor, which memory grows by in steps."""
_PAUSE: Final = 0.02
_ENDS_WITHIN: Final = 10.0
_LISTENS: Final = re.compile(r"listens on (?:\w+://)?(?P<host>[0-9.]+):(?P<port>[0-9]+)")


@dataclass(frozen=True)
class Figures:
    """What a process holds: threads, descriptors, and resident memory in MiB."""

    threads: int
    descriptors: int
    rss: float

    def __str__(self) -> str:
        return f"{self.threads} threads, {self.descriptors} descriptors, {self.rss:.1f} MiB"


@dataclass(frozen=True)
class RunningServer:
    """A server of this machine: its port on the loopback address, and its process."""

    port: int
    pid: int
    host: str = "127.0.0.1"

    def figures(self) -> Figures:
        """What it holds now, as the kernel says."""
        descriptors = sum(1 for _ in (self._told / "fd").iterdir())
        status = self._status()
        return Figures(int(status["Threads"]), descriptors, _mib(status["VmRSS"]))

    def forget_peak(self) -> None:
        """Let the kernel take the memory that it has now for the most that it ever had."""
        (self._told / "clear_refs").write_text("5")

    def peak_mib(self) -> float:
        """The most memory that it had since, in MiB."""
        return _mib(self._status()["VmHWM"])

    @property
    def _told(self) -> Path:
        return Path("/proc") / str(self.pid)

    def _status(self) -> dict[str, str]:
        return dict(line.split(":", 1) for line in (self._told / "status").read_text().splitlines())


@dataclass(frozen=True)
class StartedServer(RunningServer):
    """A server that was started here; :meth:`stop` ends it before its block does."""

    process: subprocess.Popen[bytes] | None = None

    def settled(self, before: Figures, within: float) -> Figures:
        """Wait until it holds no more threads and descriptors than before, or the time is over; what it holds then."""
        until = time.monotonic() + within
        while True:
            now = self.figures()
            if (now.threads <= before.threads and now.descriptors <= before.descriptors) or time.monotonic() >= until:
                return now
            time.sleep(_PAUSE)

    def stop(self, number: int = signal.SIGTERM) -> tuple[float, int]:
        """Send a signal, and wait for the end; the seconds that took, and the status as :mod:`subprocess` gives it."""
        assert self.process is not None
        began = time.monotonic()
        self.process.send_signal(number)
        try:
            status = self.process.wait(_ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        return time.monotonic() - began, status


def command(module: str, *words: str) -> list[str]:
    """The command that runs ``main`` of a module of ours, which its package may have imported by then."""
    return [sys.executable, "-c", f"import sys; from {module} import main; sys.exit(main())", *words]


@contextlib.contextmanager
def started(module: str, *words: str, variables: Mapping[str, str] | None = None) -> Iterator[StartedServer]:
    """The ``main`` of a module until the block ends, once it has said where it listens; ``variables`` are added to ours.

    Raises:
        RuntimeError: it ended, or said something else.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **(variables or {})}
    process, held = leash.start(command(module, *words), environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout as output:
        try:
            said = output.readline().decode()
            found = _LISTENS.search(said)
            if found is None:
                raise RuntimeError(f"{module} {' '.join(words)} did not say where it listens, but {said!r}")
            yield StartedServer(int(found["port"]), process.pid, found["host"], process)
        finally:
            held.kill()
            process.wait()
            held.let_go()


def served(*words: str, faults: Sequence[str] = ()) -> contextlib.AbstractContextManager[StartedServer]:
    """A mock server for the length of the block, as ``lmconform serve`` starts it, with few arenas; ``words`` are its options."""
    options = [*words, *(word for fault in faults for word in ("--fault", fault))]
    return started("harness.cli.main", "serve", *options, variables=ARENAS)


def _mib(told: str) -> float:
    return int(told.split(maxsplit=1)[0]) / 1024
