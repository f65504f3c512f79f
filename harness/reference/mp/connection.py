"""One DEALER to a multiprocess server: requests from any thread, replies matched by uid, every wait bounded."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import zmq

from harness.client import ClientError
from harness.reference.mp.errors import NotSentError
from wire.mp.values import pack

LINGER_MS: Final = 200
"""How long closing may wait for what was sent last."""
AT_ONCE: Final = 256
"""Messages that are received before anything else is done: a server that never stops to send keeps nobody from being sent to."""
LARGEST_FRAME: Final = 1 << 30
"""Bytes; a server that announces more is cut off, and connected to again."""
PARTING: Final = 0.5
"""Seconds in which a request must be sent whose reply nobody waits for."""


@dataclass
class _Asked:
    """A request on its way."""

    message: list[bytes]
    until: float
    done: threading.Event = field(default_factory=threading.Event)
    sent: bool = False
    reply: list[bytes] | None = None
    """The frames behind the uid."""
    failure: str = ""


class MpConnection:
    """A socket in a thread of its own, which alone touches it.

    What nobody waits for any more is not sent, and a reply whose uid nobody waits for is dropped. ZeroMQ connects, and
    connects again, by itself; requests are handed to it only while there is a server.
    """

    def __init__(self, host: str, port: int, timeout: float) -> None:
        self.timeout = timeout
        self._uids = itertools.count()
        self._outbox: deque[_Asked] = deque()
        self._waiting: dict[bytes, _Asked] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._bell, self._ear = socket.socketpair()
        self._bell.setblocking(False)
        self._ear.setblocking(False)
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, LINGER_MS)
        self._socket.setsockopt(zmq.IMMEDIATE, 1)
        self._socket.setsockopt(zmq.MAXMSGSIZE, LARGEST_FRAME)
        try:
            self._socket.connect(f"tcp://{f'[{host}]' if ':' in host else host}:{port}")
        except zmq.ZMQError as error:
            self._socket.close(0)
            self._bell.close()
            self._ear.close()
            raise ClientError("connection", f"cannot connect to {host}:{port}: {error}") from error
        self._thread = threading.Thread(target=self._serve, name="mp-connection", daemon=True)
        self._thread.start()

    @property
    def is_open(self) -> bool:
        """Whether it was not closed."""
        return not self._closed

    def deadline(self) -> float:
        """The moment by which an operation that begins now must end."""
        return time.monotonic() + self.timeout

    def ask(self, frames: Sequence[bytes], until: float) -> list[bytes]:
        """Send a request and wait for its reply: the frames behind the uid.

        Raises:
            ClientError: of class ``timeout`` or ``connection``; :class:`NotSentError` where no server got the request.
        """
        uid, asked = self._submit(frames, until)
        asked.done.wait(max(0.0, until - time.monotonic()))
        with self._lock:
            self._forget(uid)
            reply, failure, sent = asked.reply, asked.failure, asked.sent
            asked.until = 0.0
        if failure:
            raise ClientError("connection", failure)
        if reply is not None:
            return reply
        if not sent:
            raise NotSentError("timeout", f"no server took the request within {self.timeout:g} s; nothing was sent")
        raise ClientError("timeout", f"no reply within {self.timeout:g} s")

    def tell(self, frames: Sequence[bytes]) -> None:
        """Send a request whose reply nobody waits for."""
        with suppress(ClientError):
            self._submit(frames, time.monotonic() + PARTING)

    def close(self) -> None:
        """Close for good; whoever waits is told. Closing twice is harmless."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._ring()
        self._thread.join(1.0)

    def new_uid(self) -> bytes:
        """A uid that no request of this connection had."""
        return pack(next(self._uids))

    def message(self, uid: bytes, frames: Sequence[bytes]) -> list[bytes]:
        """All frames of a request."""
        return [uid, *frames]

    def owner(self, uid: bytes, waiting: Sequence[bytes]) -> bytes | None:
        """Which of the requests that wait, oldest first, a reply belongs to."""
        return uid if uid in waiting else None

    def _submit(self, frames: Sequence[bytes], until: float) -> tuple[bytes, _Asked]:
        with self._lock:
            if self._closed:
                raise ClientError("connection", "the connection was closed by its owner")
            uid = self.new_uid()
            asked = _Asked(self.message(uid, frames), until)
            self._waiting[uid] = asked
            self._outbox.append(asked)
        self._ring()
        return uid, asked

    def _forget(self, uid: bytes) -> None:
        self._waiting.pop(uid, None)

    def _ring(self) -> None:
        with suppress(OSError):
            self._bell.send(b"!")

    def _serve(self) -> None:
        poller = zmq.Poller()
        poller.register(self._ear, zmq.POLLIN)
        try:
            while not self._closed:
                self._drop_expired()
                poller.register(self._socket, zmq.POLLIN | (zmq.POLLOUT if self._outbox else 0))
                ready = dict(poller.poll(self._patience()))
                with suppress(OSError):
                    while self._ear.recv(4096):
                        pass
                if ready.get(self._socket, 0) & zmq.POLLOUT:
                    self._send_all()
                if ready.get(self._socket, 0) & zmq.POLLIN:
                    self._receive_all()
            self._send_all()
            self._end("the connection was closed by its owner")
        except zmq.ZMQError as error:
            self._closed = True
            self._end(f"ZeroMQ failed: {error}")
        finally:
            self._socket.close(LINGER_MS)
            self._bell.close()
            self._ear.close()

    def _patience(self) -> int | None:
        """Milliseconds until something in the outbox is too late."""
        with self._lock:
            if not self._outbox:
                return None
            return max(1, int(1000 * (min(asked.until for asked in self._outbox) - time.monotonic())))

    def _drop_expired(self) -> None:
        now = time.monotonic()
        with self._lock:
            self._outbox = deque(asked for asked in self._outbox if asked.until > now)

    def _send_all(self) -> None:
        with self._lock:
            while self._outbox:
                asked = self._outbox[0]
                if asked.until > time.monotonic():
                    try:
                        self._socket.send_multipart(asked.message, zmq.NOBLOCK)
                    except zmq.Again:
                        return
                    asked.sent = True
                self._outbox.popleft()

    def _receive_all(self) -> None:
        for _ in range(AT_ONCE):
            try:
                uid, *frames = self._socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            with self._lock:
                owner = self.owner(uid, list(self._waiting))
                asked = self._waiting.pop(owner, None) if owner is not None else None
                if asked is not None:
                    asked.reply = frames
                    asked.done.set()

    def _end(self, why: str) -> None:
        with self._lock:
            for asked in self._waiting.values():
                asked.failure = why
                asked.done.set()
            self._waiting.clear()
            self._outbox.clear()
