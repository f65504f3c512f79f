"""What the kernel knows about the other end of a connection: has it got the bytes, has it read them."""

from __future__ import annotations

import fcntl
import socket
import struct
import termios
from types import TracebackType
from typing import Self

_SOCK_DIAG = 4
_DIAG_BY_FAMILY = 20
_REQUEST = 1
_ROW_BEFORE_QUEUES = 16 + 4 + 48 + 4
"""Netlink header, four bytes of state, the socket's identity, its expiry: the receive queue follows."""
_ROW = _ROW_BEFORE_QUEUES + 4 * 4
"""Both queues, owner and inode end the row; attributes follow."""
_TCP_INFO = 2
_BYTES_RECEIVED = 128
"""Offset of ``tcpi_bytes_received`` in the kernel's ``tcp_info``."""


def undelivered(sock: socket.socket) -> int:
    """Bytes that were sent and that the kernel of the peer has not acknowledged (``SIOCOUTQ``)."""
    answer = fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, bytes(4))
    (waiting,) = struct.unpack("=i", answer)
    return int(waiting)


class PeerWatch:
    """Looks at the receive queue of a peer on this machine, through the kernel's ``sock_diag``.

    A peer elsewhere (another machine, another network namespace) cannot be looked at; ``unread`` is None then.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._diag: socket.socket | None = None
        try:
            self._question = _question(sock)
            self._diag = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG)
            self._diag.settimeout(1.0)
        except (OSError, AttributeError):
            self.close()

    def unread(self) -> int | None:
        """Bytes that arrived at the peer and that it has not read; None where that cannot be known."""
        answer = self._ask()
        if answer is None:
            return None
        (waiting,) = struct.unpack_from("=I", answer, _ROW_BEFORE_QUEUES)
        return int(waiting)

    def is_held(self) -> bool | None:
        """Whether a program still holds the peer's socket: one that closed has no inode; None if unknowable."""
        answer = self._ask()
        if answer is None:
            return None
        (inode,) = struct.unpack_from("=I", answer, _ROW - 4)
        return bool(inode)

    def has_read(self, total: int) -> bool | None:
        """Whether the peer got so many bytes since the connection began and has read all that it got; None if unknowable.

        This does not wait for an acknowledgement, which a kernel may hold back for 40 ms.
        """
        answer = self._ask()
        received = None if answer is None else _bytes_received(answer)
        if answer is None or received is None:
            return None
        (waiting,) = struct.unpack_from("=I", answer, _ROW_BEFORE_QUEUES)
        return received >= total and waiting == 0

    def _ask(self) -> bytes | None:
        if self._diag is None:
            return None
        try:
            self._diag.send(self._question)
            answer = self._diag.recv(4096)
        except OSError:
            return None
        if len(answer) < _ROW or struct.unpack_from("=H", answer, 4) != (_DIAG_BY_FAMILY,):
            return None
        return answer

    def close(self) -> None:
        """Give the descriptor back."""
        if self._diag is not None:
            self._diag.close()
            self._diag = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _question(sock: socket.socket) -> bytes:
    """A request for the row of the peer's socket: its local address is our remote one."""
    (theirs, their_port), (ours, our_port) = sock.getpeername()[:2], sock.getsockname()[:2]
    ends = struct.pack("!HH", their_port, our_port)
    addresses = b"".join(socket.inet_pton(sock.family, host).ljust(16, b"\0") for host in (theirs, ours))
    any_interface_any_cookie = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
    every_state = 0xFFFFFFFF
    row = (
        struct.pack("=BBBBI", sock.family, socket.IPPROTO_TCP, 1 << (_TCP_INFO - 1), 0, every_state)
        + ends
        + addresses
        + any_interface_any_cookie
    )
    return struct.pack("=IHHII", 16 + len(row), _DIAG_BY_FAMILY, _REQUEST, 1, 0) + row


def _bytes_received(answer: bytes) -> int | None:
    """``tcpi_bytes_received`` of the row's ``tcp_info``, or None where the kernel does not tell."""
    at = _ROW
    while at + 4 <= len(answer):
        length, kind = struct.unpack_from("=HH", answer, at)
        if length < 4:
            return None
        if kind == _TCP_INFO and length >= 4 + _BYTES_RECEIVED + 8:
            (received,) = struct.unpack_from("=Q", answer, at + 4 + _BYTES_RECEIVED)
            return int(received)
        at += (length + 3) & ~3
    return None
