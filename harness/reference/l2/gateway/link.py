"""The plugin's side of a gateway: bounded waits, and no memory of a gateway that was down but when to ask it again."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import Any

from harness.reference.l2.gateway.frames import receive, send
from harness.reference.l2.leases import Leased, LeaseEnded
from harness.reference.l2.manifest import check
from harness.reference.l2.outcomes import Outcome


class GatewayDown(Exception):
    """The gateway is taken to be down, and was not asked."""


class GatewayLink:
    """Connections to a gateway, made when they are needed and kept for the next request.

    After a request that failed nobody asks for ``retry`` seconds; the first one after that finds out whether it is back.
    """

    def __init__(self, address: str, *, retry: float) -> None:
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise ValueError(f"gateway is {address!r}; it must be HOST:PORT")
        self._address = (host, int(port))
        self._retry = retry
        self._lock = threading.Lock()
        self._idle: list[socket.socket] = []
        self._busy: set[socket.socket] = set()
        self._down_until = 0.0
        self._ended = False

    def store(self, key: str, source: Leased, until: float) -> Outcome:
        """Have the bytes of a buffer kept."""
        try:
            data = source.piece(0, source.size)
            words, _ = self._ask({"do": "store", "key": key, "check": check(data)}, data, until)
        except GatewayDown:
            return Outcome.SKIPPED
        except (OSError, LeaseEnded):
            return Outcome.DROPPED
        return _outcome(words, Outcome.DROPPED)

    def load(self, key: str, target: Leased, until: float) -> Outcome:
        """Fetch an object into a buffer."""
        try:
            words, data = self._ask({"do": "load", "key": key, "size": target.size}, b"", until)
            outcome = _outcome(words, Outcome.UNAVAILABLE)
            if outcome is not Outcome.LOADED:
                return outcome
            if len(data) != target.size or words.get("check") != check(data):
                return Outcome.DAMAGED
            target.fill(data)
        except (OSError, GatewayDown, LeaseEnded):
            return Outcome.UNAVAILABLE
        return Outcome.LOADED

    def look(self, key: str, until: float) -> Outcome:
        """Ask for a key."""
        return self._told("look", key, until, Outcome.UNAVAILABLE)

    def delete(self, key: str, until: float) -> Outcome:
        """Have a key forgotten."""
        return self._told("delete", key, until, Outcome.NOT_DELETED)

    def interrupt(self) -> None:
        """Break every conversation."""
        with self._lock:
            self._ended = True
            for connection in self._busy:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connections."""
        self.interrupt()
        with self._lock:
            for connection in self._idle:
                connection.close()
            self._idle.clear()

    def _told(self, do: str, key: str, until: float, otherwise: Outcome) -> Outcome:
        try:
            words, _ = self._ask({"do": do, "key": key}, b"", until)
        except (OSError, GatewayDown):
            return otherwise
        return _outcome(words, otherwise)

    def _ask(self, words: dict[str, Any], body: bytes, until: float) -> tuple[dict[str, Any], bytes]:
        """One request and its reply.

        Raises:
            GatewayDown: it did not answer a moment ago.
            OSError: it does not answer now, or not in time.
        """
        if time.monotonic() < self._down_until:
            raise GatewayDown
        try:
            while True:
                connection, fresh = self._connection(until)
                try:
                    return self._converse(connection, words, body, until)
                except ConnectionError:
                    # One that was idle may be left from before a restart; every request can be made again.
                    if fresh:
                        raise
        except OSError:
            self._down_until = time.monotonic() + self._retry
            raise

    def _converse(
        self, connection: socket.socket, words: dict[str, Any], body: bytes, until: float
    ) -> tuple[dict[str, Any], bytes]:
        whole = False
        try:
            send(connection, words, body, until=until)
            reply = receive(connection, until=until)
            whole = True
        finally:
            with self._lock:
                self._busy.discard(connection)
                if whole and not self._ended:
                    self._idle.append(connection)
                else:
                    # A reply that comes later would be taken for that to the next request.
                    connection.close()
        return reply

    def _connection(self, until: float) -> tuple[socket.socket, bool]:
        """A connection, and whether it was made for this request."""
        with self._lock:
            if self._idle:
                connection = self._idle.pop()
                self._busy.add(connection)
                return connection, False
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError("time is up")
        connection = socket.create_connection(self._address, timeout=left)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            if self._ended:
                connection.close()
                raise ConnectionAbortedError("the plugin is being closed")
            self._busy.add(connection)
        return connection, True


def _outcome(words: dict[str, Any], otherwise: Outcome) -> Outcome:
    try:
        return Outcome(words.get("outcome"))
    except ValueError:
        return otherwise
