"""Watches the file-system calls of one process, and decides before each what becomes of it."""

from __future__ import annotations

import os
import platform
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.l2.calls.call import FileCall, read_call
from harness.l2.calls.filter import filter_program, numbers
from harness.l2.calls.notifications import go_on, receive, refuse
from harness.l2.calls.table import ARCHITECTURES, CHANGES
from harness.l2.host.watched import PLACE

START_TIMEOUT: Final = 15.0
"""Seconds until the process has to have let itself be watched."""


class CannotWatch(Exception):
    """System calls cannot be watched here; the message says why."""


@dataclass(frozen=True)
class Go:
    """Let the call happen."""


@dataclass(frozen=True)
class Kill:
    """Kill the process before the call; of a write, ``part`` of its bytes are written first."""

    part: float = 0.0


@dataclass(frozen=True)
class Refuse:
    """Let the call fail with an error of ``errno``."""

    error: int


Decision = Go | Kill | Refuse
React = Callable[[FileCall], Decision]
GO: Final = Go()


def why_not() -> str | None:
    """Why system calls cannot be watched on this machine; None if they can, as far as can be told without trying."""
    if not sys.platform.startswith("linux"):
        return f"system calls can be watched on Linux only, and this is {sys.platform}"
    if platform.machine() not in ARCHITECTURES:
        return f"the numbers of system calls are not known for {platform.machine()}"
    try:
        if "user_notif" not in Path("/proc/sys/kernel/seccomp/actions_avail").read_text(encoding="ascii").split():
            return "the kernel does not tell of system calls (seccomp without user_notif)"
    except OSError:
        return "the kernel has no seccomp"
    return None


class Watcher:
    """Decides about the calls of a process that are about a folder; all others go on.

    Give ``environment`` and ``descriptors`` to the process when it is started, then ``attach``. It sees the calls of every
    thread, in any language, but neither what is written through memory that is mapped to a file, nor io_uring.
    """

    def __init__(self, folder: Path, react: React, *, names: Iterable[str] = CHANGES) -> None:
        reason = why_not()
        if reason is not None:
            raise CannotWatch(reason)
        self._folder = folder.resolve()
        self._react = react
        self._names = numbers(names)
        self.program = filter_program(names)
        """The filter of system calls that the process has to install."""
        self._ours, self._theirs = socket.socketpair()
        self._thread: threading.Thread | None = None
        self._listener: int | None = None
        self._stop_read, self._stop_write = os.pipe()
        self._process = 0
        self.count = 0
        """Calls about the folder that were seen."""
        self.killed_before: FileCall | None = None
        """The call that never happened."""
        self.failure: BaseException | None = None
        """What went wrong while it decided; the process was killed."""

    @property
    def environment(self) -> Mapping[str, str]:
        """What the process has to find in its environment."""
        return {PLACE: f"{self._theirs.fileno()} {self.program.hex()}"}

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What the process has to inherit."""
        return (self._theirs.fileno(),)

    def attach(self, timeout: float = START_TIMEOUT) -> None:
        """Begin, once the process is started.

        Raises:
            CannotWatch: it did not let itself be watched.
        """
        self._theirs.close()
        self._ours.settimeout(timeout)
        try:
            words, descriptors, _, _ = socket.recv_fds(self._ours, 256, 1)
        except TimeoutError:
            raise CannotWatch(f"the plugin's process did not begin within {timeout:g} s") from None
        verdict, _, rest = words.decode().partition(" ")
        if verdict != "ok" or not descriptors:
            raise CannotWatch(f"the kernel does not let a process be watched: {rest or 'the process ended'}")
        self._process = int(rest)
        self._listener = descriptors[0]
        try:
            Path(f"/proc/{self._process}/mem").open("rb").close()
        except OSError as error:
            raise CannotWatch(f"the names in calls cannot be read from the plugin's memory: {error.strerror}") from None
        self._thread = threading.Thread(target=self._serve, name="watcher", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End; calls that are watched fail from then on, so the process has to be gone, or of no more use."""
        os.write(self._stop_write, b"x")
        if self._thread is not None:
            self._thread.join()
        if self._listener is not None:
            os.close(self._listener)
        for descriptor in (self._stop_read, self._stop_write):
            os.close(descriptor)
        self._ours.close()
        self._theirs.close()

    def _serve(self) -> None:
        assert self._listener is not None
        poller = select.poll()
        poller.register(self._listener, select.POLLIN)
        poller.register(self._stop_read, select.POLLIN)
        while True:
            for descriptor, events in poller.poll():
                if descriptor == self._stop_read or not events & select.POLLIN:
                    return
                try:
                    self._next(self._listener)
                except BaseException as error:  # noqa: BLE001  # otherwise the process would wait for ever
                    self.failure = error
                    self._kill()

    def _next(self, listener: int) -> None:
        notification = receive(listener)
        if notification is None or self.killed_before is not None:
            return
        call = read_call(self._names[notification.number], notification)
        if call is None or not (call.name == "sync" or call.about(self._folder)):
            go_on(listener, notification)
            return
        self.count += call.changes
        match self._react(call):
            case Go():
                go_on(listener, notification)
            case Refuse(error):
                refuse(listener, notification, error)
            case Kill(part):
                self.killed_before = call
                if part and call.name in {"write", "pwrite64"} and call.size is not None and call.size > 1:
                    call.write_part(max(1, min(call.size - 1, int(call.size * part))))
                self._kill()

    def _kill(self) -> None:
        try:
            os.kill(self._process, signal.SIGKILL)
        except ProcessLookupError:
            return


def kill_at(number: int, part: float = 0.0) -> React:
    """Kill the process before its n-th change (1 is the first), after ``part`` of its bytes if it is a write."""
    left = number

    def react(call: FileCall) -> Decision:
        nonlocal left
        left -= call.changes
        return Kill(part) if left <= 0 else GO

    return react
