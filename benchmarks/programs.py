"""Programs that run to their end: how long they take, and how much memory they need at most."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
_LAUNCHER: Final = """
import json, os, sys, time
begin = time.perf_counter()
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
told = {"seconds": time.perf_counter() - begin, "status": os.waitstatus_to_exitcode(status), "peak_kib": usage.ru_maxrss}
os.write(int(sys.argv[1]), json.dumps(told).encode())
"""
"""Starts a program and tells what it needed. It is small: the memory of whoever starts a program counts as the program's own."""


@dataclass(frozen=True)
class Spent:
    """What a program needed.

    Attributes:
        seconds: from its start to its end, by the clock on the wall.
        peak_mib: memory of it and of the largest of its children that it waited for, whichever is larger.
    """

    seconds: float
    peak_mib: float


def compiling(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """Variables with which a program keeps the modules that it compiles, as it does for users; None stands for ours."""
    given = os.environ if variables is None else variables
    return {name: value for name, value in given.items() if name != "PYTHONDONTWRITEBYTECODE"}


def spent(command: Sequence[str], *, ends_with: int = 0, env: Mapping[str, str] | None = None) -> Spent:
    """Run a program to its end, in the folder of this checkout; whatever the caller has set, it keeps compiled modules.

    Raises:
        RuntimeError: it ends with another status; the message has the end of what it wrote.
    """
    hear, tell = os.pipe()
    with os.fdopen(hear, "rb") as heard:
        try:
            launched = subprocess.run(
                [sys.executable, "-S", "-c", _LAUNCHER, str(tell), *command],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT, env=compiling(env), pass_fds=[tell], check=False,
            )  # fmt: skip
        finally:
            os.close(tell)
        told = json.loads(heard.read() or '{"status": "nothing"}')
    if told["status"] != ends_with:
        said = launched.stdout[-500:].decode(errors="replace")
        raise RuntimeError(f"{' '.join(command[:3])} ended with {told['status']}: {said}")
    return Spent(told["seconds"], told["peak_kib"] / 1024)


class Remembered:
    """Work of which one figure is measured and others fall out: the last time is remembered for those."""

    def __init__(self, work: Callable[[], Spent]) -> None:
        self._work = work
        self._last: Spent | None = None

    def seconds(self, _: float) -> float:
        """How long it takes, done once."""
        self._last = self._work()
        return self._last.seconds

    def peak_mib(self, _: float) -> float:
        """The memory of the last time."""
        return self.last.peak_mib

    @property
    def last(self) -> Spent:
        """The last time; the first one if there was none."""
        if self._last is None:
            self._last = self._work()
        return self._last
