"""A store behind a port, as the connector asks it: bounded waits, a connection for each request. Standard library only."""

from __future__ import annotations

import io
import json
import socket
import time
from typing import Any, BinaryIO, Final

from harness.reference.l2.gateway.frames import receive, send
from harness.reference.remote.files import MAGIC, Head, encode_head, read_head

WAIT: Final = 1.0
"""Seconds for a whole request: shorter than the engine's own patience, so that no get is given up in the middle."""


class Behind:
    """Objects by key at an address; it answers as :class:`~harness.reference.remote.files.Files` does.

    No connection is kept: a store that was restarted needs no care, and a late answer has nobody that it could be taken by.
    """

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise ValueError(f"the address of a store is {address!r}; it must be HOST:PORT")
        self.place = (host, int(port))

    def there(self) -> bool:
        """Whether it answers."""
        try:
            self.ask({"do": "keys"})
        except OSError:
            return False
        return True

    def has(self, key: str) -> bool:
        """Whether there is an object; no answer is none."""
        try:
            return self.ask({"do": "has", "key": key})[0]["found"] is True
        except OSError:
            return False

    def write(self, key: str, data: memoryview, *, fmt: str, dtype: str | None, shape: tuple[int, ...]) -> None:
        """Store an object.

        Raises:
            OSError: there is no answer.
        """
        self.ask({"do": "put", "key": key}, MAGIC + encode_head(key, data, fmt=fmt, dtype=dtype, shape=shape) + bytes(data))

    def open(self, key: str) -> tuple[Head, BinaryIO]:
        """The head of an object, and its bytes.

        Raises:
            FileNotFoundError: there is none.
            OSError: there is no answer.
            Damaged: it is not what was written.
        """
        words, body = self.ask({"do": "get", "key": key})
        if words["found"] is not True:
            raise FileNotFoundError(key)
        file = io.BytesIO(body)
        return read_head(file, key), file

    def remove(self, key: str) -> bool:
        """Remove an object; whether there was one."""
        try:
            return self.ask({"do": "remove", "key": key})[0]["found"] is True
        except OSError:
            return False

    def keys(self) -> list[str]:
        """All keys.

        Raises:
            OSError: there is no answer.
        """
        found: list[str] = json.loads(self.ask({"do": "keys"})[1])
        return found

    def ask(self, words: dict[str, Any], body: bytes = b"") -> tuple[dict[str, Any], bytes]:
        """One request and its answer.

        Raises:
            OSError: none in time.
        """
        until = time.monotonic() + WAIT
        with socket.create_connection(self.place, timeout=WAIT) as connection:
            return self.converse(connection, words, body, until)

    @staticmethod
    def converse(
        connection: socket.socket, words: dict[str, Any], body: bytes, until: float | None
    ) -> tuple[dict[str, Any], bytes]:
        """Say something on a connection, and hear the answer."""
        send(connection, words, body, until=until)
        return receive(connection, until=until)
