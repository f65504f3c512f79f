"""How much may wait to be stored."""

from __future__ import annotations

import threading


class Backlog:
    """Counts what was submitted for storing and is not done; beyond a limit nothing is admitted.

    Waiting instead would stop the server, and a longer queue would hold its buffers for longer than they are worth.
    """

    def __init__(self, *, objects: int, size: int) -> None:
        self._limits = (objects, size)
        self._lock = threading.Lock()
        self._objects = 0
        self._bytes = 0

    def admit(self, objects: int, size: int) -> bool:
        """Whether a batch of so many objects and bytes may wait; it counts until ``done``."""
        with self._lock:
            if self._objects + objects > self._limits[0] or self._bytes + size > self._limits[1]:
                return False
            self._objects += objects
            self._bytes += size
            return True

    def done(self, objects: int, size: int) -> None:
        """A batch that was admitted waits no longer."""
        with self._lock:
            self._objects -= objects
            self._bytes -= size

    def numbers(self) -> dict[str, int]:
        """What waits now."""
        with self._lock:
            return {"backlog_objects": self._objects, "backlog_bytes": self._bytes}

    def __str__(self) -> str:
        return f"at most {self._limits[0]} objects and {self._limits[1]} bytes may wait"
