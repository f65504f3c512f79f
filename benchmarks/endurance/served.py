"""A mock server in a process of its own, as ``lmconform serve`` starts it, and what it holds of the machine."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fixturegen import leash

ARENAS: Final = {"MALLOC_ARENA_MAX": "2"}
"""The allocator of glibc gives each new thread an arena, up to eight for each processor, which memory grows by in steps."""
_PAUSE: Final = 0.02
_ENDS_WITHIN: Final = 10.0
_LISTENS: Final = re.compile(r"listens on (?:lm|tcp)://(?P<host>[0-9.]+):(?P<port>[0-9]+)")


@dataclass(frozen=True)
class Figures:
    """What a process holds: threads, descriptors, and resident memory in MiB."""

    threads: int
    descriptors: int
    rss: float

    def __str__(self) -> str:
        return f"{self.threads} threads, {self.descriptors} descriptors, {self.rss:.1f} MiB"


class Served:
    """A server that runs; :meth:`stop` ends it."""

    def __init__(self, process: subprocess.Popen[bytes], host: str, port: int) -> None:
        self.process = process
        self.host = host
        self.port = port

    def figures(self) -> Figures:
        """What it holds now, as the kernel says."""
        folder = Path("/proc") / str(self.process.pid)
        status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        descriptors = sum(1 for _ in (folder / "fd").iterdir())
        return Figures(int(status["Threads"]), descriptors, int(status["VmRSS"].split()[0]) / 1024)

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
        began = time.monotonic()
        self.process.send_signal(number)
        try:
            status = self.process.wait(_ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        return time.monotonic() - began, status


@contextlib.contextmanager
def served(*words: str, faults: Sequence[str] = ()) -> Iterator[Served]:
    """A mock server for the length of the block; ``words`` are options of ``lmconform serve``.

    Raises:
        RuntimeError: it does not start; the message is what it said.
    """
    options = [*words, *(word for fault in faults for word in ("--fault", fault))]
    process, held = leash.start(
        [sys.executable, "-m", "harness.cli.main", "serve", *options],
        {**os.environ, **ARENAS, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    with process.stdout as said:
        try:
            line = said.readline().decode()
            found = _LISTENS.search(line)
            if found is None:
                raise RuntimeError(f"the mock server did not start: {line.strip() or 'it ended, see above'}")
            yield Served(process, found["host"], int(found["port"]))
        finally:
            held.kill()
            process.wait()
            held.let_go()
