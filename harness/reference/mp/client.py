"""The reference client of the multiprocess server's wire."""

from __future__ import annotations

import platform
import threading
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from harness.client import MP_OPERATIONS, PROTOCOL_VERSION, ClientError, UnsupportedError
from harness.reference.mp.connection import MpConnection
from harness.reference.mp.errors import table_of
from harness.reference.mp.flow import MpFlow
from harness.reference.mp.link import MpLink
from harness.reference.mp.pure import MpPureOperations
from harness.reference.state import process_state
from wire.mp.operations import FIRST_RELEASE
from wire.release import KNOWN_RELEASES, Release

Answer = dict[str, Any]


class ReferenceMpClient(MpPureOperations):
    """The operations of the contract on this wire, for every release that has it, from any number of threads."""

    name: ClassVar[str] = "lmconform reference client (mp)"
    connection_class: ClassVar[type[MpConnection]] = MpConnection
    flow: ClassVar[MpFlow] = MpFlow()

    def __init__(self) -> None:
        self._links: dict[str, MpLink] = {}
        self._naming = threading.Lock()

    def hello(self, *, protocol: int, **_: Any) -> Answer:
        """Who this is and what it can do."""
        if protocol != PROTOCOL_VERSION:
            raise ClientError("refused", f"protocol {protocol} is not spoken here, only {PROTOCOL_VERSION}")
        return {
            "name": self.name,
            "version": "1",
            "language": f"Python {platform.python_version()}",
            "operations": list(MP_OPERATIONS),
            "releases": [text for text in KNOWN_RELEASES if Release.parse(text) >= FIRST_RELEASE],
            "concurrent": True,
        }

    def state(self, **_: Any) -> Answer:
        """What this process holds."""
        return {"connections": sum(link.connection.is_open for link in list(self._links.values())), **process_state()}

    def bye(self, **_: Any) -> Answer:
        """Close everything."""
        for link in list(self._links.values()):
            link.close()
        return {}

    def connect(self, *, connection: str, protocol: str, host: str, port: int, release: str, timeout_ms: int, **_: Any) -> Answer:
        """Open a connection under a name that is free; ZeroMQ connects in the background."""
        if protocol != "mp":
            raise UnsupportedError(f"protocol {protocol!r}; only mp")
        table = table_of(release)
        with self._naming:
            known = self._links.get(connection)
            if known is not None and known.connection.is_open:
                raise ClientError("refused", f"a connection {connection!r} is open already")
            self._links[connection] = MpLink(self.connection_class(host, port, timeout_ms / 1000), table, self.codec)
        return {}

    def close(self, *, connection: str, **_: Any) -> Answer:
        """Close a connection; closing it twice, or one that never was, is harmless."""
        known = self._links.pop(connection, None)
        if known is not None:
            known.close()
        return {}

    def mp_noop(self, *, connection: str, **_: Any) -> Answer:
        """The text of the server."""
        return {"text": self._asked(connection, "NOOP", [])}

    def mp_ping(self, *, connection: str, instance_id: int | None, **_: Any) -> Answer:
        """Whether the server knows that the worker is alive."""
        link = self._link(connection)
        takes_it = "PING" in link.table and bool(link.table.named("PING").payloads)
        return {"alive": self._asked(connection, "PING", [instance_id] if takes_it else [])}

    def mp_chunk_size(self, *, connection: str, **_: Any) -> Answer:
        """The tokens of a chunk, asked for again each time."""
        return {"chunk_size": self._asked(connection, "GET_CHUNK_SIZE", [])}

    def mp_register(self, *, connection: str, instance_id: int, context: Mapping[str, Any], **_: Any) -> Answer:
        """Register a worker."""
        link = self._link(connection)
        registered = self.flow.register(link, instance_id, context, link.connection.deadline())
        pool = registered.pool
        return {"pool_size": pool.size if pool is not None else 0, "shared_memory": pool is not None}

    def mp_unregister(self, *, connection: str, instance_id: int, **_: Any) -> Answer:
        """Take it back."""
        link = self._link(connection)
        self.flow.unregister(link, instance_id, link.connection.deadline())
        return {}

    def mp_store(self, *, connection: str, instance_id: int, key: Mapping[str, Any], chunks: Sequence[bytes], **_: Any) -> Answer:
        """Store chunks."""
        link = self._link(connection)
        return {"stored": self.flow.store(link, instance_id, key, chunks, link.connection.deadline())}

    def mp_lookup(self, *, connection: str, key: Mapping[str, Any], tp_size: int, **_: Any) -> Answer:
        """Find chunks."""
        link = self._link(connection)
        return {"hits": self.flow.lookup(link, key, tp_size, link.connection.deadline())}

    def mp_retrieve(self, *, connection: str, instance_id: int, key: Mapping[str, Any], **_: Any) -> Answer:
        """Load chunks."""
        link = self._link(connection)
        return {"chunks": self.flow.retrieve(link, instance_id, key, link.connection.deadline())}

    def mp_free_locks(self, *, connection: str, key: Mapping[str, Any], tp_size: int, **_: Any) -> Answer:
        """Give the locks of a lookup back."""
        link = self._link(connection)
        self.flow.free_locks(link, key, tp_size, link.connection.deadline())
        return {}

    def mp_end_session(self, *, connection: str, request_id: str, **_: Any) -> Answer:
        """Say that a request has ended."""
        self._asked(connection, "END_SESSION", [request_id])
        return {}

    def mp_clear(self, *, connection: str, force: bool = False, **_: Any) -> Answer:
        """Empty the cache."""
        link = self._link(connection)
        takes_it = "CLEAR" in link.table and bool(link.table.named("CLEAR").payloads)
        self._asked(connection, "CLEAR", [force] if takes_it else [])
        return {}

    def _asked(self, connection: str, name: str, payloads: Sequence[Any]) -> Any:
        link = self._link(connection)
        return link.request(name, payloads, link.connection.deadline())

    def _link(self, name: str) -> MpLink:
        try:
            return self._links[name]
        except KeyError:
            raise ClientError("connection", f"there is no connection {name!r}") from None
