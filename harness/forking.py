"""The program of a nursery: it collects the cases once, and then forks a worker from itself whenever it is asked for one.

Started by :mod:`harness.nursery` with a socket. ``{"arguments": LENGTH}`` comes first, and as many bytes of JSON: what pytest is
called with. ``{"start": NUMBER, "mark": MARK}`` comes with the descriptors of a worker, and ``{"reap": NUMBER}`` once nobody
asks about it any more; ``{"born": NUMBER, "pid": PID}`` goes from the worker, once it leads a session, and
``{"ended": NUMBER, "status": STATUS}`` from its parent.

No thread of Python runs when it forks, so that no worker inherits a lock that nobody will release. Threads of native code are not
looked at; those of OpenBLAS, which the wheels of numpy bring, end by themselves before a fork. What was collected is set apart
from the garbage collector, which would otherwise write to each object, and with that copy the memory that all workers share.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import selectors
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from typing import Final, NoReturn

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key

from fixturegen.leash import MARK
from harness.bare_pytest import bare_pytest
from harness.clients import blackbox
from harness.interruption import leave
from harness.nursery import DESCRIPTORS, SIZE, packed, unpacked
from harness.plugin import matrix_of
from harness.worker import Worker, ids_hash

_STANDARD_ERROR: Final = 2


class ThreadsError(Exception):
    """Something that cases import left a thread running, which a fork would cut off in the middle of what it does."""


def main(words: Sequence[str]) -> NoReturn:
    """The program: a socket, which says what to collect; a worker comes to the end as well, when its work is done.

    Nothing is taken apart: each worker would copy most of the memory that it shares with the others, to give it back.
    """
    channel = socket.socket(fileno=int(words[0]))
    channel.set_inheritable(False)
    arguments = _told(channel)
    leave(bare_pytest(arguments, Forking(channel)) if arguments is not None else 0)


def _told(channel: socket.socket) -> Sequence[str] | None:
    """The arguments of pytest; None where the run ended before it had any."""
    data = channel.recv(SIZE, socket.MSG_WAITALL)
    if len(data) < SIZE:
        return None
    length = unpacked(data)["arguments"]
    told = channel.recv(length, socket.MSG_WAITALL)
    return json.loads(told) if len(told) == length else None


class Forking:
    """The plugin that takes the place of pytest's own loop over all cases."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._children: dict[int, int] = {}
        """Process ids by number, of those that were not reaped."""
        self._told: set[int] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Say whose process this is."""
        matrix_of(session.config).attended = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Fork workers until nobody wants more; each of them goes on here, and executes what it is asked for."""
        found = {"cases": len(session.items), "ids": ids_hash(session.items)}
        gc.collect()
        gc.freeze()
        descriptors = self._serve()
        if descriptors is not None:
            numbers, records, doing, _ = descriptors
            _take_standard_error(session.config, descriptors[3])
            blackbox.write_to(doing)
            worker = Worker(numbers, records)
            session.config.pluginmanager.register(worker)
            worker.execute(session, found)
        return True

    def _serve(self) -> Sequence[int] | None:
        """Answer until the other end is gone; in a worker, the descriptors that it was given."""
        with contextlib.closing(selectors.DefaultSelector()) as selector, _ends_of_children() as ends:
            selector.register(self._channel, selectors.EVENT_READ)
            selector.register(ends, selectors.EVENT_READ)
            while True:
                ready = {key.fd for key, _ in selector.select()}
                if ends in ready:
                    os.read(ends, 1 << 10)
                    self._look_after_children()
                if self._channel.fileno() not in ready:
                    continue
                data, descriptors, _, _ = socket.recv_fds(self._channel, SIZE, DESCRIPTORS)
                while data and len(data) < SIZE:
                    more = self._channel.recv(SIZE - len(data))
                    data = data + more if more else b""
                if not data:
                    return None
                match unpacked(data):
                    case {"start": number, "mark": mark}:
                        if self._fork(number, mark, descriptors):
                            return descriptors
                    case {"reap": number}:
                        self._reap(number)

    def _fork(self, number: int, mark: str, descriptors: Sequence[int]) -> bool:
        """Make a worker; whether this is it."""
        threads = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
        if threads:
            raise ThreadsError(f"collecting the cases left threads running: {', '.join(threads)}")
        pid = os.fork()
        if pid:
            self._children[number] = pid
            for descriptor in descriptors:
                os.close(descriptor)
            return False
        os.setsid()
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        # What it starts carries its own mark. What it forks without an exec has that of the nursery, and ends with that.
        os.environ[MARK] = mark
        self._channel.sendall(packed(born=number, pid=os.getpid()))
        self._channel.close()
        return True

    def _look_after_children(self) -> None:
        """Tell of children that have ended, but leave them there."""
        for number, pid in self._children.items():
            if number in self._told:
                continue
            ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is not None:
                self._told.add(number)
                status = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
                self._channel.sendall(packed(ended=number, status=status))

    def _reap(self, number: int) -> None:
        pid = self._children.pop(number, None)
        if pid is not None:
            os.waitpid(pid, 0)


@contextlib.contextmanager
def _ends_of_children() -> Iterator[int]:
    """A descriptor that can be read whenever a child may have ended."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    before = signal.signal(signal.SIGCHLD, lambda *_: None)
    awake = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield reading
    finally:
        signal.set_wakeup_fd(awake)
        signal.signal(signal.SIGCHLD, before)
        os.close(reading)
        os.close(writing)


def _take_standard_error(config: pytest.Config, descriptor: int) -> None:
    """Give a worker its own: for what is written outside of cases, for a crash, and for what pytest sets aside during cases."""
    os.dup2(descriptor, _STANDARD_ERROR)
    os.dup2(descriptor, config.stash[fault_handler_stderr_fd_key], inheritable=False)
    os.close(descriptor)
    manager = config.pluginmanager.getplugin("capturemanager")
    assert manager is not None
    manager.stop_global_capturing()
    manager.start_global_capturing()
    manager.suspend_global_capture(in_=False)
