"""Defects of clients that keep what they no longer need, which shows in ``state``, and of their end."""

from __future__ import annotations

import contextlib
import mmap
import os
import socket
import threading
from collections.abc import Iterator
from typing import Any, ClassVar, Final

from harness.client import ClientError
from harness.mutants.mutant import mutant
from harness.reference.lm import LmConnection, ReferenceClient

Answer = dict[str, Any]


class _KeepsClosed(LmConnection):
    def close(self) -> None:
        _keep(self._socket)
        super().close()


@mutant(
    "descriptor-kept-after-close",
    stands_for="A client that wraps a socket in a second object, such as a stream or a poller, and closes one of the two.",
    found_by=("lm.state.closed-connections-leave-no-descriptor", "lm.concurrency.churn", "lm.concurrency.crowd"),
)
class KeepsDescriptors(ReferenceClient):
    """Keeps a second descriptor of each socket, shut down but open, when a connection is closed."""

    connection_class = _KeepsClosed

    def bye(self, **members: Any) -> Answer:
        """The process would end here."""
        return _end(super().bye(**members))


class _KeepsBroken(LmConnection):
    def _drop(self) -> None:
        if not self._for_good:
            _keep(self._socket)
        super()._drop()


@mutant(
    "descriptor-kept-after-a-broken-connection",
    stands_for="An error path that leaves before the socket is closed: descriptors run out in the week after a server restarted.",
    found_by=("lm.state.failed-connections-leave-no-descriptor",),
)
class KeepsWhatBroke(ReferenceClient):
    """Leaves the socket of a connection that broke open."""

    connection_class = _KeepsBroken

    def bye(self, **members: Any) -> Answer:
        """The process would end here."""
        return _end(super().bye(**members))


_KEPT: Final[list[int]] = []


class _KeepsAfter(LmConnection):
    """Leaves the socket open after failures of some kinds."""

    kinds: ClassVar[frozenset[str]] = frozenset()

    @contextlib.contextmanager
    def exchange(self) -> Iterator[None]:
        twin: int | None = None
        try:
            with super().exchange():
                if self._socket is not None:
                    twin = os.dup(self._socket.fileno())
                yield
        except ClientError as error:
            if twin is not None and error.kind in self.kinds:
                self._end(twin)
                twin = None
            raise
        finally:
            if twin is not None:
                os.close(twin)

    @staticmethod
    def _end(twin: int) -> None:
        """Let the peer see an end, and keep the descriptor."""
        kept = socket.socket(fileno=twin)
        with contextlib.suppress(OSError):
            kept.shutdown(socket.SHUT_RDWR)
        kept.detach()


class _KeepsLate(_KeepsAfter):
    kinds = frozenset({"timeout"})


@mutant(
    "descriptor-kept-after-a-timeout",
    stands_for="A timeout is raised by another thread than the one that owns the socket, which waits for it still.",
    found_by=("lm.state.spoiled-replies-leave-no-descriptor[*late]",),
)
class KeepsWhatWasLate(ReferenceClient):
    """Leaves the socket of a connection that timed out open."""

    connection_class = _KeepsLate


class _KeepsRefused(_KeepsAfter):
    kinds = frozenset({"refused", "protocol"})


@mutant(
    "descriptor-kept-after-a-refusal",
    stands_for="An exception of the parser passes by the handler of socket errors, in which the socket is closed.",
    found_by=("lm.state.spoiled-replies-leave-no-descriptor[*wrong]",),
)
class KeepsWhatWasRefused(ReferenceClient):
    """Leaves the socket of a connection open whose reply it refused."""

    connection_class = _KeepsRefused


def _keep(open_socket: socket.socket | None) -> None:
    if open_socket is not None:
        _KEPT.append(os.dup(open_socket.fileno()))
        with contextlib.suppress(OSError):
            open_socket.shutdown(socket.SHUT_RDWR)


def _end(answer: Answer) -> Answer:
    while _KEPT:
        os.close(_KEPT.pop())
    return answer


@mutant(
    "thread-kept-after-close",
    stands_for="A reader thread for each connection that waits on a queue nobody ends.",
    found_by=("lm.state.closed-connections-leave-no-thread", "lm.concurrency.churn", "lm.concurrency.crowd"),
)
class KeepsThreads(ReferenceClient):
    """Starts a thread for each connection that does not end with it."""

    def __init__(self) -> None:
        super().__init__()
        self._ended = threading.Event()

    def connect(self, **members: Any) -> Answer:
        """Open a connection, and start a thread."""
        answer = super().connect(**members)
        threading.Thread(target=self._ended.wait, daemon=True).start()
        return answer

    def bye(self, **members: Any) -> Answer:
        """The process would end here."""
        self._ended.set()
        return super().bye(**members)


class _StartsAThread(LmConnection):
    def _drop(self) -> None:
        if self._socket is not None and not self._for_good:
            threading.Thread(target=threading.Event().wait, daemon=True).start()
        super()._drop()


@mutant(
    "thread-kept-after-a-failure",
    stands_for="A thread that is to reconnect, started anew at each failure and not ended with its connection.",
    found_by=("lm.state.spoiled-replies-leave-no-thread*",),
)
class KeepsThreadsOfFailures(ReferenceClient):
    """Starts a thread that never ends when a connection breaks."""

    connection_class = _StartsAThread


def _copy(payload: bytes) -> mmap.mmap:
    """A copy in pages of its own: the heap of a process that ran other mutants has room, and would not grow."""
    pages = mmap.mmap(-1, max(1, len(payload)))
    pages.write(payload)
    return pages


@mutant(
    "value-kept-after-get",
    stands_for="A table of finished requests that holds each answer and is never emptied.",
    found_by=("lm.state.loaded-values-are-not-kept",),
)
class KeepsValues(ReferenceClient):
    """Keeps a copy of everything that it loads."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: list[mmap.mmap] = []

    def get(self, **members: Any) -> Answer:
        """Fetch a value."""
        answer = super().get(**members)
        self._kept.append(_copy(answer["payload"]))
        return answer


@mutant(
    "value-kept-after-put",
    stands_for="A list of values that are to be sent once more if the connection breaks, from which nothing is ever taken.",
    found_by=("lm.state.stored-values-are-not-kept",),
)
class KeepsStoredValues(ReferenceClient):
    """Keeps a copy of everything that it stores."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: list[mmap.mmap] = []

    def put(self, *, payload: bytes, **members: Any) -> Answer:
        """Store a value."""
        self._kept.append(_copy(payload))
        return super().put(payload=payload, **members)


@mutant(
    "connections-open-after-bye",
    stands_for="A client whose connections live in a table of the whole process, which no shutdown empties.",
    found_by=("lm.state.bye-ends-everything",),
)
class LeavesConnectionsOpen(ReferenceClient):
    """Closes nothing at its end."""

    left: ClassVar[list[object]] = []

    def bye(self, **_: Any) -> Answer:
        """End, and leave everything open."""
        self.left.append(dict(self._connections))
        return {}
