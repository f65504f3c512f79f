"""Defects in what is given back: descriptors, threads and memory that a client keeps when it no longer needs them."""

from __future__ import annotations

import os
import socket
import threading
from typing import Any, ClassVar

from harness.mutants.mutant import mutant
from harness.reference.lm import LmConnection, ReferenceClient

Answer = dict[str, Any]


@mutant(
    "descriptor-kept-when-closed",
    stands_for="dup() or makefile() of a socket, for reading here and writing there, of which only one is closed.",
    found_by=("lm.state.closed-connections-leave-no-descriptor",),
)
class KeepsDescriptors(ReferenceClient):
    """Forgets to close the second descriptor of each socket."""

    def close(self, *, connection: str, **members: Any) -> Answer:
        """Close one of the two."""
        link = self._connections.get(connection)
        if link is not None and link._socket is not None:  # noqa: SLF001  # the defect is in there
            os.dup(link._socket.fileno())  # noqa: SLF001
            link._socket.shutdown(socket.SHUT_RDWR)  # noqa: SLF001
        return super().close(connection=connection, **members)


class _SetsAside(LmConnection):
    broken: ClassVar[list[socket.socket]] = []

    def _drop(self) -> None:
        if self._socket is not None and not self._for_good:
            self.broken.append(self._socket)
            self._socket = None
        super()._drop()


@mutant(
    "descriptor-kept-when-broken",
    stands_for="an error path that forgets the socket instead of closing it; until the next collection, or for ever in C++.",
    found_by=("lm.state.failed-connections-leave-no-descriptor",),
)
class KeepsWhatBroke(ReferenceClient):
    """Sets sockets aside when they broke, and never closes them."""

    connection_class = _SetsAside


@mutant(
    "thread-kept-when-closed",
    stands_for="a thread for each connection that waits on a queue which nobody closes.",
    found_by=("lm.state.closed-connections-leave-no-thread",),
)
class KeepsThreads(ReferenceClient):
    """Starts a thread for each connection, which waits for ever."""

    def connect(self, **members: Any) -> Answer:
        """Connect, and leave a thread behind."""
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        return super().connect(**members)


@mutant(
    "values-kept-when-loaded",
    stands_for="a list of pending buffers that is appended to and never emptied.",
    found_by=("lm.state.loaded-values-are-not-kept",),
)
class KeepsValues(ReferenceClient):
    """Keeps a copy of everything that it loads."""

    def __init__(self) -> None:
        super().__init__()
        self._loaded: list[bytearray] = []

    def get(self, **members: Any) -> Answer:
        """The value, and one more of it."""
        answer = super().get(**members)
        self._loaded.append(bytearray(answer["payload"]))
        return answer


@mutant(
    "connections-kept-at-the-end",
    stands_for="a shutdown that leaves closing to the garbage collector or to the kernel, in a process that lives on.",
    found_by=("lm.state.bye-ends-everything",),
)
class LeavesConnectionsOpen(ReferenceClient):
    """Closes nothing at its end."""

    _left: ClassVar[list[LmConnection]] = []

    def bye(self, **_: Any) -> Answer:
        """Say so, and hold on to everything."""
        self._left.extend(self._connections.values())
        return {}
