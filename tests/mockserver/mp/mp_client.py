"""A raw client of the MP mock, and keys for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import zmq

from mockserver.mp import MpServer
from wire.mp.frames import decode_reply, encode_request
from wire.mp.values import pack

INSTANCE = 7
LENGTH = 2 * 2 * 16 * 4 * 2
"""Bytes of a chunk of 2 layers, 16 tokens and 4 elements of float16."""
SILENCE = 60
"""Milliseconds without a reply that count as silence; the mock answers at once or never."""


class MpClient:
    """Sends frames and reports what comes back; never judges."""

    def __init__(self, server: MpServer, identity: bytes | None = None) -> None:
        self.server = server
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.setsockopt(zmq.LINGER, 0)
        if identity is not None:
            self.socket.setsockopt(zmq.IDENTITY, identity)
        self.socket.connect(server.url)
        self.sent = 0

    def raw(self, *frames: bytes) -> None:
        self.socket.send_multipart(frames)

    def send(self, operation: str, *payloads: Any) -> bytes:
        """A request; its uid."""
        self.sent += 1
        uid = pack(self.sent)
        self.raw(uid, *encode_request(self.server.table, operation, list(payloads)))
        return uid

    def receive(self, patience: int = 5000) -> list[bytes] | None:
        return self.socket.recv_multipart() if self.socket.poll(patience) else None

    def silent(self) -> bool:
        return self.receive(SILENCE) is None

    def ask(self, operation: str, *payloads: Any) -> Any:
        """The result of a request that is answered."""
        uid = self.send(operation, *payloads)
        frames = self.receive()
        assert frames is not None, self.server.journal.last_exchange()
        assert frames[0] == uid
        return decode_reply(self.server.table, operation, frames[1:])

    def dropped(self, operation: str, *payloads: Any) -> str:
        """Why a request is not answered; the NOOP behind it is."""
        uid = self.send(operation, *payloads)
        self.alive()
        exchange = self.server.journal.wait_for(
            lambda journal: (last := next(one for one in reversed(journal.exchanges()) if one.uid == uid)) and last.done and last
        )
        assert exchange.replies == ()
        return exchange.dropped

    def alive(self) -> bool:
        """Whether the message thread answers a NOOP, sent with a uid of its own."""
        self.raw(b"alive", pack(self.server.table.named("NOOP").number))
        frames = self.receive(SILENCE if self.server.journal.death else 5000)
        return frames is not None and frames[0] == b"alive" and frames[2:] == [pack("OK")]

    # The data path

    def register(self, instance: int = INSTANCE, **changes: Any) -> Any:
        context = {
            "instance_id": instance, "model_name": "m", "world_size": 1, "block_size": 16, "num_layers": 2,
            "hidden_dim_size": 4, "dtype_str": "float16", "use_mla": False, **changes,
        }  # fmt: skip
        return self.ask(self.register_name, context)

    @property
    def register_name(self) -> str:
        return self.server.table.name_of("REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT")

    def store(self, key: dict[str, Any], chunks: Sequence[int], instance: int = INSTANCE) -> bool:
        """Store chunks that consist of one byte each."""
        slots = self.ask("PREPARE_STORE", key, instance)["context"]["slots"]
        for slot, byte in zip(slots, chunks, strict=True):
            with (Path("/dev/shm") / self.server.shm_name).open("r+b") as pool:
                pool.seek(slot["offset"])
                pool.write(bytes([byte]) * slot["length"])
        return bool(self.ask("COMMIT_STORE", key, instance, b""))

    def lookup(self, key: dict[str, Any], tp_size: int = 1) -> int | None:
        self.ask("LOOKUP", {**key, "worker_id": None}, tp_size)
        return self.ask("QUERY_PREFETCH_STATUS", key["request_id"])

    def retrieve(self, key: dict[str, Any], instance: int = INSTANCE) -> list[bytes] | None:
        """The bytes of the chunks; None where it fails."""
        answer = self.ask("PREPARE_RETRIEVE", key, instance)
        if not answer["success"]:
            return None
        found = []
        for slot in answer["context"]["slots"]:
            with (Path("/dev/shm") / self.server.shm_name).open("rb") as pool:
                pool.seek(slot["offset"])
                found.append(pool.read(slot["length"]))
        assert self.ask("COMMIT_RETRIEVE", key, instance)
        return found

    def close(self) -> None:
        self.context.destroy(linger=0)


def key_of(chunks: int, request: str = "r1", **parts: Any) -> dict[str, Any]:
    """A key of so many whole chunks."""
    return {
        "model_name": "m", "world_size": 1, "worker_id": 0, "token_ids": list(range(16 * chunks)), "start": 0,
        "end": 16 * chunks, "request_id": request, "cache_salt": "", "num_kv_readers": 1, **parts,
    }  # fmt: skip
