"""Writes the steps of one conversation; nothing in it says what is right: the recording does."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from fixturegen.mp.pickles import pickled_chunks
from fixturegen.mp.transcript import MpStep, MpTranscript, Setting, StepKind
from fixturegen.vector import Json, patterned
from wire.mp.frames import encode_request
from wire.mp.operations import OperationTable, operation_table
from wire.mp.records import key_record
from wire.mp.types import Scalar
from wire.mp.values import Value, pack
from wire.release import RangeTable, Release

PREFIX: Final = "mp.server."
CHUNK: Final = 16
"""Tokens of a chunk, as the servers are started."""
LAYERS, HIDDEN = 1, 2
CHUNK_BYTES: Final = 2 * LAYERS * CHUNK * HIDDEN * 2
"""Keys and values of one chunk as float16."""

REGISTER: Final = RangeTable[str | None](
    "operation that registers an engine-driven worker",
    ("0.3.9.post1", None),
    ("0.4.6", "REGISTER_KV_CACHE_NON_GPU_CONTEXT"),
    ("0.5.0", "REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT"),
)
UNREGISTER: Final = RangeTable[str | None](
    "operation that takes that back",
    ("0.3.9.post1", None),
    ("0.4.7", "UNREGISTER_KV_CACHE_NON_GPU_CONTEXT"),
    ("0.5.0", "UNREGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT"),
)
COUNTS_READERS: Final = RangeTable("keys say how many workers read", ("0.3.9.post1", False), ("0.5.5", True))

PLACE: Final = "the server chooses the place in its shared memory"
POOL: Final = "the name of shared memory is unique on the machine"
ADDRESSES: Final = "the server's pickles have addresses of its memory in them"
JOB: Final = "the server counts its lookups"

SETTLED: Final = 1.0
"""Seconds after which a reply that has not come will not come: a working server answers in milliseconds."""
QUICK: Final = 0.8
"""The same where the message thread has answered a later request already; a pool of the server may still be at work."""


@dataclass(frozen=True)
class Key:
    """A key record in the making; a release takes the fields that it has."""

    tokens: Sequence[int]
    request_id: str
    model: str
    start: int = 0
    end: int | None = None
    """The end of the tokens, if None."""
    worker: int | None = 0
    world: int = 1
    salt: str = ""
    readers: int = 1

    def record(self, release: Release) -> dict[str, Value]:
        """The fields of the release, in its order."""
        values: dict[str, Value] = {
            "model_name": self.model,
            "world_size": self.world,
            "worker_id": self.worker,
            "chunk_hash": None,
            "token_ids": list(self.tokens),
            "start": self.start,
            "end": len(self.tokens) if self.end is None else self.end,
            "request_id": self.request_id,
            "cache_salt": self.salt,
            "request_configs": None,
            "num_kv_readers": self.readers,
        }
        record = key_record(release, values)
        if "token_ids" in record:
            return record
        return {**record, "chunk_hash": bytes(range(32)), "worker_id": self.worker or 0}


def counts_lookups(release: Release) -> bool:
    """Whether the reply to LOOKUP is a number that the server counts."""
    table = operation_table(release)
    return "QUERY_PREFETCH_STATUS" in table and table.named("LOOKUP").result == Scalar("int")


def tokens(chunks: int, *, first: int = 1, extra: int = 0) -> list[int]:
    """Token ids of so many chunks and some more; every ``first`` begins another prompt."""
    return [(first * 37 + index) % 120 for index in range(chunks * CHUNK + extra)]


class Script:
    """The steps of one scenario; models, workers and requests of it are its own."""

    def __init__(self, release: Release, name: str, title: str, setting: Setting) -> None:
        self.release = release
        self.table: OperationTable = operation_table(release)
        self.name = name
        self.setting = setting
        self.steps: list[MpStep] = []
        self.bound: dict[str, str] = {}
        self.finding: str | None = None
        self.instance = 1000 + zlib.crc32(name.encode()) % 100_000
        self.model = name
        self._title = title
        self._uids: dict[str, int] = {}
        self._places = 0
        self._subscription = b""
        self.connect("a")

    def finished(self) -> MpTranscript:
        """The script."""
        name = f"{PREFIX}{self.setting}.{self.name}"
        return MpTranscript(name, self._title, self.setting, self.steps, self.bound, finding=self.finding)

    def has(self, *operations: str) -> bool:
        """Whether the release has all of these."""
        return all(operation in self.table for operation in operations)

    # Messages

    def connect(self, connection: str, routing_id: bytes | None = None) -> Self:
        """Open a connection."""
        return self._add("connect", connection, **({} if routing_id is None else {"routing_id": routing_id.hex()}))

    def close(self, connection: str) -> Self:
        """Close a connection."""
        return self._add("close", connection)

    def restart(self) -> Self:
        """Kill the server and start it again."""
        return self._add("restart", None)

    def raw(self, *frames: bytes, connection: str = "a") -> Self:
        """Send exactly these frames."""
        return self._add("send", connection, frames=[frame.hex() for frame in frames])

    def send(self, operation: str, *payloads: Value, connection: str = "a", uid: bytes | None = None) -> Self:
        """Send a well-formed request."""
        frames = encode_request(self.table, operation, list(payloads))
        return self.raw(self.uid(connection) if uid is None else uid, *frames, connection=connection)

    def receive(self, connection: str = "a", *, within: float | None = None, bind: Mapping[str, str] | None = None) -> Self:
        """Wait for a reply, for so long if it need not come."""
        hints: dict[str, Any] = {} if within is None else {"within": within}
        return self._add("receive", connection, **hints, **({"bind": dict(bind)} if bind else {}))

    def silence(self, connection: str = "a") -> Self:
        """Wait for nothing to come."""
        return self._add("receive", connection, want="silence")

    def ask(
        self, operation: str, *payloads: Value, connection: str = "a",
        within: float | None = None, bind: Mapping[str, str] | None = None,
    ) -> Self:  # fmt: skip
        """A well-formed request and its reply."""
        return self.send(operation, *payloads, connection=connection).receive(connection, within=within, bind=bind)

    def maybe(self, operation: str, *payloads: Value) -> Self:
        """A well-formed request that may get no reply."""
        return self.ask(operation, *payloads, within=SETTLED)

    def unsure(self, bind: Mapping[str, str] | None = None) -> Self:
        """The end of a conversation whose last request may get no reply: does the message thread still work?"""
        return self.alive().receive(within=QUICK, bind=bind)

    def alive(self, connection: str = "b") -> Self:
        """A NOOP on a connection of its own: whether the message thread still works."""
        return self.connect(connection).ask("NOOP", connection=connection, within=SETTLED)

    def uid(self, connection: str = "a") -> bytes:
        """The next uid of a connection, counted as lmcache's client counts."""
        number = self._uids.get(connection, 0)
        self._uids[connection] = number + 1
        return pack(number)

    # Engine-driven data path

    def key(self, prompt: Sequence[int], request: str = "r1", **parts: Any) -> Key:
        """A key of this scenario."""
        return Key(prompt, f"{self.name}-{request}", parts.pop("model", self.model), **parts)

    def context(self, **changes: Value) -> dict[str, Value]:
        """What a worker registers."""
        return {
            "instance_id": self.instance,
            "model_name": self.model,
            "world_size": 1,
            "block_size": CHUNK,
            "num_layers": LAYERS,
            "hidden_dim_size": HIDDEN,
            "dtype_str": "float16",
            "use_mla": False,
            **changes,
        }

    def register(self, **changes: Value) -> Self:
        """Register a worker."""
        operation = REGISTER[self.release]
        assert operation is not None
        bind = {}
        if self.setting == "shared-memory":
            self.bound["pool"] = POOL
            bind = {"shm_name": "pool"}
        return self.ask(operation, self.context(**changes), bind=bind)

    def unregister(self, instance: int | None = None) -> Self:
        """Take a registration back."""
        operation = UNREGISTER[self.release]
        assert operation is not None
        return self.ask(operation, self.instance if instance is None else instance)

    def prepare_store(self, key: Key, instance: int | None = None, *, within: float | None = None) -> str:
        """Ask for room; returns the name that the places are bound to."""
        return self._prepare("PREPARE_STORE", key, instance, within)

    def prepare_retrieve(self, key: Key, instance: int | None = None) -> str:
        """Ask for the data; returns the name that the places are bound to."""
        return self._prepare("PREPARE_RETRIEVE", key, instance, None)

    def write(self, places: str, chunks: Sequence[int]) -> Self:
        """Write chunks, given by the seeds of their patterns, into the places of a preparation."""
        for index, seed in enumerate(chunks):
            at = {"bound": f"{places}.{index}"}
            self._add("shm-write", None, segment="pool", at=at, pattern={"seed": seed, "length": CHUNK_BYTES})
        return self

    def read(self, places: str, chunks: int) -> Self:
        """Read chunks from the places of a preparation."""
        for index in range(chunks):
            self._add("shm-read", None, segment="pool", at={"bound": f"{places}.{index}"}, length=CHUNK_BYTES)
        return self

    def commit_store(self, key: Key, data: bytes = b"", instance: int | None = None) -> Self:
        """Say that the data is written, or bring it."""
        return self.ask("COMMIT_STORE", key.record(self.release), self.instance if instance is None else instance, data)

    def commit_retrieve(self, key: Key, instance: int | None = None) -> Self:
        """Say that the data is read."""
        return self.ask("COMMIT_RETRIEVE", key.record(self.release), self.instance if instance is None else instance)

    def store(self, key: Key, seeds: Sequence[int], instance: int | None = None) -> Self:
        """Store chunks, given by the seeds of their patterns."""
        if self.setting == "pickle":
            self.prepare_store(key, instance)
            chunks = [patterned(seed, CHUNK_BYTES) for seed in seeds]
            return self.commit_store(key, pickled_chunks(chunks, (2, LAYERS, CHUNK, HIDDEN)), instance)
        places = self.prepare_store(key, instance)
        return self.write(places, seeds).commit_store(key, instance=instance)

    def retrieve(self, key: Key, chunks: Sequence[int], instance: int | None = None) -> Self:
        """Retrieve chunks that should be those of these seeds."""
        places = self.prepare_retrieve(key, instance)
        if self.setting == "shared-memory":
            self.read(places, len(chunks))
        else:
            patterns = [{"seed": seed, "length": CHUNK_BYTES} for seed in chunks]
            self._add("contains", None, of=places, patterns=patterns)
        return self.commit_retrieve(key, instance)

    def lookup(self, key: Key, tp_size: int = 1) -> Self:
        """Look a prompt up, as the scheduler does, and poll until the answer."""
        record = Key(**{**key.__dict__, "worker": None}).record(self.release)
        return self.ask("LOOKUP", record, tp_size).poll(key.request_id)

    def poll(self, request_id: str) -> Self:
        """Ask for the result of a lookup until it is there."""
        frames = encode_request(self.table, "QUERY_PREFETCH_STATUS", [request_id])
        return self._add("poll", "a", frames=[frame.hex() for frame in (self.uid(), *frames)])

    def free(self, key: Key, tp_size: int = 1) -> Self:
        """Give the locks of a lookup back."""
        record = Key(**{**key.__dict__, "worker": None}).record(self.release)
        return self.ask("FREE_LOOKUP_LOCKS", record, tp_size)

    def end(self, key: Key) -> Self:
        """End the session of a request."""
        return self.ask("END_SESSION", key.request_id)

    def clear(self, *, force: bool = True) -> Self:
        """Empty the cache."""
        payloads = [force] if self.table.named("CLEAR").payloads else []
        return self.ask("CLEAR", *payloads)

    def count(self) -> Self:
        """Empty the cache; what later counts say is compared with what they say now."""
        self.clear()
        return self._add("status", None, first=True)

    def status(self) -> Self:
        """What the counts say."""
        return self._add("status", None)

    def subscribe(self) -> Self:
        """Subscribe to events on a connection of its own, and acknowledge the first batch, which tells how things stand."""
        self.bound |= {"start": "the server tells when it was started", "event": "the server counts what happens"}
        self.connect("events")
        self._subscription = self.uid("events")
        self.send("SUBSCRIBE_KV_EVENTS", self.instance, self.model, 0, 10, connection="events", uid=self._subscription)
        return self.batch().acknowledge()

    def batch(self) -> Self:
        """The next batch of events."""
        self._places += 1
        name = f"event.{self._places}"
        return self.receive("events", bind={"incarnation": "start", "next_cursor": name, "events.*.seq": f"{name}.one"})

    def acknowledge(self) -> Self:
        """Ask for the batch behind the last."""
        return self.raw(self._subscription, b"", b"ack", connection="events")

    def unsubscribe(self) -> Self:
        """End the subscription."""
        return self.raw(self._subscription, b"", b"cancel", connection="events").receive("events", within=SETTLED)

    def _prepare(self, operation: str, key: Key, instance: int | None, within: float | None) -> str:
        bind = {}
        self._places += 1
        places = f"place{self._places}"
        if self.setting == "shared-memory":
            bind = {"context.slots.*.offset": places}
            self.bound[places] = PLACE
        elif operation == "PREPARE_RETRIEVE":
            bind = {"data": places}
            self.bound[places] = ADDRESSES
        worker = self.instance if instance is None else instance
        self.ask(operation, key.record(self.release), worker, within=within, bind=bind)
        return places

    def _add(self, do: StepKind, connection: str | None, **values: Json) -> Self:
        self.steps.append(MpStep(do, connection, values))
        return self
