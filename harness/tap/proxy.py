"""A TCP proxy that changes nothing: bytes pass in order and at once, ends, resets and slow readers are passed on.

One thread serves all connections. Of each direction at most one segment is held: while its reader does not take it, nothing
more is read, so that the writer feels the reader's pace. Whoever listens gets each event after it was passed on.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import resource
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from harness.tap.address import Address
from harness.tap.event import Deed, Event, Side
from harness.usage import UsageError

_BACKLOG: Final = 1024
_SMALLEST_READ: Final = 16 << 10
_LARGEST_READ: Final = 256 << 10
"""Bytes of one read, and so of what is held of one direction."""
_ACCEPTED_AT_ONCE: Final = 64
_RETRY: Final = 1.0
"""Seconds after which it is tried again whether connections can be accepted, although none of ours has ended."""
_RESET: Final = struct.pack("ii", 1, 0)
_READ: Final = select.EPOLLIN
_WRITE: Final = select.EPOLLOUT
_GONE: Final = select.EPOLLERR | select.EPOLLHUP

Sink = Callable[[Event], None]


class _End:
    """One of the two sockets of a connection."""

    __slots__ = ("ended", "interest", "other", "pair", "read_size", "registered", "rest", "side", "socket")

    def __init__(self, side: Side, sock: socket.socket, pair: _Pair) -> None:
        self.side: Side = side
        self.socket = sock
        self.pair = pair
        self.other: _End = self
        self.rest: memoryview | None = None
        """Bytes that wait until this side takes them; while there are any, nothing is read from the other side."""
        self.ended = False
        """It sends no more."""
        self.interest = 0
        self.registered = False
        self.read_size = _SMALLEST_READ


@dataclass(slots=True)
class _Pair:
    number: int
    connecting: bool = True
    over: bool = False


class Proxy:
    """Passes on connections from one address to another until it is stopped."""

    def __init__(
        self, listen: Address, to: Address, sink: Sink, *, clock: Callable[[], float] = time.monotonic, backlog: int = _BACKLOG
    ) -> None:
        """Begin to listen.

        Raises:
            UsageError: a host has no address.
            OSError: the port is in use or may not be used.
        """
        self._sink = sink
        self._clock = clock
        self._began = clock()
        self._to_family, self._to = to.resolve(what="--to")
        family, where = listen.resolve(what="--listen")
        self._poll = select.epoll()
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listener.setblocking(False)
            self._listener.bind(where)
            self._listener.listen(backlog)
            self._refuse_loop()
        except (OSError, UsageError):
            self._listener.close()
            self._poll.close()
            raise
        self._ends: dict[int, _End] = {}
        self._connections = 0
        self._accepting = False
        self._buffer = memoryview(bytearray(_LARGEST_READ))
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._wake_reader.setblocking(False)
        self._poll.register(self._wake_reader.fileno(), select.EPOLLIN)
        self._thread: threading.Thread | None = None
        self._stopping = False
        _raise_descriptor_limit()

    @property
    def address(self) -> Address:
        """Where it listens; the kernel picked the port where none was asked for."""
        host, port = self._listener.getsockname()[:2]
        return Address(str(host), int(port))

    @property
    def connections(self) -> int:
        """Connections that came so far."""
        return self._connections

    def _refuse_loop(self) -> None:
        """A tap before itself would connect to itself without end.

        Raises:
            UsageError: it would.
        """
        to, here = ipaddress.ip_address(str(self._to[0]).partition("%")[0]), ipaddress.ip_address(self.address.host)
        any_of_ours = here.is_unspecified and _is_ours(self._to_family, self._to)
        same = to == here or any_of_ours or (to.is_unspecified and here.is_loopback)
        if same and self._to[1] == self.address.port:
            raise UsageError(f"--to {self.address} is where the tap itself listens; name the server, or listen on another port")

    def elapsed(self) -> float:
        """Seconds since it began, as in its events."""
        return self._clock() - self._began

    def start(self) -> None:
        """Serve, in a thread of its own."""
        self._thread = threading.Thread(target=self._serve, name="lmconform-tap", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End all connections and stop to listen, at once."""
        self._stopping = True
        with contextlib.suppress(OSError):
            self._wake_writer.send(b"!")
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        else:
            self._close_all()

    def _serve(self) -> None:
        self._accept_again()
        try:
            while not self._stopping:
                somebody_came = False
                for descriptor, mask in self._poll.poll(None if self._accepting else _RETRY):
                    end = self._ends.get(descriptor)
                    if end is not None:
                        self._attend(end, mask)
                    elif descriptor == self._listener.fileno():
                        somebody_came = True
                # Last, because a new socket may have the number of one that was closed a moment ago.
                if somebody_came:
                    self._accept()
                elif not self._accepting:
                    self._accept_again()
        finally:
            self._close_all()

    def _close_all(self) -> None:
        for end in list(self._ends.values()):
            end.socket.close()
        self._ends.clear()
        for sock in (self._listener, self._wake_reader, self._wake_writer):
            sock.close()
        self._poll.close()

    # -- beginnings

    def _accept_again(self) -> None:
        if not self._accepting:
            self._poll.register(self._listener.fileno(), select.EPOLLIN)
            self._accepting = True

    def _accept(self) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                sock, address = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}:
                    # Who waits in the queue is accepted when another connection ends.
                    self._poll.unregister(self._listener.fileno())
                    self._accepting = False
                    self._tell(0, "client", "error", text=f"no more connections can be accepted: {error.strerror}")
                    return
                continue  # the client is gone already
            self._connections += 1
            self._open(sock, f"{address[0]}:{address[1]}")

    def _open(self, sock: socket.socket, peer: str) -> None:
        pair = _Pair(self._connections)
        self._tell(pair.number, "client", "open", text=peer)
        try:
            onward = socket.socket(self._to_family, socket.SOCK_STREAM)
        except OSError as error:
            self._tell(pair.number, "server", "error", text=f"no socket for the way to the server: {error.strerror}")
            _reset(sock)
            return
        client, server = _End("client", sock, pair), _End("server", onward, pair)
        client.other, server.other = server, client
        for end in (client, server):
            end.socket.setblocking(False)
            end.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._ends[end.socket.fileno()] = end
        code = onward.connect_ex(self._to)
        if code not in {0, errno.EINPROGRESS}:
            self._refuse(server, code)
            return
        self._want(client, 0)
        self._want(server, _WRITE)

    def _connected(self, server: _End) -> None:
        code = server.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self._refuse(server, code)
            return
        server.pair.connecting = False
        self._tell(server.pair.number, "server", "open", text=f"{self._to[0]}:{self._to[1]}")
        self._want(server, _READ)
        self._want(server.other, _READ)

    def _refuse(self, server: _End, code: int) -> None:
        """The nearest to the server's refusal that is left: the client's connection stands already, so it is reset."""
        self._tell(server.pair.number, "server", "error", text=f"the server is not reachable: {os.strerror(code)}")
        self._drop(server.pair, server, reset=True)

    # -- in between

    def _attend(self, end: _End, mask: int) -> None:
        if end.pair.connecting:
            if end.side == "server":
                self._connected(end)
            elif mask & _GONE:
                self._lost(end)
            return
        if mask & _WRITE and end.rest is not None:
            self._flush(end)
        if end.pair.over:
            return
        if mask & _READ and end.interest & _READ:
            self._read(end)
        elif mask & _GONE:
            if mask & select.EPOLLERR:
                self._lost(end)
            elif not end.interest & _READ:
                # Both streams of this socket have ended, and what it sent last waits for the other side: nothing to poll for.
                self._unregister(end)

    def _read(self, end: _End) -> None:
        try:
            count = end.socket.recv_into(self._buffer, end.read_size)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._lost(end, error)
            return
        if not count:
            self._end_of_stream(end)
            return
        data = bytes(self._buffer[:count])
        if count == end.read_size:
            end.read_size = min(2 * count, _LARGEST_READ)
        elif count < end.read_size // 4:
            end.read_size = max(_SMALLEST_READ, end.read_size // 2)
        lost = self._pass_on(end.other, data)
        self._tell(end.pair.number, end.side, "data", data)
        if lost is not None:
            self._lost(end.other, lost)

    def _pass_on(self, to: _End, data: bytes) -> OSError | None:
        try:
            sent = to.socket.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError as error:
            return error
        if sent < len(data):
            to.rest = memoryview(data)[sent:]
            self._want(to, to.interest | _WRITE)
            self._want(to.other, to.other.interest & ~_READ)
        return None

    def _flush(self, to: _End) -> None:
        assert to.rest is not None
        try:
            sent = to.socket.send(to.rest)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._lost(to, error)
            return
        if sent < len(to.rest):
            to.rest = to.rest[sent:]
            return
        to.rest = None
        self._want(to, to.interest & ~_WRITE)
        if to.other.ended:
            self._shut(to)
        else:
            self._want(to.other, to.other.interest | _READ)

    # -- ends

    def _end_of_stream(self, end: _End) -> None:
        end.ended = True
        self._want(end, end.interest & ~_READ)
        self._tell(end.pair.number, end.side, "close" if end.other.ended else "half-close")
        if end.other.rest is None:
            self._shut(end.other)

    def _shut(self, to: _End) -> None:
        """Pass on the end of the stream, behind its last byte."""
        try:
            to.socket.shutdown(socket.SHUT_WR)
        except OSError as error:
            self._lost(to, error)
            return
        if to.ended and to.other.ended and to.rest is None and to.other.rest is None:
            self._drop(to.pair, to, reset=False)

    def _lost(self, end: _End, error: OSError | None = None) -> None:
        """One side is gone: the other is told in the same way."""
        code = error.errno if error is not None and error.errno else end.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code in {0, errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN}:
            self._tell(end.pair.number, end.side, "reset")
        else:
            self._tell(end.pair.number, end.side, "error", text=os.strerror(code))
        self._drop(end.pair, end, reset=True)

    def _drop(self, pair: _Pair, end: _End, *, reset: bool) -> None:
        pair.over = True
        for one in (end, end.other):
            self._ends.pop(one.socket.fileno(), None)
            if reset:
                _reset(one.socket)
            else:
                one.socket.close()
        self._accept_again()

    def _want(self, end: _End, interest: int) -> None:
        if end.registered and interest == end.interest:
            return
        end.interest = interest
        if end.registered:
            self._poll.modify(end.socket.fileno(), interest)
        else:
            self._poll.register(end.socket.fileno(), interest)
            end.registered = True

    def _unregister(self, end: _End) -> None:
        self._poll.unregister(end.socket.fileno())
        end.registered = False

    def _tell(self, number: int, side: Side, do: Deed, data: bytes = b"", *, text: str = "") -> None:
        self._sink(Event(self._clock() - self._began, number, side, do, data, text=text))


def _reset(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    sock.close()


def _is_ours(family: socket.AddressFamily, where: tuple[str | int, ...]) -> bool:
    """Whether an address is one of this machine."""
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        try:
            sock.bind((where[0], 0, *where[2:]))
        except OSError:
            return False
    return True


def _raise_descriptor_limit() -> None:
    """Two descriptors a connection: as many as the system lets us have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
