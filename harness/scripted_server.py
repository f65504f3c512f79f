"""A server that gives exactly the bytes it was told to, for replies that no server of this protocol would give."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from harness import meeting
from harness.tape import TAPES
from harness.targets import Server
from wire.lm.frames import Reply, encode_reply
from wire.lm.profile import LmProfile

Ending = Literal["close", "reset", "silence"]
ENDINGS: Final[tuple[Ending, ...]] = ("close", "reset", "silence")
LONGEST: Final = 30.0
"""Seconds after which a connection ends, whatever its client does."""
_NOW: Final = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Script:
    """The bytes in place of one reply, and what happens to the connection behind them; after silence it serves on."""

    data: bytes
    ending: Ending


class ScriptedServer:
    """Answers one request as the script says, and all others in the proper way: every key exists, or none does.

    It reads a header for each request and no payload, so that it is for requests without one.
    """

    def __init__(self, profile: LmProfile) -> None:
        self._size = profile.header.request_size
        self._replies = {exists: encode_reply(profile, Reply("SUCCESS" if exists else "FAIL")) for exists in (True, False)}
        self._lock = threading.Lock()
        self._script: Script | None = None
        self._exists = False
        self._open: set[socket.socket] = set()
        self._stopped = False
        self._listener = socket.create_server((meeting.host(), 0))
        self._thread = threading.Thread(target=self._accept, name="lmconform-scripted-server", daemon=True)

    @property
    def server(self) -> Server:
        """Where it listens."""
        host, port = self._listener.getsockname()
        return Server(host, port)

    def play(self, script: Script, *, exists: bool) -> None:
        """Answer the next request so, and say of every key asked for later whether it exists."""
        with self._lock:
            self._script, self._exists = script, exists

    def start(self) -> None:
        """Listen."""
        self._thread.start()

    def stop(self) -> None:
        """End every connection."""
        with self._lock:
            self._stopped = True
            connections = list(self._open)
        for connection in (self._listener, *connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(LONGEST)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                if self._stopped:
                    connection.close()
                    return
                self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), name="lmconform-scripted-server", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, contextlib.suppress(OSError):
                connection.settimeout(LONGEST)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                place = TAPES.mock.open()
                while self._read(connection, place) and self._answer(connection, place):
                    pass
        finally:
            with self._lock:
                self._open.discard(connection)

    def _read(self, connection: socket.socket, place: int) -> bool:
        left = self._size
        while left:
            data = connection.recv(left)
            if not data:
                TAPES.mock.did(place, "client", "close")
                return False
            TAPES.mock.data(place, "client", data)
            left -= len(data)
        return True

    def _answer(self, connection: socket.socket, place: int) -> bool:
        """Whether the connection goes on."""
        with self._lock:
            script, self._script = self._script, None
            proper = self._replies[self._exists]
        TAPES.mock.data(place, "server", proper if script is None else script.data)
        if script is None:
            connection.sendall(proper)
            return True
        connection.sendall(script.data)
        if script.ending != "silence":
            TAPES.mock.did(place, "server", script.ending, "as the case wants it")
        if script.ending == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NOW)
        return script.ending == "silence"


@contextlib.contextmanager
def scripted_server(profile: LmProfile) -> Iterator[ScriptedServer]:
    """A server that listens."""
    peer = ScriptedServer(profile)
    peer.start()
    try:
        yield peer
    finally:
        peer.stop()
