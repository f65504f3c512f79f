"""A listening socket with one thread per connection, which can be stopped at any moment."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import socket
import threading
import time
from collections.abc import Callable

from mockserver.connection import Connection

_STOP_WITHIN = 5.0
_BACKLOG = 128
"""What Python's ``listen()`` asks for, and so what the real server has."""


class PortInUseError(OSError):
    """Another program listens on the port."""


class RemoteHostError(ValueError):
    """A mock server was asked to listen where other machines can reach it."""


class Listener:
    """Accepts connections and serves each in a thread of its own.

    ``admit`` is called for each connection in order of acceptance, and answers with what its thread is to run. The listener
    closes the connection afterwards.
    """

    def __init__(
        self, admit: Callable[[Connection], Callable[[], None]], *, host: str, port: int, allow_remote: bool, name: str
    ) -> None:
        self._admit = admit
        self._name = name
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._served: list[tuple[threading.Thread, Connection]] = []
        self._reap_at = 64
        self._socket = _listen(host, port, allow_remote=allow_remote)
        self.address: tuple[str, int] = self._socket.getsockname()[:2]
        self._acceptor = threading.Thread(target=self._accept, name=f"{name}-accept", daemon=True)
        self._acceptor.start()

    def stop(self) -> None:
        """Close the port, end every connection and join every thread; nothing happens where that is done already.

        Raises:
            RuntimeError: a thread does not end, which is a defect of the mock.
        """
        self._stopping.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._acceptor.join(_STOP_WITHIN)
        self._socket.close()
        with self._lock:
            served = self._served
            self._served = []
        for _, connection in served:
            connection.abort()
        deadline = time.monotonic() + _STOP_WITHIN
        for thread, _ in served:
            thread.join(max(0.0, deadline - time.monotonic()))
        stuck = [thread.name for thread in (self._acceptor, *(thread for thread, _ in served)) if thread.is_alive()]
        if stuck:
            raise RuntimeError(f"these threads of a mock server did not end within {_STOP_WITHIN} s: {', '.join(stuck)}")

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                sock, address = self._socket.accept()
            except OSError:
                self._stopping.wait(0.02)  # out of descriptors, most likely; the peer waits in the backlog meanwhile
                continue
            self._begin(sock, f"{address[0]}:{address[1]}")

    def _begin(self, sock: socket.socket, peer: str) -> None:
        connection = Connection(sock, peer, self._stopping)
        with self._lock:
            if self._stopping.is_set():
                connection.close()
                return
            if len(self._served) >= self._reap_at:
                self._served = [pair for pair in self._served if pair[0].is_alive()]
                self._reap_at = max(64, 2 * len(self._served))
            serve = self._admit(connection)
            thread = threading.Thread(target=_run, args=(serve, connection), name=f"{self._name}-{peer}", daemon=True)
            thread.start()
            self._served.append((thread, connection))


def _run(serve: Callable[[], None], connection: Connection) -> None:
    try:
        serve()
    finally:
        connection.close()


def _listen(host: str, port: int, *, allow_remote: bool) -> socket.socket:
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror as error:
        raise OSError(f"host {host!r} has no address: {error.strerror}; 127.0.0.1 always works") from None
    if not allow_remote:
        for *_, address in found:
            if not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
                raise RemoteHostError(
                    f"host {host!r} is {address[0]}, which other machines can reach; a mock server trusts whoever connects. "
                    "Use 127.0.0.1, or say allow_remote=True if you mean it"
                )
    family, kind, protocol, _, where = found[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(where)
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        if error.errno == errno.EADDRINUSE:
            raise PortInUseError(
                errno.EADDRINUSE, f"port {port} of {host} is in use by another program; port 0 lets the kernel pick a free one"
            ) from None
        raise
    return sock
