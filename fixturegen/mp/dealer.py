"""The client side of a ZeroMQ connection to a multiprocess server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Self

import zmq

SEND_TIMEOUT: Final = 20.0
RECONNECT_MS: Final = 300
CONNECT_PATIENCE: Final = 2.0


class Dealers:
    """All connections of one conversation, each a DEALER with a name; closed without waiting for anything."""

    def __init__(self, host: str, port: int) -> None:
        self._address = f"tcp://{host}:{port}"
        self._context = zmq.Context()
        self._sockets: dict[str, zmq.Socket[bytes]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        for name in list(self._sockets):
            self.close(name)
        self._context.term()

    def connect(self, name: str, routing_id: bytes | None = None) -> None:
        """Open a connection, and wait until it stands: what is sent on it then arrives before what others send later.

        A server that does not listen is waited for in the background, after a while here.
        """
        socket = self._context.socket(zmq.DEALER)
        socket.setsockopt(zmq.LINGER, 0)
        # Fewer attempts while nobody listens: each has a small chance to get the port that it asks for, and to meet itself.
        socket.setsockopt(zmq.RECONNECT_IVL, RECONNECT_MS)
        socket.setsockopt(zmq.SNDTIMEO, int(SEND_TIMEOUT * 1000))
        if routing_id is not None:
            socket.setsockopt(zmq.ROUTING_ID, routing_id)
        monitor = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)
        try:
            socket.connect(self._address)
            monitor.poll(int(CONNECT_PATIENCE * 1000))
        finally:
            socket.disable_monitor()
        self._sockets[name] = socket

    def send(self, name: str, frames: Sequence[bytes]) -> None:
        """Send one message."""
        self._sockets[name].send_multipart(list(frames))

    def receive(self, name: str, patience: float) -> list[bytes] | None:
        """The frames of the next message, or None if none comes in time."""
        socket = self._sockets[name]
        return socket.recv_multipart() if socket.poll(int(patience * 1000)) else None

    def close(self, name: str) -> None:
        """Close a connection."""
        self._sockets.pop(name).close()
