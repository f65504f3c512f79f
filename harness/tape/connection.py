"""A connection of our own that notes what it sends and receives."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any, Self, TypeVar

from mockserver.tape import Tape

T = TypeVar("T")


class TapedSocket(socket.socket):
    """A socket that notes each segment on a tape."""

    _tape: Tape
    _place: int
    _over: bool
    _resets: bool

    @classmethod
    def of(cls, connection: socket.socket, tape: Tape) -> Self:
        """The same connection, noted from now on; the one given is of no more use."""
        timeout = connection.gettimeout()
        made = cls(connection.family, connection.type, connection.proto, fileno=connection.detach())
        made.settimeout(timeout)
        made._tape, made._place, made._over, made._resets = tape, tape.open(), False, False
        return made

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        """Send all of it."""
        self._tape.data(self._place, "client", memoryview(data))
        super().sendall(data, flags)

    def send(self, data: Any, flags: int = 0, /) -> int:
        """Send some of it."""
        sent = super().send(data, flags)
        if sent:
            self._tape.data(self._place, "client", memoryview(data)[:sent])
        return sent

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        """Receive; a look at what stays there to be read is no segment."""
        came = self._watched(lambda: super(TapedSocket, self).recv(size, flags))
        if flags & socket.MSG_PEEK:
            return came
        self._came(came)
        return came

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        """Receive into a buffer."""
        got = self._watched(lambda: super(TapedSocket, self).recv_into(buffer, nbytes, flags))
        self._came(memoryview(buffer)[:got])
        return got

    def shutdown(self, how: int, /) -> None:
        """End the stream."""
        self._tape.did(self._place, "client", "half-close" if how == socket.SHUT_WR else "close")
        super().shutdown(how)

    def close(self) -> None:
        """Close."""
        if not self._over and self.fileno() != -1:
            self._over = True
            self._tape.did(self._place, "client", "reset" if self._resets else "close")
        super().close()

    def setsockopt(self, level: int, name: int, /, *value: Any) -> None:
        """Set an option; one of them makes the coming close a reset."""
        self._resets = self._resets or (level, name) == (socket.SOL_SOCKET, socket.SO_LINGER)
        super().setsockopt(level, name, *value)

    def _watched(self, receive: Callable[[], T]) -> T:
        try:
            return receive()
        except TimeoutError:
            raise
        except OSError as error:
            self._end("reset", error.strerror or str(error))
            raise

    def _came(self, data: bytes | memoryview) -> None:
        if len(data):
            self._tape.data(self._place, "server", data)
        else:
            self._end("close", "")

    def _end(self, how: Any, note: str) -> None:
        if not self._over:
            self._over = True
            self._tape.did(self._place, "server", how, note)
