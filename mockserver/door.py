"""A port: open, with nobody listening on it, or with a full queue."""

from __future__ import annotations

import errno
import ipaddress
import select
import socket

from mockserver.faults.welcome import DoorState

_BACKLOG = 128
"""What Python's ``listen()`` asks for, and so what the real server has."""
_FILLS_WITHIN_MS = 1000


class PortInUseError(OSError):
    """Another program listens on the port."""


class RemoteHostError(ValueError):
    """A mock server was asked to listen where other machines can reach it."""


class Door:
    """A bound socket that listens, or does not; in the hands of one thread once it is made."""

    def __init__(self, host: str, port: int, *, allow_remote: bool) -> None:
        self._family, self._where = _resolve(host, port, allow_remote=allow_remote)
        self._socket = self._bound()
        self._state: DoorState = "open"
        self._filler: socket.socket | None = None
        self._filler_address: tuple[str, int] | None = None
        self._listen(_BACKLOG)
        self._where = self._socket.getsockname()

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        host, port = self._where[:2]
        return str(host), int(port)

    @property
    def is_open(self) -> bool:
        """Whether connections can be accepted."""
        return self._state == "open"

    def fileno(self) -> int:
        """The descriptor to poll for connections."""
        return self._socket.fileno()

    def become(self, state: DoorState) -> None:
        """Open, stop listening, or fill the queue."""
        if state == self._state:
            return
        self._empty()
        if state == "refusing":
            # A socket that is bound and does not listen keeps the port ours.
            self._socket.close()
            self._socket = self._bound()
        elif state == "open":
            self._listen(_BACKLOG)
        else:
            self._listen(0)
            self._fill()
        self._state = state

    def accept(self) -> tuple[socket.socket, tuple[str, int]]:
        """The next connection.

        Raises:
            BlockingIOError: there is none.
            OSError: the system is out of descriptors.
        """
        sock, address = self._socket.accept()
        if address[:2] == self._filler_address:
            sock.close()
            self._filler_address = None
            raise BlockingIOError(errno.EAGAIN, "the connection was our own")
        return sock, address

    def close(self) -> None:
        """Give the port back."""
        self._empty()
        self._socket.close()

    def _bound(self) -> socket.socket:
        sock = socket.socket(self._family, socket.SOCK_STREAM)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.setblocking(False)
            sock.bind(self._where)
        except OSError as error:
            sock.close()
            raise _port_in_use(error, self._where) from None
        return sock

    def _listen(self, backlog: int) -> None:
        try:
            self._socket.listen(backlog)
        except OSError as error:
            self._socket.close()
            raise _port_in_use(error, self._where) from None

    def _fill(self) -> None:
        """Take the one place of the queue; where a client was faster it is full already."""
        filler = socket.socket(self._family, socket.SOCK_STREAM)
        filler.setblocking(False)
        filler.connect_ex(self._where)
        connected = select.poll()
        connected.register(filler, select.POLLOUT)
        if connected.poll(_FILLS_WITHIN_MS):
            self._filler, self._filler_address = filler, filler.getsockname()[:2]
        else:
            filler.close()

    def _empty(self) -> None:
        if self._filler is not None:
            self._filler.close()
            self._filler = None


def _port_in_use(error: OSError, where: tuple[str | int, ...]) -> OSError:
    if error.errno != errno.EADDRINUSE:
        return error
    return PortInUseError(
        errno.EADDRINUSE, f"port {where[1]} of {where[0]} is in use by another program; port 0 lets the kernel pick a free one"
    )


def loopback_address(host: str, *, allow_remote: bool) -> str:
    """The numeric address of a host that nobody else reaches, unless that is allowed.

    Raises:
        RemoteHostError: other machines can reach it.
        OSError: it has no address.
    """
    _, where = _resolve(host, 0, allow_remote=allow_remote)
    return str(where[0])


def _resolve(host: str, port: int, *, allow_remote: bool) -> tuple[socket.AddressFamily, tuple[str | int, ...]]:
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
    family, _, _, _, where = found[0]
    return family, where  # type: ignore[return-value]  # no interpreter without IPv6 is supported
