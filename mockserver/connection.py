"""One accepted connection: exact reads, sends, waits, and three ways to end it."""

from __future__ import annotations

import select
import socket
import struct
import threading
import time
from collections.abc import Callable

from mockserver.buffers import MAPPED_FROM, Buffer, writable
from mockserver.endings import ConnectionEndedError, Ending
from mockserver.peer import PeerWatch
from mockserver.records import Moved
from mockserver.tape import Tape

_DISCARD_SIZE = 64 << 10
_WAIT_FOR_ALL_FROM = 64 << 10
"""Smaller payloads come in one segment, most of the time; for larger ones the kernel gathers what comes."""
_TELL_WITHIN = struct.pack("@ll", 0, 50_000)
"""Seconds and microseconds: so long the kernel gathers before it hands over what has come of a payload."""
_FOREVER = struct.pack("@ll", 0, 0)
_ENDS_ITS_STREAM = getattr(select, "POLLRDHUP", 0)
_LOOK_AGAIN_MS = 20
_PROBES = (("TCP_KEEPIDLE", 1), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
"""Probes of a peer that cannot be looked at, in seconds; a machine answers with a reset once nothing is left of the socket."""
_STRIDE = 16 << 20
"""Large payloads are received in strides of which the kernel fills each in one call."""


class Connection:
    """A socket in the hands of one thread, which another thread may abort at any time.

    Every method but :meth:`abort` belongs to the serving thread. Methods that move bytes raise ``ConnectionEndedError`` when
    the peer resets the connection or the server stops.
    """

    def __init__(self, sock: socket.socket, peer: str, stopping: threading.Event) -> None:
        self.peer = peer
        self.socket = sock
        self._stopping = stopping
        self._closing = threading.Lock()
        # The real server leaves this off, which costs a small GET some 40 ms; the bytes are the same either way.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.moved: Moved = []
        """What crossed the wire since :meth:`new_segments`; of a payload, one entry may stand for many packets."""
        self.bytes_sent = 0
        """All that was sent so far."""
        self._speaks = True
        self._resets = False
        self._tape: Tape | None = None
        self._place = 0
        """Its number on the tape."""

    def record(self, tape: Tape | None, note: str = "") -> None:
        """Note on a tape from now on what crosses the wire."""
        if tape is not None:
            self._tape, self._place = tape, tape.open(note)

    def record_end(self, ending: Ending) -> None:
        """Note on it how the connection ends."""
        if self._tape is not None:
            self._tape.ended(self._place, ending, by_reset=self._resets)

    def read_whole(self, buffer: memoryview) -> bytes | None:
        """So many bytes as the buffer has, of which those that came are left in it where the peer sent its last byte before.

        Returns:
            The bytes, or None where they are not whole.
        """
        size = len(buffer)
        try:
            data = self.socket.recv(size)
        except OSError as error:
            raise self._ended(error) from None
        got = len(data)
        if got == size and self._tape is None:
            self.moved += (time.monotonic(), size)
            return data
        buffer[:got] = data
        if got:
            self._received(data)
        return bytes(buffer) if self.read_into(buffer[got:]) == size - got else None

    def read_payload(self, size: int, tell: Callable[[], None]) -> tuple[Buffer, int]:
        """Read a payload into memory of its own, which nobody fills with anything else before.

        A payload that does not come at once is noted as it comes, at least every 50 ms, and ``tell`` is called each time.

        Returns:
            The memory, read-only, and how many bytes came; fewer than asked for only where the peer sent its last byte.

        Raises:
            MemoryError: the system has no memory of this size; nothing was read.
        """
        if size < _WAIT_FOR_ALL_FROM:
            return self._read_payload(size, 0, tell)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _TELL_WITHIN)
        try:
            return self._read_payload(size, socket.MSG_WAITALL, tell)
        finally:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _FOREVER)

    def _read_payload(self, size: int, flags: int, tell: Callable[[], None]) -> tuple[Buffer, int]:
        if size == 0 or size >= MAPPED_FROM or self._tape is not None:
            buffer = writable(size)
            return buffer.toreadonly(), self.read_into(buffer, tell)
        try:
            data = self.socket.recv(size, flags)
        except BlockingIOError:
            data = b""
        except MemoryError:  # before anything was read; `writable` finds some, or says how much there is none of
            data = b""
        except OSError as error:
            raise self._ended(error) from None
        if data:
            self._received(data)
        if len(data) == size:
            return data, size
        tell()
        buffer = writable(size)
        buffer[: len(data)] = data
        return buffer.toreadonly(), len(data) + self.read_into(buffer[len(data) :], tell)

    @property
    def arrived(self) -> int:
        """Bytes received since :meth:`new_segments`."""
        return int(sum(size for size in self.moved[1::2] if size > 0))

    def _received(self, data: Buffer) -> None:
        self.moved += (time.monotonic(), len(data))
        if self._tape is not None:
            self._tape.data(self._place, "client", data)

    def read_into(self, buffer: memoryview, tell: Callable[[], None] = lambda: None) -> int:
        """Fill a buffer, and call ``tell`` whenever a part of it has come.

        Returns:
            Bytes read; fewer than asked for only where the peer sent its last byte.
        """
        size = len(buffer)
        got = 0
        while got < size:
            wanted = min(size - got, _STRIDE)
            try:
                count = self.socket.recv_into(
                    buffer[got:] if got else buffer, wanted, socket.MSG_WAITALL if wanted >= _WAIT_FOR_ALL_FROM else 0
                )
            except BlockingIOError:
                continue  # nothing came for a while
            except OSError as error:
                raise self._ended(error) from None
            if count == 0:
                if self._stopping.is_set():
                    raise ConnectionEndedError(Ending("server stopped"))
                return got
            self._received(buffer[got : got + count])
            got += count
            if got < size:
                tell()
        return got

    def send(self, data: Buffer) -> None:
        """Send all of it in one go; nothing where it is empty, or after a half-close."""
        size = len(data)
        if not size or not self._speaks:
            return
        at = time.monotonic()
        if self._tape is not None:  # before the peer can have it
            self._tape.data(self._place, "server", data, at)
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise self._ended(error) from None
        self.moved += (at, -size)
        self.bytes_sent += size

    def new_segments(self) -> None:
        """Begin a new list of segments; the old one belongs to the exchange that took it."""
        self.moved = []

    def wait(self, seconds: float | None) -> None:
        """Let time pass (None: until the peer closes), less if the peer resets or the server stops.

        A peer that has ended its stream and still reads has not closed: it waits, as it would for a server that hangs.
        """
        if seconds is None:
            self._wait_for(_ENDS_ITS_STREAM, None)
            self._wait_until_closed()
        self._wait_for(0, None if seconds is None else seconds * 1000)

    def _wait_for(self, event: int, milliseconds: float | None) -> None:
        """Wait for an event of the socket; its end, or that of the server, is an error."""
        waiting = select.poll()
        waiting.register(self.socket, event)
        for _, flags in waiting.poll(milliseconds):
            if flags & (select.POLLHUP | select.POLLERR):
                raise self._ended(None)
        if self._stopping.is_set():
            raise ConnectionEndedError(Ending("server stopped"))

    def _wait_until_closed(self) -> None:
        """Wait until nobody holds the socket at the other end of an ended stream any more, which no packet tells.

        Where that end is on another machine this comes back at once, and probes meet a reset some time after the close.
        """
        with PeerWatch(self.socket) as peer:
            held = peer.is_held()
            if held is not None:  # it can be seen, until it is gone
                while held:
                    self._wait_for(0, _LOOK_AGAIN_MS)
                    held = peer.is_held()
                raise ConnectionEndedError(Ending("peer closed"))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, seconds in _PROBES:
            if option := getattr(socket, name, None):
                self.socket.setsockopt(socket.IPPROTO_TCP, option, seconds)

    def half_close(self) -> None:
        """End the stream to the peer; what it sends can still be read."""
        self._speaks = False
        if self._tape is not None:
            self._tape.did(self._place, "server", "half-close")
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError as error:
            raise self._ended(error) from None

    def reset_on_close(self) -> None:
        """Make the coming close a reset: the peer gets an error instead of an end of stream."""
        self._resets = True
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def discard_input(self) -> None:
        """Throw away what arrived unread, so that the coming close ends the stream instead of resetting it."""
        try:
            while self.socket.recv(_DISCARD_SIZE, socket.MSG_DONTWAIT):
                pass
        except OSError:
            return

    def close(self) -> None:
        """Close, as the real server does: the peer sees a reset where it sent bytes that nobody read."""
        with self._closing:
            self.socket.close()

    def abort(self) -> None:
        """From any thread: wake the serving thread out of whatever it waits for."""
        with self._closing:
            if self.socket.fileno() != -1:
                try:
                    self.socket.shutdown(socket.SHUT_RDWR)
                except OSError:
                    return

    def _ended(self, error: OSError | None) -> ConnectionEndedError:
        if self._stopping.is_set():
            return ConnectionEndedError(Ending("server stopped"))
        return ConnectionEndedError(Ending("peer reset", (error.strerror or str(error)) if error else "the peer hung up"))
