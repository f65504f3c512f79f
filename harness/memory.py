"""How much memory a client holds: its processes, found by session and by mark, and its files.

Read from ``/proc``; where there is none (macOS) the files alone count, and no client is ever too large.
"""

from __future__ import annotations

import contextlib
import os
import resource
import time
from collections.abc import Callable
from typing import Final

from fixturegen.leash import marked, process_ids
from harness.processes import PROC, SESSION, stat_number

LEADER_EVERY: Final = 0.05
"""Seconds between two looks at the process that was started: one file is read."""
ALL_EVERY: Final = 0.5
"""Seconds between two looks at all processes of the machine for those that belong to it, which takes some milliseconds."""
MOST: Final = 4 << 30
"""Bytes that a client may hold unless the user says otherwise.

The largest value of a case has 64 MiB, of which an adapter rarely holds more than ten copies; interpreters, accelerator
libraries and sanitizers bring up to 2 GiB of their own.
"""
LEAST: Final = 1 << 30
_FORGET_PEAK: Final = b"5"
"""What the kernel takes in ``clear_refs`` for that."""


def default_limit(clients: int) -> int:
    """:data:`MOST`, or less where half of this machine would not do for so many clients, but never below :data:`LEAST`."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(LEAST, min(MOST, machine // 2 // max(1, clients)))


def confine(limit: int) -> None:
    """Let this process hold so many bytes more than now; what wants more gets a ``MemoryError``. Without effect where unknown."""
    with contextlib.suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = limit + resident("self")
        resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


class Usage:
    """The memory of one process, of its children and of the files that count as well."""

    def __init__(self, pid: int, mark: str, files: Callable[[], int]) -> None:
        self._pid = pid
        self._mark = mark
        self._files = files
        self._leader = self._others = 0
        self._next_leader = self._next_all = 0.0

    def bytes(self) -> int:
        """How many there were at the last look, which is not long ago."""
        now = time.monotonic()
        if now >= self._next_leader:
            self._next_leader = now + LEADER_EVERY
            self._leader = resident(self._pid)
        if not self._next_all:
            self._next_all = now + ALL_EVERY
        elif now >= self._next_all:
            self._next_all = now + ALL_EVERY
            members = {pid for pid in process_ids() if stat_number(pid, SESSION) == self._pid} | set(marked(self._mark))
            self._others = sum(resident(pid) for pid in members - {self._pid}) + self._files()
        return self._leader + self._others


def peak(pid: int) -> int | None:
    """The most bytes that a process was seen to hold, and those of its session together; None where the system does not tell."""
    found = [_highest(member) for member in _session(pid)]
    return sum(found) or None


def forget_peak(pid: int) -> None:
    """Let :func:`peak` count from now on; where the system does not allow it, it goes on counting from the start."""
    for member in _session(pid):
        with contextlib.suppress(OSError):
            (PROC / str(member) / "clear_refs").write_bytes(_FORGET_PEAK)


def _session(pid: int) -> list[int]:
    return [member for member in process_ids() if stat_number(member, SESSION) == pid]


def _highest(pid: int) -> int:
    """Bytes; 0 for a process that is gone."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in (PROC / str(pid) / "status").read_bytes().splitlines():
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) << 10
    return 0


def resident(pid: int | str) -> int:
    """Bytes of a process that are in memory; 0 when it is gone."""
    try:
        return int((PROC / str(pid) / "statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
