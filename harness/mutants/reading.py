"""Defects in how bytes are taken from a socket, and handed to one."""

from __future__ import annotations

import time
from typing import ClassVar

from harness.client import ClientError
from harness.mutants.mutant import mutant
from harness.reference.lm import LmConnection, ReferenceClient

SPLIT = (
    "lm.segments.split-header",
    "lm.segments.split-header-of-get",
    "lm.segments.byte-by-byte",
    "lm.segments.any-segmentation",
)
CUT = ("lm.broken.reply-breaks-off", "lm.broken.truncated-payload")


class OneRecv(LmConnection):
    """Takes what one call of recv gives for the whole of some reads."""

    header: ClassVar[bool] = False
    body: ClassVar[bool] = False
    limit: ClassVar[int] = 1 << 30

    def receive(self, size: int) -> bytes:
        """So many bytes, or fewer."""
        is_header = size == self.profile.header.reply_size
        if not (self.header if is_header else self.body) or not size:
            return super().receive(size)
        data = self._ready().recv(min(size, self.limit))
        if not data:
            raise ClientError("connection", "the peer closed")
        return data


class _HeaderInOneRecv(OneRecv):
    header = True


@mutant(
    "recv-of-the-header-not-looped",
    stands_for="What lmcache's own client does up to 0.5.6: it works until a network splits the header.",
    found_by=(*SPLIT, "lm.segments.split-at-the-body"),
)
class HeaderInOneRecv(ReferenceClient):
    """Reads a reply header with one recv."""

    connection_class = _HeaderInOneRecv


class _BodyInOneRecv(OneRecv):
    body = True
    limit = 1 << 16


@mutant(
    "recv-of-the-body-not-looped",
    stands_for="The same for the payload: small values arrive at once, and no cache has small values.",
    found_by=("lm.segments.split-at-the-body", "lm.roundtrip.sizes", "lm.roundtrip.64-mebibytes"),
)
class BodyInOneRecv(ReferenceClient):
    """Reads a payload with one recv."""

    connection_class = _BodyInOneRecv


class _HeaderWithItsBody(LmConnection):
    """Reads header and payload into one buffer."""

    rest = b""

    def receive(self, size: int) -> bytes:
        """The header with one recv of more, and the payload of what else came with it."""
        if size == self.profile.header.reply_size:
            header = super().receive(size)
            self.rest = self._at_once(1 << 20)
            return header
        taken, self.rest = self.rest[:size], b""
        return taken

    def _at_once(self, size: int) -> bytes:
        assert self._socket is not None
        self._socket.setblocking(False)
        try:
            return self._socket.recv(size)
        except BlockingIOError:
            return b""


@mutant(
    "recv-of-header-and-body-at-once",
    stands_for="A buffer into which header and payload are read together: the server sends them one after the other.",
    found_by=("lm.segments.split-at-the-body", "lm.roundtrip.sizes", "lm.roundtrip.64-mebibytes"),
)
class HeaderWithItsBody(ReferenceClient):
    """Takes for the payload what arrived together with the header."""

    connection_class = _HeaderWithItsBody


class _SendsOnce(LmConnection):
    def send(self, *parts: bytes) -> None:
        for part in parts:
            if part:
                opened = self._ready()
                opened.setblocking(False)
                opened.send(part)


@mutant(
    "send-not-looped",
    stands_for="The result of send or write dropped: it says how many bytes the kernel took, and that is rarely 64 MiB.",
    found_by=("lm.roundtrip.64-mebibytes",),
)
class SendsOnce(ReferenceClient):
    """Hands a payload to the kernel with one send."""

    connection_class = _SendsOnce


class _ZerosAtTheEnd(LmConnection):
    def receive(self, size: int) -> bytes:
        buffer = bytearray(size)
        rest = memoryview(buffer)
        while rest:
            try:
                count = self._ready().recv_into(rest)
            except ConnectionError:
                break
            if not count:
                break
            rest = rest[count:]
        return bytes(buffer)


@mutant(
    "end-of-stream-is-zeros",
    stands_for="A buffer that was allocated and filled as far as bytes came: the end of the stream ends the loop like success.",
    found_by=(*CUT, "lm.connection.broken-connection-is-not-reused", "lm.broken.health-breaks-off"),
)
class ZerosAtTheEnd(ReferenceClient):
    """Takes zeros for the bytes that a broken reply lacks."""

    connection_class = _ZerosAtTheEnd


class _WaitsAtTheEnd(LmConnection):
    def receive(self, size: int) -> bytes:
        buffer = bytearray(size)
        rest = memoryview(buffer)
        while rest:
            count = self._ready().recv_into(rest)
            if not count:
                time.sleep(0.01)
            rest = rest[count:]
        return bytes(buffer)


@mutant(
    "end-of-stream-not-noticed",
    stands_for="while (got < size) got += recv(...): recv returns 0 for ever once the peer is gone.",
    found_by=("lm.broken.reply-breaks-off", "lm.broken.truncated-payload"),
)
class WaitsAtTheEnd(ReferenceClient):
    """Goes on reading behind the end of a stream, until its time is up."""

    connection_class = _WaitsAtTheEnd


class _ResetEscapes(LmConnection):
    def receive(self, size: int) -> bytes:
        try:
            return super().receive(size)
        except ConnectionError as error:
            raise RuntimeError(str(error)) from None

    def send(self, *parts: bytes) -> None:
        try:
            super().send(*parts)
        except ConnectionError as error:
            raise RuntimeError(str(error)) from None


@mutant(
    "reset-not-expected",
    stands_for="An end of stream that is handled, and a reset that is not: which of them comes depends on bytes left unread.",
    found_by=("lm.broken.reply-breaks-off",),
)
class ResetEscapes(ReferenceClient):
    """Lets the error of a reset connection through."""

    connection_class = _ResetEscapes
