"""One TCP connection to an ``lm://`` server that is in step or closed, never anything between."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from harness.client import ClientError

BODY_LIMIT: Final = 2**31 - 1
"""The longest body that a header can announce: its length is an int32."""


class Connection:
    """A blocking socket with one deadline over all waits of an exchange, and one exchange at a time, whatever thread asks.

    An exchange that waits for another to end does so within its own deadline.

    Whatever goes wrong inside an exchange closes the socket. The next exchange opens a new one before it sends, and so
    does an exchange that finds the old one closed by the peer, or with bytes in it that nobody asked for.
    """

    def __init__(self, host: str, port: int, timeout: float) -> None:
        self._address = (host, port)
        self._timeout = timeout
        self._socket: socket.socket | None = None
        self._until = 0.0
        self._for_good = False
        self._exchanging = threading.Lock()
        self._holding = threading.Lock()
        self._until = time.monotonic() + timeout
        with self._bounded():
            self._open()

    @property
    def is_open(self) -> bool:
        """Whether a socket is held."""
        return self._socket is not None

    @contextmanager
    def exchange(self) -> Iterator[None]:
        """A request and its reply: one deadline, and the end of the socket if anything is raised.

        Raises:
            ClientError: of class ``timeout`` or ``connection``, besides what the body raises.
        """
        until = time.monotonic() + self._timeout
        if not self._exchanging.acquire(timeout=self._timeout):
            raise ClientError(
                "timeout", f"other requests on this connection took longer than {self._timeout:g} s; nothing was sent"
            )
        try:
            self._refuse_after_close()
            self._until = until
            with self._bounded():
                if self._socket is None or self._is_stale(self._socket):
                    self._drop()
                    self._open()
                yield
        finally:
            self._exchanging.release()

    def send(self, *parts: bytes) -> None:
        """Hand all bytes to the operating system."""
        for part in parts:
            rest = memoryview(part)
            while rest:
                rest = rest[self._ready().send(rest) :]

    def receive(self, size: int) -> bytes:
        """Exactly so many bytes, however they are segmented."""
        buffer = bytearray(size)
        rest = memoryview(buffer)
        while rest:
            count = self._ready().recv_into(rest)
            if count == 0:
                raise ClientError("connection", f"the peer closed after {size - len(rest)} of {size} bytes")
            rest = rest[count:]
        return bytes(buffer)

    def close(self) -> None:
        """Close for good; closing twice is harmless. An exchange that another thread is in ends with an error."""
        with self._holding:
            self._for_good = True
        if not self._exchanging.acquire(blocking=False):
            self._wake()
            self._exchanging.acquire()
        try:
            self._drop()
        finally:
            self._exchanging.release()

    @contextmanager
    def _bounded(self) -> Iterator[None]:
        try:
            yield
        except TimeoutError as error:
            self._drop()
            raise ClientError("timeout", f"no progress to the end within {self._timeout:g} s") from error
        except OSError as error:
            self._drop()
            raise ClientError("connection", f"{type(error).__name__}: {error}") from error
        except BaseException:
            self._drop()
            raise

    def _open(self) -> None:
        """Hold a new socket, unless the owner closed meanwhile: what is opened after its wake would wait unwoken."""
        opened = socket.create_connection(self._address, timeout=self._remaining())
        try:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._holding:
                self._refuse_after_close()
                self._socket = opened
        except BaseException:
            opened.close()
            raise

    def _refuse_after_close(self) -> None:
        if self._for_good:
            raise ClientError("connection", "the connection was closed by its owner")

    def _ready(self) -> socket.socket:
        assert self._socket is not None
        self._socket.settimeout(self._remaining())
        return self._socket

    def _remaining(self) -> float:
        remaining = self._until - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        return remaining

    def _wake(self) -> None:
        """End what another thread waits for; it lets go of the socket itself."""
        held = self._socket
        if held is not None:
            with suppress(OSError):
                held.shutdown(socket.SHUT_RDWR)

    def _drop(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    @staticmethod
    def _is_stale(open_socket: socket.socket) -> bool:
        open_socket.setblocking(False)
        try:
            open_socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True
