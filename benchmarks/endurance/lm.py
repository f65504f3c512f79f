"""A peer on the lm wire: one connection, with no patience for a server that says nothing."""

from __future__ import annotations

import functools
import socket
import struct
from types import TracebackType
from typing import Final, Self

from benchmarks.endurance.values import Bytes
from wire.keys import any_key
from wire.lm.frames import Description, Reply, Request, decode_reply, encode_request
from wire.lm.profile import lm_profile
from wire.release import KNOWN_RELEASES, Release

RELEASE: Final = Release.parse(KNOWN_RELEASES[-1])
_PROFILE: Final = lm_profile(RELEASE)
PATIENCE: Final = 30.0
"""Seconds that a server may take for a reply, on a busy machine as well."""


class PeerEndedError(Exception):
    """The server ended the connection, or said nothing in time, or what it said is no reply."""


@functools.lru_cache(4096)
def key(number: int) -> str:
    """A key of its own for each number."""
    return any_key(RELEASE, f"endurance-{number}")


def request(command: str, number: int, length: int = 0) -> bytes:
    """The header of a request; ``length`` is that of the payload of a PUT."""
    about = Description(length, "BINARY", "uint8", (length, 0, 0, 0))
    return encode_request(_PROFILE, Request(command, key(number), about) if command == "PUT" else Request(command, key(number)))


class LmPeer:
    """One connection. Not for several threads at once."""

    def __init__(self, address: tuple[str, int], *, patience: float = PATIENCE, receive_buffer: int | None = None) -> None:
        self.socket = socket.socket()
        try:
            if receive_buffer is not None:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            self.socket.settimeout(patience)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.socket.connect(address)
        except OSError as error:
            self.socket.close()
            raise PeerEndedError(f"no connection: {error}") from None

    def put(self, number: int, data: Bytes) -> None:
        """Send a PUT, which no server answers.

        Raises:
            PeerEndedError: the connection ended, or the server takes nothing; so for all methods.
        """
        self.send(request("PUT", number, len(data)))
        self.send(data)

    def get(self, number: int) -> bytearray | None:
        """What is stored, or None."""
        self.send(request("GET", number))
        return self.value()

    def exist(self, number: int) -> bool:
        """Whether something is stored."""
        self.send(request("EXIST", number))
        return self.reply().code == "SUCCESS"

    def value(self) -> bytearray | None:
        """Read the reply to a GET."""
        reply = self.reply()
        return self.read(reply.about.length) if reply.code == "SUCCESS" else None

    def reply(self) -> Reply:
        """Read a reply header."""
        header = self.read(_PROFILE.header.reply_size)
        try:
            return decode_reply(_PROFILE, bytes(header))
        except ValueError as error:
            raise PeerEndedError(f"no reply: {error}") from None

    def send(self, data: Bytes) -> None:
        """Send bytes as they are."""
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise PeerEndedError(f"sending: {error}") from None

    def read(self, size: int) -> bytearray:
        """Exactly so many bytes."""
        data = bytearray(size)
        view = memoryview(data)
        while view:
            view = view[self.read_some(view) :]
        return data

    def read_some(self, into: memoryview) -> int:
        """What one call brings, at least a byte."""
        try:
            count = self.socket.recv_into(into)
        except OSError as error:
            raise PeerEndedError(f"reading: {error}") from None
        if not count:
            raise PeerEndedError("the server ended the connection")
        return count

    def reset(self) -> None:
        """End the connection abruptly."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self) -> None:
        """End the connection."""
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
