"""Clients that are right, and not like the reference client, named on command lines as ``python:right_clients:NAME``."""

import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import ClassVar

from harness.client import ClientError
from harness.reference.lm import LmConnection, ReferenceClient
from wire.lm.profile import lm_profile

IDLE = 4


class _ReadsAhead(LmConnection):
    """Connects with its first request, reads whatever is there, and is gone for good after any error."""

    def __init__(self, host, port, timeout, release, codec):
        self._address, self._timeout = (host, port), timeout
        self._socket, self._until, self._for_good = None, 0.0, False
        self._exchanging, self._holding, self._read = threading.Lock(), threading.Lock(), bytearray()
        self.codec, self.release, self.profile = codec, release, lm_profile(release)

    @contextmanager
    def exchange(self):
        if self._for_good:
            raise ClientError("connection", "closed or broken before")
        self._until = time.monotonic() + self._timeout
        try:
            with self._bounded():
                if self._socket is None:
                    self._open()
                elif self._is_stale(self._socket):
                    self._ended()
                yield
            if self._read:
                self._give_up()
        except ClientError:
            self._give_up()
            raise

    def receive(self, size):
        while len(self._read) < size:
            data = self._ready().recv(1 << 16)
            if not data:
                self._ended()
            self._read += data
        wanted = bytes(self._read[:size])
        del self._read[:size]
        return wanted

    @staticmethod
    def _ended():
        raise ClientError("connection", "closed by the peer, or out of step")

    def _give_up(self):
        self._for_good = True
        self._drop()


class ReadsAhead(ReferenceClient):
    """Lazy, buffered, one request at a time, and it never connects twice."""

    connection_class = _ReadsAhead

    def hello(self, **members):
        return {**super().hello(**members), "concurrent": False}


class _Pooled(LmConnection):
    """Gives its socket to a pool when it is closed, and takes one from there when it connects."""

    idle: ClassVar = []
    pooling: ClassVar = threading.Lock()

    def _open(self):
        with self.pooling:
            fitting = [known for address, known in self.idle if address == self._address]
            self.idle[:] = [(address, known) for address, known in self.idle if address != self._address]
        for known in fitting:
            if self._socket is None and not self._is_stale(known):
                self._socket = known
            else:
                known.close()
        if self._socket is None:
            super()._open()

    def close(self):
        self._for_good = True
        if not self._exchanging.acquire(blocking=False):
            self._wake()
            self._exchanging.acquire()
        try:
            if self._socket is not None and not self._is_stale(self._socket):
                with self.pooling:
                    self.idle.append((self._address, self._socket))
                    self._socket = None
                    while len(self.idle) > IDLE:
                        self.idle.pop(0)[1].close()
            self._drop()
        finally:
            self._exchanging.release()


class KeepsAPool(ReferenceClient):
    """Keeps the sockets of at most four closed connections for later."""

    connection_class = _Pooled

    def bye(self, **members):
        answer = super().bye(**members)
        while _Pooled.idle:
            _Pooled.idle.pop()[1].close()
        return answer


class _OneEach(LmConnection):
    """Makes a socket for each request, and ends it when the server has taken all of it."""

    def __init__(self, *members):
        self._broken = False
        super().__init__(*members)

    @property
    def is_open(self):
        return not self._for_good and not self._broken

    @contextmanager
    def exchange(self):
        try:
            with super().exchange():
                yield
                self._socket.shutdown(socket.SHUT_WR)
                with suppress(ConnectionError):
                    while self._ready().recv(1 << 12):
                        pass
                self._drop()
        except BaseException:
            self._broken = True
            raise
        self._broken = False


class OneSocketForEachRequest(ReferenceClient):
    """Holds no socket between requests."""

    connection_class = _OneEach
