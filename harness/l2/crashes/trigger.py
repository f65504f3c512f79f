"""Decides at which call of the file system a plugin's process is killed, and keeps account of what is not on the disk yet."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable

from harness.l2.calls.call import FileCall
from harness.l2.calls.disk import Disk
from harness.l2.calls.watcher import GO, Decision, Kill, Refuse


class Trigger:
    """Counts changes; once armed it kills before one of them. Calls come from the watcher's thread.

    ``hear`` is told of each change and its number before it is decided about.
    """

    def __init__(self, disk: Disk | None = None, hear: Callable[[FileCall, int], None] | None = None) -> None:
        self.changes = 0
        """All that were seen."""
        self.fired = False
        """The process was killed by us."""
        self.ended: FileCall | None = None
        """The call before which the process was killed, once that is known."""
        self._disk = disk
        self._hear = hear
        self._kill_at: int | None = None
        self._part = 0.0

    @property
    def armed(self) -> bool:
        """Whether the end is decided."""
        return self._kill_at is not None

    def arm(self, number: int, part: float = 0.0) -> None:
        """Kill before the n-th change from now on; of a write, do ``part`` first."""
        self._part = part
        self._kill_at = self.changes + number

    def kill(self, process: int) -> None:
        """Kill a process now; it is given by a descriptor, so that no other can be meant that has its number by then."""
        self.fired = True
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(process, signal.SIGKILL)

    def __call__(self, call: FileCall) -> Decision:
        """The watcher's question."""
        if not call.changes:
            return GO
        self.changes += 1
        if self._hear is not None:
            self._hear(call, self.changes)
        end = self._kill_at is not None and self.changes >= self._kill_at
        if self._disk is not None and (not end or self._part):
            self._disk.before(call)
        self.fired |= end
        return Kill(self._part) if end else GO


class Refusal(Trigger):
    """Lets calls fail, while it is on, that a condition is true of."""

    def __init__(self, error: int, concerns: Callable[[FileCall], bool]) -> None:
        super().__init__()
        self._error = error
        self._concerns = concerns
        self.on = False
        self.refused = 0
        """Calls that failed so."""

    def __call__(self, call: FileCall) -> Decision:
        """The watcher's question."""
        if not self.on or not self._concerns(call):
            return GO
        self.refused += 1
        return Refuse(self._error)
