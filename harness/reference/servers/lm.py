"""An ``lm://`` server that meets every MUST and every SHOULD of ``docs/spec/servers.md``.

It is the mock server with what the real one lacks: patience that ends, lengths that are looked at, values that are whole or not
there, and an answer to LIST. It shows that the requirements can be met, and its mutants show that cases find who does not.
"""

from __future__ import annotations

import select
import socket
import struct
import threading
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from mockserver.buffers import Buffer, writable
from mockserver.endings import Ending
from mockserver.faults.outgoing import Outgoing
from mockserver.journal import Journal
from mockserver.lm import LmServer
from mockserver.lm.replies import Replies
from mockserver.lm.requests import ServerRequest
from mockserver.lm.session import Session
from mockserver.records import RunningExchange
from mockserver.store import Store, StoredValue
from wire.errors import DecodeError
from wire.keys import CacheKey
from wire.lm.enums import COMMANDS
from wire.lm.frames import Description, Reply, encode_reply
from wire.release import Release

STALL: Final = 6.0
"""Seconds without a byte after which a request is given up: more than a busy engine pauses, less than a dead one stays."""
LONGEST: Final = 256 << 20
"""Bytes of the longest payload that is taken."""


class NamedStore(Store):
    """Keeps the key strings as they were written, for LIST."""

    def __init__(self) -> None:
        super().__init__()
        self._names: dict[CacheKey, str] = {}
        self._naming = threading.Lock()

    def name(self, key: CacheKey, text: str) -> None:
        """Note how a key was written."""
        with self._naming:
            self._names[key] = text

    def names(self) -> list[str]:
        """The key strings, oldest first."""
        with self._naming:
            names: Mapping[CacheKey, str] = dict(self._names)
        return [names[key] for key in self.keys() if key in names]

    def clear(self) -> None:
        """Forget everything."""
        super().clear()
        with self._naming:
            self._names.clear()


class RobustReplies(Replies):
    """The replies of the release, and one to LIST."""

    def answer(self, request: ServerRequest, store: Store) -> Outgoing:
        """The reply; LIST brings the key strings with a line feed between two of them."""
        if request.command != "LIST" or not isinstance(store, NamedStore):
            return super().answer(request, store)
        return self.listing("\n".join(store.names()).encode())

    def listing(self, data: Buffer) -> Outgoing:
        """A reply whose payload are key strings."""
        about = Description(len(data), "BINARY", "uint8", (len(data), 0, 0, 0))
        return Outgoing(self._profile.header.reply, encode_reply(self._profile, Reply("SUCCESS", about)), data)


class RobustSession(Session):
    """Waits for a request as long as its peer likes, and inside of one for so long and no longer."""

    stall: ClassVar[float] = STALL
    longest: ClassVar[int] = LONGEST

    def run(self) -> None:
        """Serve, with a kernel that gives up a read which brings nothing."""
        whole = int(self.stall)
        limit = struct.pack("ll", whole, int((self.stall - whole) * 1e6))
        self._connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        super().run()

    def _converse(self) -> Ending:
        size = len(self._header)
        while True:
            self._await_request()
            arrived = self._connection.read_into(self._header)
            if arrived < size:
                return Ending("cut header", f"{arrived} of {size} bytes") if arrived else Ending("peer closed")
            ending = self._exchange(bytes(self._header))
            if ending is not None:
                return ending

    def _await_request(self) -> None:
        """Wait for its first byte; a server that stops ends the wait."""
        arrives = select.poll()
        arrives.register(self._connection.socket, select.POLLIN)
        arrives.poll()

    def _receive(self, exchange: RunningExchange, request: ServerRequest) -> Ending | None:
        """The payload of a PUT, into the store once it is whole."""
        size = request.about.length
        refusal = self.refusal(request)
        if refusal is not None:
            return Ending("bad request", refusal)
        buffer = self.room(size)
        arrived = self._connection.read_into(buffer)
        if arrived < size:
            exchange.received = self._desk.journal.see_payload(bytes(buffer[:arrived]))
            return Ending("cut payload", f"{arrived} of {size} bytes")
        data = buffer.toreadonly()
        exchange.received = self._desk.journal.see_payload(data)
        self.keep(request, data)
        return None

    def refusal(self, request: ServerRequest) -> str | None:
        """Why a PUT is not taken."""
        size = request.about.length
        return f"a payload of {size} bytes" if not 0 <= size <= self.longest else None

    def room(self, size: int) -> memoryview:
        """Memory for a payload, which costs nothing before it is filled."""
        return writable(size)

    def keep(self, request: ServerRequest, data: Buffer) -> None:
        """Put a whole value into the store."""
        store = self._desk.store
        store.put(request.key, StoredValue(data, request.about))
        if isinstance(store, NamedStore):
            store.name(request.key, request.key_text)


class RobustServer(LmServer):
    """The mock server of a release, made better than the real one. Its journal holds no payloads."""

    replies_class = RobustReplies
    session_class: ClassVar[type[Session]] = RobustSession

    def __init__(self, release: str | Release, **more: Any) -> None:
        super().__init__(release, **{"store": NamedStore(), "journal": Journal(keep_payloads=False), **more})

    def read_request(self, header: bytes) -> ServerRequest:
        """Judge a header, the command in all releases."""
        found = super().read_request(header)
        if found.command not in COMMANDS:
            raise DecodeError(f"command {found.command}")
        return found
