"""What this machine lets one process use at a time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_CGROUP: Final = Path("/sys/fs/cgroup/cpu.max")
"""In a container, what it may use: microseconds of processor time, and of how many; ``max`` for all there is."""


def processors() -> int:
    """How many this process may use: those that it may run on, and no more than the quota of its container pays for."""
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(here, _quota(_CGROUP) or here)


def _quota(limit: Path) -> int | None:
    """Whole processors of a quota, rounded up; None where there is none, or it is no quota as the kernel writes it."""
    try:
        allowed, period = limit.read_text("ascii").split()
        return max(1, -(-int(allowed) // int(period)))
    except (OSError, ValueError, ZeroDivisionError):
        return None


def at_once(count: int, *, memory_of_one: int) -> int:
    """How many of ``count`` tasks run at a time, each with a processor and so many bytes of the memory that is free now."""
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    return max(1, min(count, processors(), free // memory_of_one))
