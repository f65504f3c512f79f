"""What ``/proc`` tells of a process."""

from __future__ import annotations

from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
PARENT: Final = 1
"""Place of the parent in ``stat``, counted behind the name of the program, which may hold anything; below likewise."""
SESSION: Final = 3


def stat_number(pid: int, place: int) -> int | None:
    """A number of ``/proc/PID/stat``; None where the process is gone or the system does not tell."""
    try:
        return int((PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()[place])
    except (OSError, ValueError, IndexError):
        return None
