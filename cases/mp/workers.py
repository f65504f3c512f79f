"""What cases store, look up and load: workers of a model that registered it, requests over tokens, and the bytes of chunks."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from harness.captures import patterned
from harness.client import Answer
from harness.judge import Judge
from harness.mp.keys import MpKeys
from harness.mp.targets import CHUNK_SIZE, MpTarget
from harness.per_process import PerProcess
from harness.subject import DEFAULT_TIMEOUT_MS, Subject

CHUNK: Final = CHUNK_SIZE
CHUNK_BYTES: Final = 1024
"""Of the small layout."""
_instances: Final = PerProcess(lambda: itertools.count(uuid.uuid4().int & 0x3FFFFFF0))


@dataclass(frozen=True)
class Request:
    """Tokens of a model, the part of them that is meant, and who asks."""

    keys: MpKeys
    model: str
    tokens: Sequence[int]
    start: int = 0
    end: int = -1
    """-1 for the end of the tokens."""
    salt: str = ""
    world_size: int = 1
    readers: int = 1
    id: str = ""

    def key(self, worker: int | None = None) -> dict[str, Any]:
        """The key of the contract."""
        return {
            "model_name": self.model,
            "world_size": self.world_size,
            "worker_id": worker,
            "tokens": list(self.tokens),
            "start": self.start,
            "end": len(self.tokens) if self.end < 0 else self.end,
            "request_id": self.id,
            "cache_salt": self.salt,
            "num_kv_readers": self.readers,
        }

    def part(self, start: int, end: int) -> Request:
        """The same request, for another part of its tokens."""
        return replace(self, start=start, end=end)

    def again(self, **changes: Any) -> Request:
        """Another request, for the same but for some changes."""
        return replace(self, id=self.keys.request_id(), **changes)


def request(keys: MpKeys, tokens: Sequence[int], **more: Any) -> Request:
    """A request with an id of its own, for the model of a test."""
    return Request(keys, more.pop("model", keys.model), tokens, id=keys.request_id(), **more)


def some_tokens(chunks: int, seed: int = 1) -> list[int]:
    """Tokens of so many whole chunks."""
    return [(seed * 7919 + index * 31) % 50000 for index in range(chunks * CHUNK)]


def contents(count: int, seed: int = 1) -> list[bytes]:
    """The bytes of so many chunks, each different from all others."""
    return [patterned(seed * 100 + index, CHUNK_BYTES) for index in range(count)]


@dataclass(frozen=True)
class Worker:
    """A client with a connection over which it registered a model as one instance."""

    client: Subject
    judge: Judge
    connection: str
    instance: int
    rank: int = 0

    def store(self, wanted: Request, chunks: Sequence[bytes]) -> bool:
        """Store the chunks of a request; whether the client says that they are stored."""
        return bool(self.client.ok("mp_store", **self._about(wanted), chunks=list(chunks))["stored"])

    def stored(self, wanted: Request, chunks: Sequence[bytes]) -> None:
        """Store chunks, which must succeed."""
        self.judge.holds(self.store(wanted, chunks), "mp_store says that the chunks were not stored", cite="MP-FLOW-006")

    def lookup(self, wanted: Request, *, tp_size: int | None = None) -> int:
        """How many chunks of a request are there; they are locked afterwards."""
        return int(self.client.ok("mp_lookup", **self._shared(wanted, tp_size))["hits"])

    def hits(self, wanted: Request, expected: int, *, because: str, cite: str = "MP-FLOW-004") -> None:
        """Look a request up, which must find so many chunks, and give their locks back."""
        found = self.lookup(wanted)
        self.judge.holds(
            found == expected,
            f"mp_lookup found {found} chunks, {expected} was right: {because}",
            cite=cite,
            client_answered=f"hits = {found}",
            conformant_answer=f"hits = {expected}",
        )
        if found:
            self.free(wanted)

    def ask(self, op: str, wanted: Request, chunks: Sequence[bytes] = ()) -> Answer:
        """A store, lookup, retrieve or free of a request, whatever comes of it."""
        if op in {"mp_store", "mp_retrieve"}:
            more = {"chunks": list(chunks)} if op == "mp_store" else {}
            return self.client.call(op, **self._about(wanted), **more)
        return self.client.call(op, **self._shared(wanted, None))

    def retrieve(self, wanted: Request) -> Answer:
        """Load the chunks of a request."""
        return self.ask("mp_retrieve", wanted)

    def retrieved(self, wanted: Request, expected: Sequence[bytes]) -> None:
        """Load the chunks of a request that was looked up; they must be these."""
        self.same_chunks(self.retrieve(wanted), expected)

    def loaded(self, wanted: Request, expected: Sequence[bytes]) -> None:
        """Look chunks up, which must all be there, and load them."""
        found = self.lookup(wanted)
        self.judge.holds(found == len(expected), f"mp_lookup found {found} of {len(expected)} stored chunks", cite="MP-FLOW-004")
        self.retrieved(wanted, expected)

    def same_chunks(self, answer: Answer, expected: Sequence[bytes]) -> None:
        """An answer to a retrieve has these chunks."""
        got = self.judge.ok("mp_retrieve", answer, conformant=f"{len(expected)} chunks")["chunks"]
        self.judge.holds(len(got) == len(expected), f"mp_retrieve gave {len(got)} chunks for {len(expected)}", cite="MP-FLOW-005")
        for index, (one, other) in enumerate(zip(expected, got, strict=True)):
            self.judge.same_bytes(one, other, what=f"chunk {index}", source="what this case stored", cite="MP-FLOW-005")

    def free(self, wanted: Request, *, tp_size: int | None = None) -> None:
        """Give back what a lookup locked."""
        self.client.ok("mp_free_locks", **self._shared(wanted, tp_size))

    def _about(self, wanted: Request) -> dict[str, Any]:
        return {"connection": self.connection, "instance_id": self.instance, "key": wanted.key(self.rank)}

    def _shared(self, wanted: Request, tp_size: int | None) -> dict[str, Any]:
        # The worker's own rank, which a client must not send: a lookup is for all ranks.
        return {"connection": self.connection, "key": wanted.key(self.rank), "tp_size": tp_size or wanted.world_size}


def worker(
    client: Subject,
    judge: Judge,
    server: MpTarget,
    keys: MpKeys,
    *,
    world_size: int = 1,
    rank: int = 0,
    timeout_ms: int = DEFAULT_TIMEOUT_MS,
) -> Worker:
    """A new connection, over which the model of a test is registered under a new instance."""
    connection, instance = client.connect(server, timeout_ms=timeout_ms), next(_instances.value)
    client.ok("mp_register", connection=connection, instance_id=instance, context=keys.context(world_size=world_size))
    return Worker(client, judge, connection, instance, rank)


def knows_too(of: Worker, wanted: Request, *, rank: int = 0) -> Worker:
    """The same connection, over which the model of another request is registered as well."""
    instance = next(_instances.value)
    about = wanted.keys.context(model_name=wanted.model, world_size=wanted.world_size)
    of.client.ok("mp_register", connection=of.connection, instance_id=instance, context=about)
    return replace(of, instance=instance, rank=rank)
