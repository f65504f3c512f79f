"""Defects that show when a server breaks the protocol, ends a connection between requests, or comes back empty."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from harness.client import ClientError
from harness.mutants.mutant import mutant
from harness.reference.codec import Codec
from harness.reference.lm import LmConnection, ReferenceClient
from harness.reference.values import wire_errors
from wire.lm.frames import NOTHING, Description, Reply
from wire.release import Release


class _SeesTheEndAlone(LmConnection):
    @staticmethod
    def _is_stale(open_socket: socket.socket) -> bool:
        open_socket.setblocking(False)
        try:
            return open_socket.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True


@mutant(
    "stray-bytes-read-as-a-reply",
    stands_for="A pool that checks whether a connection is alive, and not whether it is empty, before it hands it out.",
    found_by=(
        "lm.misbehaviour.duplicated-reply*",
        "lm.misbehaviour.reply-to-a-put*",
        "lm.misbehaviour.bytes-after-a-miss*",
        "lm.misbehaviour.extended-body*",
    ),
)
class ReadsStrayBytes(ReferenceClient):
    """Takes bytes that were in the stream before the request for its reply."""

    connection_class = _SeesTheEndAlone


class _PutsBlindly(LmConnection):
    _blind = False

    def request(self, command: str, key: str, about: Description = NOTHING) -> bytes:
        self._blind = command == "PUT"
        return super().request(command, key, about)

    @contextmanager
    def exchange(self) -> Iterator[None]:
        sure = self._blind and self.is_open
        with self._bounded() if sure else super().exchange():
            yield

    def send(self, *parts: bytes) -> None:
        super().send(b"".join(parts))


@mutant(
    "put-without-a-look",
    stands_for="A put that counts as done when send returned: the kernel takes bytes for a connection that the server has ended.",
    found_by=("lm.misbehaviour.ended-between-requests*",),
)
class PutsBlindly(ReferenceClient):
    """Stores over a connection without looking whether the server has ended it."""

    connection_class = _PutsBlindly


class _SendsWhatIsGone(LmConnection):
    _before: socket.socket | None = None

    @contextmanager
    def exchange(self) -> Iterator[None]:
        self._before = self._socket
        with super().exchange():
            yield

    def send(self, *parts: bytes) -> None:
        if self._before is not None and self._before is not self._socket:
            parts = (*parts[:1], *(bytes(len(part)) for part in parts[1:]))
        super().send(*parts)


@mutant(
    "put-after-a-reconnect-sends-zeros",
    stands_for="A send buffer that belongs to the connection: the payload was copied into the one before.",
    found_by=("lm.misbehaviour.ended-between-requests*",),
)
class SendsWhatIsGone(ReferenceClient):
    """Sends zeros for the payload of a PUT that had to open a new connection."""

    connection_class = _SendsWhatIsGone


class _AsksAgain(LmConnection):
    _question = b""

    def request(self, command: str, key: str, about: Description = NOTHING) -> bytes:
        header = super().request(command, key, about)
        self._question = header if command == "EXIST" else b""
        return header

    def reply(self) -> Reply:
        if self._question:
            half = (self._until - time.monotonic()) / 2
            self._ready().settimeout(half)
            try:
                self._ready().recv(1, socket.MSG_PEEK)
            except TimeoutError:
                self._until += 2 * half
                self.send(self._question)
        return super().reply()


@mutant(
    "asks-again-on-the-same-connection",
    stands_for="A retry decorator around the request that knows nothing of connections.",
    found_by=("lm.misbehaviour.dropped-reply*",),
)
class AsksAgain(ReferenceClient):
    """Repeats a request that timed out on the connection on which it timed out."""

    connection_class = _AsksAgain


class _Resynchronises(LmConnection):
    def reply(self) -> Reply:
        header = self.receive(self.profile.header.reply_size)
        while header[:4] not in {b"\xc8\x00\x00\x00", b"\x90\x01\x00\x00"}:
            header = header[1:] + self.receive(1)
        with wire_errors():
            return self.codec.decode_reply(self.profile, header)


@mutant(
    "skips-what-it-cannot-read",
    stands_for="A reader that looks for the next code it knows, as readers of text protocols skip to the next line.",
    found_by=("lm.misbehaviour.garbage-before-reply*",),
)
class SkipsGarbage(ReferenceClient):
    """Goes on reading until something looks like a reply."""

    connection_class = _Resynchronises


class _OpensWithoutALimit(LmConnection):
    def _open(self) -> None:
        self._socket = socket.create_connection(self._address)
        self._until = time.monotonic() + self._timeout


@mutant(
    "connects-without-a-timeout",
    stands_for="A timeout that is set on the socket when it is connected, since the option belongs to reads.",
    found_by=("lm.misbehaviour.full-backlog*",),
)
class ConnectsWithoutATimeout(ReferenceClient):
    """Waits for a connection for as long as the kernel does."""

    connection_class = _OpensWithoutALimit


@mutant(
    "one-refusal-closes-all",
    stands_for="A circuit breaker for the whole server that trips at the first refused connection.",
    found_by=("lm.misbehaviour.refused-meanwhile*",),
)
class TripsForAll(ReferenceClient):
    """Gives up every connection when one more is refused."""

    def connect(self, **args: Any) -> dict[str, Any]:
        """Open one connection, or close all."""
        try:
            return super().connect(**args)
        except ClientError:
            for connection in self._connections.values():
                connection.close()
            raise


class _HurriesTheFirstReply(LmConnection):
    def __init__(self, host: str, port: int, timeout: float, release: Release, codec: Codec) -> None:
        super().__init__(host, port, timeout, release, codec)
        self._answered = False

    def receive(self, size: int) -> bytes:
        if not self._answered:
            self._until = min(self._until, time.monotonic() + 0.1)
        data = super().receive(size)
        self._answered = True
        return data


@mutant(
    "first-reply-in-a-hurry",
    stands_for="The short limit for connecting that is meant for the handshake and still holds for the first reply.",
    found_by=("lm.misbehaviour.slow-accept*",),
)
class HurriesTheFirstReply(ReferenceClient):
    """Gives the first reply of a connection a tenth of a second, whatever it is, and later ones their time."""

    connection_class = _HurriesTheFirstReply


class _KeepsWhatTimedOut(LmConnection):
    def _drop(self) -> None:
        if self._for_good or time.monotonic() < self._until:
            super()._drop()


@mutant(
    "goes-on-after-a-timeout",
    stands_for="A timeout that is caught around the read and leaves the socket as it is.",
    found_by=("lm.misbehaviour.dropped-reply*", "lm.broken.late-reply*"),
)
class GoesOnAfterATimeout(ReferenceClient):
    """Uses a connection again whose request has timed out, unless its reply has come by then: the reply to come is misread."""

    connection_class = _KeepsWhatTimedOut


class _WithoutSign(LmConnection):
    def reply(self) -> Reply:
        header = self.receive(self.profile.header.reply_size)
        with wire_errors():
            return self.codec.decode_reply(self.profile, header[:7] + bytes([header[7] & 0x7F]) + header[8:])


@mutant(
    "length-without-its-sign",
    stands_for="A length that is masked with 0x7fffffff to make it safe to allocate.",
    found_by=("lm.misbehaviour.flipped-bit[*-sign-of-length]",),
)
class MasksTheLength(ReferenceClient):
    """Reads the length of a reply without its sign bit."""

    connection_class = _WithoutSign
