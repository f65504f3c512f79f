"""A listening socket with one thread per connection, which can be stopped at any moment."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
import time
from collections.abc import Callable

from mockserver.connection import Connection
from mockserver.door import Door
from mockserver.faults.welcome import Welcome

_STOP_WITHIN = 5.0
_LOOK_AGAIN = 0.02

Served = tuple[threading.Thread, Connection]


class Listener:
    """Accepts connections and serves each in a thread of its own.

    ``admit`` is called for each connection in order of acceptance, with the faults that it met at the door, and answers with
    what its thread is to run. The listener closes the connection afterwards. ``welcome`` says how the next connection is met.
    """

    def __init__(
        self,
        admit: Callable[[Connection, tuple[str, ...]], Callable[[], None]],
        welcome: Callable[[], Welcome],
        *,
        host: str,
        port: int,
        allow_remote: bool,
        name: str,
    ) -> None:
        self._admit = admit
        self._welcome = welcome
        self._name = name
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._served: list[Served] = []
        self._reap_at = 64
        self._door = Door(host, port, allow_remote=allow_remote)
        self.address = self._door.address
        self._look_again, self._news = os.pipe()
        for end in (self._look_again, self._news):
            os.set_blocking(end, False)
        self._settled = threading.Condition()
        self._asked = self._done = 0
        self._acceptor = threading.Thread(target=self._accept, name=f"{name}-accept", daemon=True)
        self._acceptor.start()

    def reconsider(self) -> None:
        """Ask for the welcome of the next connection again, and wait until the port is as it says."""
        with self._settled:
            self._asked += 1
            mine = self._asked
            self._wake()
            self._settled.wait_for(lambda: self._done >= mine, _STOP_WITHIN)

    def stop(self) -> list[Served]:
        """Close the port, end every connection and join every thread.

        Returns:
            The calling thread and its connection, where a connection's own thread stops the listener: it goes on.

        Raises:
            RuntimeError: a thread does not end, which is a defect of the mock.
        """
        self._stopping.set()
        self._wake()
        self._acceptor.join(_STOP_WITHIN)
        with self._lock:
            mine = [pair for pair in self._served if pair[0] is threading.current_thread()]
            served = [pair for pair in self._served if pair[0] is not threading.current_thread()]
            self._served = []
        for _, connection in served:
            connection.abort()
        deadline = time.monotonic() + _STOP_WITHIN
        for thread, _ in served:
            thread.join(max(0.0, deadline - time.monotonic()))
        stuck = [thread.name for thread in (self._acceptor, *(thread for thread, _ in served)) if thread.is_alive()]
        if stuck:
            raise RuntimeError(f"these threads of a mock server did not end within {_STOP_WITHIN} s: {', '.join(stuck)}")
        for end in (self._look_again, self._news):
            os.close(end)
        return mine

    def adopt(self, served: list[Served]) -> None:
        """Join the threads of connections that another listener accepted when this one stops."""
        with self._lock:
            self._served.extend(served)

    def _accept(self) -> None:
        try:
            while not self._stopping.is_set():
                asked = self._asked
                welcome = self._prepare()
                self._settle(asked)
                if self._arrives() and not self._news_within(welcome.wait):
                    self._take(welcome.faults)
        finally:
            self._door.close()
            self._settle(self._asked)

    def _prepare(self) -> Welcome:
        """Bring the port into the state in which the next connection meets it."""
        welcome = self._welcome()
        self._door.become(welcome.door)
        return welcome

    def _settle(self, asked: int) -> None:
        if asked > self._done:
            with self._settled:
                self._done = asked
                self._settled.notify_all()

    def _arrives(self) -> bool:
        """Wait for a connection; False where there is news instead."""
        waiting = select.poll()
        waiting.register(self._look_again, select.POLLIN)
        if self._door.is_open:
            waiting.register(self._door.fileno(), select.POLLIN)
        ready = {descriptor for descriptor, _ in waiting.poll()}
        return not (self._look_again in ready and self._is_news())

    def _news_within(self, seconds: float) -> bool:
        if not seconds:
            return False
        waiting = select.poll()
        waiting.register(self._look_again, select.POLLIN)
        return bool(waiting.poll(seconds * 1000)) and self._is_news()

    def _is_news(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            os.read(self._look_again, 4096)
        return True

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):  # full of news already
            os.write(self._news, b"!")

    def _take(self, faults: tuple[str, ...]) -> None:
        try:
            sock, address = self._door.accept()
        except BlockingIOError:
            return  # the peer went away meanwhile
        except OSError:
            self._stopping.wait(_LOOK_AGAIN)  # out of descriptors, most likely; the peer waits in the backlog meanwhile
            return
        self._begin(sock, f"{address[0]}:{address[1]}", faults)

    def _begin(self, sock: socket.socket, peer: str, faults: tuple[str, ...]) -> None:
        connection = Connection(sock, peer, self._stopping)
        with self._lock:
            if self._stopping.is_set():
                connection.close()
                return
            if len(self._served) >= self._reap_at:
                self._served = [pair for pair in self._served if pair[0].is_alive()]
                self._reap_at = max(64, 2 * len(self._served))
            serve = self._admit(connection, faults)
            self._prepare()  # before this connection can tell anybody that it was accepted
            thread = threading.Thread(target=_run, args=(serve, connection), name=f"{self._name}-{peer}", daemon=True)
            thread.start()
            self._served.append((thread, connection))


def _run(serve: Callable[[], None], connection: Connection) -> None:
    try:
        serve()
    finally:
        connection.close()
