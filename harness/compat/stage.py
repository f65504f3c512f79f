"""One running multiprocess server, the clients that talk to it, and what was done so far."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from fixturegen.mp import memory
from fixturegen.mp.dealer import Dealers
from fixturegen.vector import patterned
from reports.collisions.demonstration import Act, Target
from wire.errors import WireError
from wire.mp.frames import decode_reply, encode_request
from wire.mp.operations import OperationTable, operation_table
from wire.mp.records import key_record
from wire.mp.values import Value, pack
from wire.release import Release

CHUNKS: Final = 3
CHUNK: Final = 16
"""Tokens of a chunk, as the servers are started."""
INSTANCE: Final = 7
MODEL: Final = "lmconform/collisions"
PATIENCE: Final = {"live": 5.0, "mock": 0.5}
"""Seconds after which no answer will come any more: a server that works answers in milliseconds."""
ANSWERED: Final = {"live": 30.0, "mock": 10.0}
"""Seconds that an answer may take that must come."""
POLLS: Final = 200
ENGINE: Final = "engine"
"""The client of the server's own release."""


class Running(Protocol):
    """A server that can be played against."""

    release: Release

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""

    def health(self) -> str:
        """What its health check says, in words."""

    def read_locked(self) -> int:
        """Objects under read locks, as its state counts them."""

    def restart(self) -> None:
        """Start it again at the same address, with an empty store."""


class NoAnswer(Exception):
    """A server did not answer what it must answer."""


@dataclass
class Stage:
    """Where a collision is played."""

    running: Running
    target: Target
    dealers: Dealers
    acts: list[Act] = field(default_factory=list)
    _counter: int = 0

    @property
    def release(self) -> Release:
        """The server's release."""
        return self.running.release

    @property
    def table(self) -> OperationTable:
        """The server's operations."""
        return operation_table(self.release)

    def told(self, did: str, came: str, sent: Sequence[bytes] = ()) -> None:
        """Remember an act."""
        self.acts.append(Act(did, came, tuple(sent)))

    def send(self, name: str, frames: Sequence[bytes], patience: float) -> list[bytes] | None:
        """Send one message of a client and wait for its reply; the frames behind the uid, or None."""
        self._counter += 1
        uid = pack(self._counter)
        self.dealers.send(name, [uid, *frames])
        while True:
            reply = self.dealers.receive(name, patience)
            if reply is None or reply[0] == uid:
                return None if reply is None else reply[1:]

    def ask(self, operation: str, payloads: Sequence[Value]) -> Value:
        """The answer that the engine gets.

        Raises:
            NoAnswer: none comes.
        """
        reply = self.send(ENGINE, encode_request(self.table, operation, payloads), ANSWERED[self.target])
        if reply is None:
            raise NoAnswer(f"the server of lmcache {self.release} does not answer {operation}")
        return decode_reply(self.table, operation, reply)

    def try_as(self, client: Release, operation: str, payloads: Sequence[Value], *, waits: bool = False) -> str:
        """Send what a client of another release sends, and remember it with what the client makes of the answer.

        ``waits``: an answer must come sooner or later. The words for what came are given back.
        """
        table = operation_table(client)
        frames = encode_request(table, operation, payloads)
        name = f"{client}-{self._counter}"
        self.dealers.connect(name)
        patience = (ANSWERED if waits else PATIENCE)[self.target]
        came = _reading(table, operation, self.send(name, frames, patience))
        self.told(f"a client of {client} sends {operation}", came, frames)
        return came

    def lives(self) -> bool:
        """Whether a client of the server's release that comes now gets an answer."""
        name = f"client-{self._counter}"
        self.dealers.connect(name)
        try:
            return self.send(name, encode_request(self.table, "NOOP", []), PATIENCE[self.target]) is not None
        finally:
            self.dealers.close(name)

    def store(self) -> None:
        """Register an engine, and store chunks over shared memory.

        Raises:
            NoAnswer: the server does not answer, or does not store.
        """
        self.dealers.connect(ENGINE)
        context = {
            "instance_id": INSTANCE, "model_name": MODEL, "world_size": 1, "block_size": CHUNK, "num_layers": 1,
            "hidden_dim_size": 2, "dtype_str": "float16", "use_mla": False,
        }  # fmt: skip
        pool = self.ask(self.table.name_of("REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT"), [context]) or {}
        key = key_of(self.release, "store", worker=0)
        slots = self.ask("PREPARE_STORE", [key, INSTANCE])["context"].get("slots", [])
        for number, slot in enumerate(slots):
            if pool.get("shm_name"):
                memory.write(pool["shm_name"], slot["offset"], patterned(number, slot["length"]))
        stored = self.ask("COMMIT_STORE", [key, INSTANCE, b""])
        if stored is not True or len(slots) != CHUNKS:
            raise NoAnswer(f"the server of lmcache {self.release} stored {len(slots)} of {CHUNKS} chunks ({stored!r})")
        self.told(f"an engine of {self.release} stores {CHUNKS} chunks", "stored")

    def lookup(self, request: str) -> int:
        """Chunks that the engine finds, under locks that are held until they are given back.

        Raises:
            NoAnswer: no result comes.
        """
        key = key_of(self.release, request, worker=None)
        self.ask("LOOKUP", [key, 1])
        for _ in range(POLLS):
            found = self.ask("QUERY_PREFETCH_STATUS", [key["request_id"]])
            if found is not None:
                return int(found)
        raise NoAnswer(f"the server of lmcache {self.release} never says how many chunks a lookup finds")

    def free(self, request: str, found: int) -> None:
        """Give the locks of a lookup back, and end it."""
        key = key_of(self.release, request, worker=None)
        if found:
            self.ask("FREE_LOOKUP_LOCKS", [{**key, "end": found * CHUNK}, 1])
        self.ask("END_SESSION", [key["request_id"]])


def key_of(release: Release, request: str, worker: int | None) -> dict[str, Any]:
    """A key record for all chunks, with the fields of a release."""
    values: dict[str, Value] = {
        "model_name": MODEL, "world_size": 1, "worker_id": worker, "chunk_hash": None,
        "token_ids": list(range(1, CHUNKS * CHUNK + 1)), "start": 0, "end": CHUNKS * CHUNK,
        "request_id": f"lmconform-{request}-{os.getpid()}", "cache_salt": "", "request_configs": None, "num_kv_readers": 1,
    }  # fmt: skip
    return key_record(release, values)


def _reading(table: OperationTable, operation: str, reply: Sequence[bytes] | None) -> str:
    if reply is None:
        return "no answer"
    try:
        value = decode_reply(table, operation, reply)
    except WireError as error:
        return f"an answer that it cannot read ({error})"
    return f"an answer, which it reads as {'nil' if value is None else repr(value)}"
