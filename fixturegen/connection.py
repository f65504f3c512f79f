"""The client side of a raw connection: whatever the server does, a call ends in bounded time and says what came."""

from __future__ import annotations

import socket
import struct
import time
from contextlib import suppress
from typing import Final

SEND_TIMEOUT: Final = 20.0
SURPLUS: Final = 4 << 20
"""Bytes behind those that are waited for, after which nobody listens any longer."""


class Connection:
    """One client side of a conversation; a broken send is remembered as a close."""

    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.create_connection((host, port), timeout=SEND_TIMEOUT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data: bytes, pieces: int | None = None) -> None:
        """Send bytes, in one go or in pieces of so many bytes; a peer that closed shows in what is received next."""
        self.socket.settimeout(SEND_TIMEOUT)
        step = pieces or len(data) or 1
        with suppress(BrokenPipeError, ConnectionResetError):
            for start in range(0, len(data), step):
                self.socket.sendall(data[start : start + step])

    def receive(self, want: int | None, patience: float, quiet: float) -> tuple[bytes, bool]:
        """Bytes that came, and whether the peer closed.

        ``want`` bytes are waited for with patience, then a quiet time must pass; None waits for a close. The patience ends
        the wait in any case, and so do :data:`SURPLUS` bytes too many, so that a peer that never stops sending can neither hold
        it up nor fill the memory.
        """
        data = bytearray()
        deadline = time.monotonic() + patience
        while True:
            enough = want is not None and len(data) >= want
            left = deadline - time.monotonic()
            limit = min(quiet, left) if enough else left
            if limit <= 0 or len(data) > (want or 0) + SURPLUS:
                return bytes(data), False
            self.socket.settimeout(limit)
            try:
                piece = self.socket.recv(1 << 20)
            except TimeoutError:
                return bytes(data), False
            except ConnectionResetError:
                return bytes(data), True
            if not piece:
                return bytes(data), True
            data += piece

    def half_close(self) -> None:
        """Send no more, keep listening."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """End the connection with a reset instead of an end of stream."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self) -> None:
        """End the connection."""
        self.socket.close()
