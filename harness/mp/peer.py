"""A raw engine that talks to a multiprocess server under test: whole flows, and single operations.

Slots are looked at before they are touched, a pickle is read and never loaded, and every wait ends.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final

from fixturegen.mp import memory
from harness.client import ClientError
from harness.mp.exchanges import Exchanges, MpPeerFailed
from harness.reference.mp.layouts import Layout, Slot, indices_of, slots_of
from wire.errors import WireError
from wire.mp.pickled_chunks import Chunk, read_chunks, write_chunks
from wire.mp.records import key_record
from wire.mp.types import Array, Scalar
from wire.mp.values import Value
from wire.release import Release

POLL_PAUSE: Final = 0.002
LONGEST_POLL: Final = 0.05
REGISTER: Final = "REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT"
UNREGISTER: Final = "UNREGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT"

SLOTS: Final = "SRV-MP-009"
PICKLES: Final = "SRV-MP-019"


@dataclass(frozen=True)
class Prompt:
    """Tokens of a model, the part that is meant, and whose they are; a request of an engine."""

    model: str
    tokens: Sequence[int]
    request: str
    start: int = 0
    end: int | None = None
    """The end of the tokens, if None."""
    salt: str = ""
    world: int = 1
    readers: int = 1

    def record(self, release: Release, worker: int | None) -> dict[str, Value]:
        """The key record of the release, for a worker or for all of them."""
        members = {
            "model_name": self.model,
            "world_size": self.world,
            "worker_id": worker,
            "chunk_hash": None,
            "token_ids": list(self.tokens),
            "start": self.start,
            "end": len(self.tokens) if self.end is None else self.end,
            "request_id": self.request,
            "cache_salt": self.salt,
            "request_configs": None,
            "num_kv_readers": self.readers,
        }
        return key_record(release, members)


@dataclass(frozen=True)
class Pool:
    """The memory that a registration named; without a name chunks travel as pickles."""

    name: str
    size: int


@dataclass
class Engine:
    """An instance that registered: its layout, its rank and the server's memory."""

    instance: int
    layout: Layout
    pool: Pool
    rank: int = 0
    chunk_size: int = 16

    @property
    def chunk_bytes(self) -> int:
        """Bytes of a chunk."""
        return self.layout.length(self.chunk_size)


@dataclass(frozen=True)
class Prepared:
    """What PREPARE_STORE gave: places, and the chunk that each is for."""

    slots: Sequence[Slot]
    indices: Sequence[int]


@dataclass
class MpPeer(Exchanges):
    """An engine by one connection."""

    _chunk_size: int | None = None

    # Operations that need no data

    def noop(self, patience: float | None = None) -> None:
        """A sign of life.

        Raises:
            MpPeerFailed: it does not come, or is another.
        """
        said = self.ask("NOOP", patience=patience)
        if said != "OK":
            raise MpPeerFailed("SRV-MP-005", f"NOOP was answered {said!r:.60}, and OK is due")

    def chunk_size(self) -> int:
        """Tokens of a chunk; asked once. Servers before 0.3.10 do not tell, and there are none.

        Raises:
            MpPeerFailed: it is no number of tokens.
        """
        if self._chunk_size is None:
            found = self.ask("GET_CHUNK_SIZE")
            if type(found) is not int or found < 1:
                raise MpPeerFailed("SRV-MP-005", f"GET_CHUNK_SIZE was answered {found!r:.40}")
            self._chunk_size = found
        return self._chunk_size

    def clear(self, *, force: bool = True) -> None:
        """Empty the cache."""
        self.ask("CLEAR", *([force] if self.table.named("CLEAR").payloads else []))

    def end(self, prompt: Prompt) -> None:
        """End the session of a request."""
        self.ask("END_SESSION", prompt.request)

    def lookup(self, prompt: Prompt, tp_size: int | None = None) -> int:
        """How many chunks of a prompt are there, once the server knows; from 0.3.14 on.

        Raises:
            MpPeerFailed: no answer comes, or it is no count.
        """
        return self.hits(prompt, self.begin_lookup(prompt, tp_size))

    def begin_lookup(self, prompt: Prompt, tp_size: int | None = None) -> Value:
        """LOOKUP without the poll; what it is asked for by."""
        payloads = self.table.named("LOOKUP").payloads
        record: Value = prompt.record(self.release, None)
        asked = [[record] if isinstance(payloads[0], Array) else record]
        if len(payloads) > 1:
            asked.append(prompt.world if tp_size is None else tp_size)
        return self.ask("LOOKUP", *asked)

    def hits(self, prompt: Prompt, handle: Value) -> int:
        """Poll for the outcome of a lookup until there is one."""
        found = handle
        if "QUERY_PREFETCH_STATUS" in self.table:
            by_number = self.table.named("QUERY_PREFETCH_STATUS").payloads == (Scalar("int"),)
            until, pause = time.monotonic() + self.patience, POLL_PAUSE
            while (found := self.ask("QUERY_PREFETCH_STATUS", handle if by_number else prompt.request)) is None:
                if time.monotonic() > until:
                    raise MpPeerFailed("SRV-MP-012", f"a lookup did not end within {self.patience:g} s")
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_POLL)
        if type(found) is not int or found < 0:
            raise MpPeerFailed("SRV-MP-012", f"a lookup found {found!r:.40} chunks")
        return found

    def free(self, prompt: Prompt, tp_size: int | None = None) -> None:
        """Give back the locks of a lookup."""
        self.ask("FREE_LOOKUP_LOCKS", prompt.record(self.release, None), prompt.world if tp_size is None else tp_size)

    # The engine-driven data path, from 0.4.6 on

    def register(self, instance: int, model: str, *, rank: int = 0, world: int = 1, **layout: Any) -> Engine:
        """Register an instance of an engine.

        Raises:
            MpPeerFailed: it is not answered, or the memory that the reply names is not there.
        """
        size = self.chunk_size()
        about = {"num_layers": 2, "hidden_dim_size": 8, "dtype": "float16", "use_mla": False, **layout}
        context = {
            "instance_id": instance,
            "model_name": model,
            "world_size": world,
            "block_size": size,
            "num_layers": about["num_layers"],
            "hidden_dim_size": about["hidden_dim_size"],
            "dtype_str": about["dtype"],
            "use_mla": about["use_mla"],
        }
        found = self.ask(REGISTER, context) or {}
        pool = Pool(found.get("shm_name", ""), found.get("pool_size", 0))
        if pool.name:
            self._look_at(pool)
        return Engine(instance, Layout.of(about), pool, rank, size)

    def unregister(self, engine: Engine) -> None:
        """Take a registration back; from 0.4.7 on."""
        self.ask(UNREGISTER, engine.instance)

    def store(self, engine: Engine, prompt: Prompt, chunks: Sequence[bytes]) -> bool:
        """Store the chunks of the part of a prompt; whether the server says that it has them."""
        if not engine.pool.name:
            self.ask("PREPARE_STORE", prompt.record(self.release, engine.rank), engine.instance)
            shape = engine.layout.shape(engine.chunk_size)
            return self.commit(engine, prompt, write_chunks([Chunk(engine.layout.dtype, shape, chunk) for chunk in chunks]))
        prepared = self.prepare(engine, prompt, len(chunks))
        self.fill(engine, prepared, chunks)
        return self.commit(engine, prompt) if prepared.slots else True

    def prepare(self, engine: Engine, prompt: Prompt, count: int) -> Prepared:
        """PREPARE_STORE over shared memory.

        Raises:
            MpPeerFailed: the places that the reply names are none.
        """
        context = self.ask("PREPARE_STORE", prompt.record(self.release, engine.rank), engine.instance)["context"]
        with _reading_slots():
            indices = indices_of(context.get("chunk_indices"), count) if context.get("slots") != [] else ()
            return Prepared(slots_of(context.get("slots"), len(indices), engine.chunk_bytes, engine.pool.size), indices)

    def fill(self, engine: Engine, prepared: Prepared, chunks: Sequence[bytes]) -> None:
        """Write chunks into places."""
        for index, slot in zip(prepared.indices, prepared.slots, strict=True):
            self._touch(engine.pool, lambda slot=slot, index=index: memory.write(engine.pool.name, slot.offset, chunks[index]))

    def commit(self, engine: Engine, prompt: Prompt, data: bytes = b"") -> bool:
        """COMMIT_STORE."""
        return bool(self.ask("COMMIT_STORE", prompt.record(self.release, engine.rank), engine.instance, data))

    def retrieve(self, engine: Engine, prompt: Prompt) -> list[bytes] | None:
        """The chunks of the part of a prompt that was looked up; None where the server says that it failed."""
        found = self.open_retrieve(engine, prompt)
        self.close_retrieve(engine, prompt)
        return found

    def open_retrieve(self, engine: Engine, prompt: Prompt) -> list[bytes] | None:
        """PREPARE_RETRIEVE, and a copy of what lies in its places."""
        answer = self.ask("PREPARE_RETRIEVE", prompt.record(self.release, engine.rank), engine.instance)
        if not answer["success"]:
            return None
        end = len(prompt.tokens) if prompt.end is None else prompt.end
        return self._loaded(engine, answer, (end - prompt.start) // engine.chunk_size)

    def close_retrieve(self, engine: Engine, prompt: Prompt) -> bool:
        """COMMIT_RETRIEVE."""
        return bool(self.ask("COMMIT_RETRIEVE", prompt.record(self.release, engine.rank), engine.instance))

    def _loaded(self, engine: Engine, answer: Mapping[str, Any], count: int) -> list[bytes]:
        if not engine.pool.name:
            try:
                tensors = read_chunks(answer["data"])
            except WireError as refusal:
                raise MpPeerFailed(PICKLES, f"the data of PREPARE_RETRIEVE is no list of plain tensors: {refusal}") from None
            expected = (engine.layout.dtype, engine.layout.shape(engine.chunk_size))
            if len(tensors) != count or any((each.dtype, each.shape) != expected for each in tensors):
                raise MpPeerFailed(
                    PICKLES, f"PREPARE_RETRIEVE gave {len(tensors)} tensors for {count} chunks, or of another layout"
                )
            return [each.data for each in tensors]
        with _reading_slots():
            slots = slots_of(answer["context"].get("slots"), count, engine.chunk_bytes, engine.pool.size)
        return [
            self._touch(engine.pool, lambda slot=slot: memory.read(engine.pool.name, slot.offset, slot.length)) for slot in slots
        ]

    def _look_at(self, pool: Pool) -> None:
        try:
            held = memory.path_of(pool.name).stat().st_size
        except (OSError, ValueError) as error:
            raise MpPeerFailed(
                SLOTS, f"the server names shared memory {pool.name!r:.80}, which cannot be opened: {error}"
            ) from None
        if not 0 < pool.size <= held:
            raise MpPeerFailed(SLOTS, f"the server says that its shared memory has {pool.size} bytes, and it has {held}")

    def _touch(self, pool: Pool, act: Any) -> Any:
        try:
            return act()
        except (OSError, ValueError) as error:
            raise MpPeerFailed(SLOTS, f"the server's shared memory {pool.name}: {error}") from None


class _reading_slots:  # noqa: N801  # reads as a statement
    """Slots that the reference client refuses are the server's fault."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, ClientError):
            raise MpPeerFailed(SLOTS, str(error)) from None
