"""What this machine lets one process use at a time."""

from __future__ import annotations

import os


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def at_once(count: int, *, memory_of_one: int) -> int:
    """How many of ``count`` tasks run at a time, each with a processor and so many bytes of the memory that is free now."""
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    return max(1, min(count, processors(), free // memory_of_one))
