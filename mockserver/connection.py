"""One accepted connection: exact reads, sends, waits, and three ways to end it."""

from __future__ import annotations

import select
import socket
import struct
import threading
import time

from mockserver.buffers import MAPPED_FROM, Buffer, writable
from mockserver.endings import ConnectionEndedError, Ending
from mockserver.records import Moved
from mockserver.tape import Tape

_DISCARD_SIZE = 64 << 10
_WAIT_FOR_ALL_FROM = 1 << 20
_CLOSES = getattr(select, "POLLRDHUP", 0)
"""What a poll is asked for to end with the stream of the peer; without it a reset alone ends it."""
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

    def read_payload(self, size: int) -> tuple[Buffer, int]:
        """Read a payload into memory of its own, which nobody fills with anything else before.

        Returns:
            The memory, read-only, and how many bytes came; fewer than asked for only where the peer sent its last byte.
        """
        if size == 0 or size >= MAPPED_FROM or self._tape is not None:
            buffer = writable(size)
            return buffer.toreadonly(), self.read_into(buffer)
        try:
            data = self.socket.recv(size, socket.MSG_WAITALL)
        except OSError as error:
            raise self._ended(error) from None
        if data:
            self._received(data)
        if len(data) == size:
            return data, size
        buffer = writable(size)
        buffer[: len(data)] = data
        return buffer.toreadonly(), len(data) + self.read_into(buffer[len(data) :])

    @property
    def arrived(self) -> int:
        """Bytes received since :meth:`new_segments`."""
        return int(sum(size for size in self.moved[1::2] if size > 0))

    def _received(self, data: Buffer) -> None:
        self.moved += (time.monotonic(), len(data))
        if self._tape is not None:
            self._tape.data(self._place, "client", data)

    def read_into(self, buffer: memoryview) -> int:
        """Fill a buffer.

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
            except OSError as error:
                raise self._ended(error) from None
            if count == 0:
                if self._stopping.is_set():
                    raise ConnectionEndedError(Ending("server stopped"))
                return got
            self._received(buffer[got : got + count])
            got += count
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
        """Let time pass (None: until the peer closes), less if the peer resets or the server stops."""
        hung_up = select.poll()
        hung_up.register(self.socket, _CLOSES if seconds is None else 0)
        for _, flags in hung_up.poll(None if seconds is None else seconds * 1000):
            if flags & (select.POLLHUP | select.POLLERR) or self._stopping.is_set():
                raise self._ended(None)
            raise ConnectionEndedError(Ending("peer closed"))
        if self._stopping.is_set():
            raise ConnectionEndedError(Ending("server stopped"))

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
