"""A store behind a port that can be stopped, slowed and started again: the backend of the reference connector."""

from __future__ import annotations

import contextlib
import json
import socket
import socketserver
import threading
import time
from typing import Any, Final

from harness.reference.l2.gateway.frames import receive, send

HOST: Final = "127.0.0.1"


class StoreBackend:
    """Keeps objects in memory, always at the same address; what it was told outlives a restart, as on a disk."""

    def __init__(self) -> None:
        # Bound and never listening: it keeps the port for us while nobody serves, and callers are refused.
        self._port = socket.socket()
        self._port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._port.bind((HOST, 0))
        self._objects: dict[str, bytes] = {}
        self._server: _Server | None = None

    def start(self) -> str:
        """Serve, if nobody does; the address."""
        host, port = self._port.getsockname()
        if self._server is None:
            self._server = _Server((host, port), self._objects)
            threading.Thread(target=self._server.serve_forever, args=(0.02,), name="lmconform-store", daemon=True).start()
        return f"{host}:{port}"

    def stop(self) -> None:
        """Serve nobody any more, and cut what is connected, as a crash would."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()
            server.cut()

    def restart(self) -> None:
        """Stop and start."""
        self.stop()
        self.start()

    def slow(self, seconds: float) -> None:
        """Let each answer come so much later; 0 ends that."""
        assert self._server is not None, "slow() of a store that is stopped"
        self._server.pause = seconds

    def close(self) -> None:
        """Stop, and give the port back."""
        self.stop()
        self._port.close()


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], objects: dict[str, bytes]) -> None:
        self.objects = objects
        self.pause = 0.0
        self.stopped = False
        self.connected: set[socket.socket] = set()
        super().__init__(address, _Conversation)

    def cut(self) -> None:
        """End every conversation, those included that have not begun."""
        self.stopped = True
        for connection in list(self.connected):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Conversation(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        self.server.connected.add(self.request)
        try:
            while not self.server.stopped:
                words, body = receive(self.request)
                time.sleep(self.server.pause)
                if not self.server.stopped:
                    send(self.request, *self._answer(words, body))
        except (OSError, KeyError, TypeError):
            return  # gone, or what it says makes no sense
        finally:
            self.server.connected.discard(self.request)

    def _answer(self, words: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        objects, do = self.server.objects, words["do"]
        if do == "keys":
            return {}, json.dumps(sorted(objects)).encode()
        key = str(words["key"])
        if do == "put":
            objects[key] = body
            return {}, b""
        found = objects.pop(key, None) if do == "remove" else objects.get(key)
        return {"found": found is not None}, found if do == "get" and found is not None else b""
