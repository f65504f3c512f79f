"""A connection that speaks one release: requests by name, the chunk size, and the workers that were registered on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.client import ClientError
from harness.reference.mp.codec import MpCodec
from harness.reference.mp.connection import MpConnection
from harness.reference.mp.errors import require_operation, unreadable, unwritable
from harness.reference.mp.layouts import Layout
from harness.reference.mp.pool import Pool
from wire.mp.operations import OperationTable
from wire.mp.types import Optional
from wire.mp.values import Value


@dataclass(frozen=True)
class Registered:
    """A worker's registration, as the client needs it."""

    layout: Layout
    pool: Pool | None
    """None where chunks travel as pickles."""

    def close(self) -> None:
        """Detach the shared memory."""
        if self.pool is not None:
            self.pool.close()


class MpLink:
    """Everything that a name of the contract stands for."""

    def __init__(self, connection: MpConnection, table: OperationTable, codec: MpCodec) -> None:
        self.connection = connection
        self.table = table
        self.codec = codec
        self.workers: dict[int, Registered] = {}
        self._chunk_size: int | None = None

    def request(self, name: str, payloads: Sequence[Value], until: float) -> Value:
        """One request and the result in its reply.

        Raises:
            UnsupportedError: the release does not have the operation.
            ClientError: it cannot be written, there is no reply, or the reply cannot be read.
        """
        frames = self.frames(name, payloads)
        reply = self.connection.ask(frames, until)
        with unreadable():
            result = self.codec.decode_reply(self.table, name, reply)
        due = self.table.named(name).result
        if result is None and due is not None and not isinstance(due, Optional):
            raise ClientError("protocol", f"the reply to {name} has no result, and {due} is due")
        return result

    def tell(self, name: str, payloads: Sequence[Value]) -> None:
        """One request whose reply nobody waits for."""
        self.connection.tell(self.frames(name, payloads))

    def frames(self, name: str, payloads: Sequence[Value]) -> list[bytes]:
        """The frames of a request of this release."""
        require_operation(self.table, name)
        with unwritable():
            return self.codec.encode_request(self.table, name, payloads)

    def chunk_size(self, until: float) -> int:
        """The tokens of a chunk; asked for once.

        Raises:
            ClientError: as :meth:`request`, or the server names none.
        """
        if self._chunk_size is None:
            found: Any = self.request("GET_CHUNK_SIZE", [], until)
            if type(found) is not int or found < 1:
                raise ClientError("protocol", f"the server says that chunks have {found!r:.40} tokens")
            self._chunk_size = found
        return self._chunk_size

    def worker(self, instance_id: int) -> Registered:
        """A worker that was registered on this connection.

        Raises:
            ClientError: it was not.
        """
        if instance_id not in self.workers:
            raise ClientError("refused", f"instance {instance_id} is not registered on this connection")
        return self.workers[instance_id]

    def forget(self, instance_id: int) -> None:
        """Let go of a worker's registration."""
        known = self.workers.pop(instance_id, None)
        if known is not None:
            known.close()

    def close(self) -> None:
        """Close the connection and detach all shared memory."""
        self.connection.close()
        for instance_id in list(self.workers):
            self.forget(instance_id)
