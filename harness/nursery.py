"""Worker processes that are forked from one which has collected the cases already: milliseconds in place of seconds.

The nursery (:mod:`harness.forking`) is started once for a run and holds nothing that lives: no thread, no client, no server. It
is asked through a socket for one worker after the other, each in a session of its own, and tells how each of them ended. It is
their parent, so it reaps them, and only once this process has let go of them: until then their ids mean nobody else.

It may be started before it is known what it is to collect (:func:`begin_early`): importing takes it as long as it takes us.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from fixturegen import leash
from harness.interpreter import program

SIZE: Final = 160
"""Bytes of every message, a JSON object filled up with spaces: descriptors that travel with one never get to the next."""
DESCRIPTORS: Final = 4
"""What a worker is given: where numbers come from, where records go, what a client inside is asked, its standard error."""
GRACE: Final = 0.3
"""Seconds that a worker has to end once it was interrupted or the run is gone: records are with the run already."""
_WORDS: Final = 1500
_MOMENT: Final = 0.02
"""Seconds between two looks at a process whose parent is gone."""
_END: Final = 5.0
_GONE: Final = (BrokenPipeError, ConnectionResetError)
"""What sending to a nursery that is gone raises; anything else is a fault of this machine, and is told."""


def packed(**members: Any) -> bytes:
    """A message."""
    return json.dumps(members).encode().ljust(SIZE)


def unpacked(data: bytes) -> dict[str, Any]:
    """What it says."""
    found: dict[str, Any] = json.loads(data)
    return found


class _Program:
    """The process of a nursery, which imports what it needs and waits to be told what to collect; it ends with our end."""

    def __init__(self, grace: float) -> None:
        self.words = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the nursery
        self.socket, theirs = socket.socketpair()
        with theirs:
            self.process, self.leash = leash.start(
                program("harness.forking", [str(theirs.fileno())]),
                None,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self.words,
                pass_fds=(theirs.fileno(),),
                grace=grace,
            )


_early: Final[list[_Program]] = []
"""The process that was started for the first nursery of this program, until that takes it."""


def begin_early() -> None:
    """Start the process of the first nursery now; where it cannot be started, that is told when a nursery is wanted."""
    with contextlib.suppress(OSError):
        _early.append(_Program(GRACE))


class Nursery:
    """The process that has collected the cases, seen from the run; ``arguments`` are those of pytest.

    A worker that is left when the run has gone has ``grace`` seconds to end.
    """

    def __init__(self, arguments: Sequence[str], *, grace: float = GRACE) -> None:
        self._grace = grace
        self._children: dict[int, Child] = {}
        self._made = 0
        self._gone = False
        begun = _early.pop() if _early and grace == GRACE else _Program(grace)
        self._words, self._socket = begun.words, begun.socket
        self._process, self._leash = begun.process, begun.leash
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        told = json.dumps(list(arguments)).encode()
        with contextlib.suppress(*_GONE):
            self._socket.sendall(packed(arguments=len(told)) + told)

    def start(self, descriptors: Sequence[int]) -> Child:
        """A worker with descriptors of its own, which is there as soon as the cases are collected."""
        self._made += 1
        child = self._children[self._made] = Child(self, self._made)
        # Where the nursery is gone, so are the descriptors, which is how a worker shows that it has ended.
        with contextlib.suppress(*_GONE):
            socket.send_fds(self._socket, [packed(start=self._made, mark=child.leash.mark)], list(descriptors))
        return child

    def interrupt(self) -> None:
        """Let it stop what it does, which may be collecting."""
        self._process.send_signal(signal.SIGINT)

    @property
    def gone(self) -> bool:
        """Whether it tells nothing any more."""
        return self._gone

    def listen(self, seconds: float) -> bool:
        """Take a message; False where none comes in time, or none any more.

        A message is looked at, taken, and only then removed, so that an interrupt in between loses none; one may be taken twice.
        What takes a message must not listen again.
        """
        if self._gone or not self._poll.poll(1000 * max(0.0, seconds)):
            return False
        try:
            data = self._socket.recv(SIZE, socket.MSG_PEEK | socket.MSG_WAITALL)
        except ConnectionResetError:
            data = b""
        if len(data) < SIZE:
            self._gone = True
            return False
        self._take(unpacked(data))
        self._socket.recv(SIZE)
        return True

    def reap(self, number: int) -> None:
        """Let go of a worker that has ended."""
        with contextlib.suppress(*_GONE):
            self._socket.sendall(packed(reap=number))

    def wait(self, timeout: float) -> int:
        """How the nursery itself ended, as :meth:`subprocess.Popen.wait`."""
        return self._process.wait(timeout)

    def last_words(self) -> str:
        """What it wrote to standard error; where that is long, how it begins and ends."""
        return read_words(self._words.fileno())

    def kill(self) -> None:
        """End it now, and with it every worker that is not there yet."""
        self._leash.kill()

    def close(self) -> None:
        """End it; all workers have ended before."""
        self._leash.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END)
        self._leash.let_go()
        self._gone = True
        self._socket.close()
        self._words.close()

    def _take(self, told: dict[str, Any]) -> None:
        match told:
            case {"born": number, "pid": pid}:
                self._children[number].born(pid, self._grace)
            case {"ended": number, "status": status}:
                self._children[number].ended(status)
            case _:
                raise AssertionError(told)


class Child:
    """A worker, as much of ``subprocess.Popen`` as is needed."""

    def __init__(self, nursery: Nursery, number: int) -> None:
        self.leash = leash.Leash()
        self._nursery = nursery
        self._number = number
        self._pid: int | None = None
        self._status: int | None = None
        self._unseen = False
        self._interrupted = False

    @property
    def pid(self) -> int:
        """Its process id.

        Raises:
            ProcessLookupError: it is not there yet, or was never.
        """
        if self._pid is None:
            raise ProcessLookupError("the worker is not there")
        return self._pid

    def know(self) -> None:
        """Wait until its process id is known, and with that held on the leash; it tells that before anything else."""
        while self._pid is None and self._status is None and not self._nursery.gone:
            self._nursery.listen(_END)

    def born(self, pid: int, grace: float) -> None:
        """It is there, and leads a session."""
        if self._pid is not None:
            return
        self.leash.hold(pid, grace=grace)
        self._pid = pid
        if self._interrupted:
            self._stop()

    def ended(self, status: int) -> None:
        """It is not there any more, as its parent saw."""
        self._status = status

    def interrupt(self) -> None:
        """Let it stop what it does, or never begin."""
        self._interrupted = True
        while self._nursery.listen(0.0):
            pass
        if self._pid is None:
            self._nursery.interrupt()
        else:
            self._stop()

    def _stop(self) -> None:
        if self._pid is not None and self._status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGINT)

    def kill(self) -> None:
        """End it and what runs in its session now; where it is not there yet, the nursery, so that it never will be."""
        if self._pid is None:
            self._nursery.kill()
        else:
            self.leash.kill()

    def poll(self) -> int | None:
        """Its exit status if it has ended, negative for a signal."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0.0)
        return self._status

    def wait(self, timeout: float) -> int | None:
        """Its exit status, negative for a signal; that of the nursery if it was never there; None where nobody saw its end.

        Raises:
            subprocess.TimeoutExpired: it does not end in time.
        """
        until = time.monotonic() + timeout
        while self._status is None and not self._unseen:
            left = max(0.0, until - time.monotonic())
            if self._nursery.listen(left):
                continue
            if self._nursery.gone and self._pid is None:
                self._status = self._nursery.wait(left)
            elif self._nursery.gone and self._pid is not None and not _runs(self._pid):
                self._unseen = True
            elif not left:
                raise subprocess.TimeoutExpired("worker", timeout)
            elif self._nursery.gone:
                time.sleep(_MOMENT)
        return self._status

    def end_now(self, seconds: float) -> int | None:
        """Kill it and what runs in its session; its exit status, or None where nobody saw its end within some seconds."""
        self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(seconds)
        return self._status

    def let_go(self) -> None:
        """It has ended, and nobody asks about it again."""
        self.leash.let_go()
        self._nursery.reap(self._number)

    def was_there(self) -> bool:
        """Whether it began at all."""
        return self._pid is not None


def read_words(descriptor: int) -> str:
    """What a file of standard error holds; where that is long, how it begins and ends."""
    size = os.fstat(descriptor).st_size
    words = os.pread(descriptor, size, 0).decode(errors="backslashreplace").strip()
    return words if len(words) <= 2 * _WORDS else f"{words[:_WORDS]}\n...\n{words[-_WORDS:]}"


def _runs(pid: int) -> bool:
    """Whether a process whose parent is gone still runs; a dead one stays as a zombie where process 1 reaps nobody."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # the id is somebody else's by now
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1] not in b"ZX"
    except OSError:  # gone by now, or a system without /proc
        return not Path("/proc/self").exists()
