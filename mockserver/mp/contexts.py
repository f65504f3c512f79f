"""The engine-driven transfer: contexts, and storing and retrieving in two steps.

Over shared memory the first step of each gives places in the pool, the second commits or releases them. Without shared memory
the chunks travel inside the messages. Source: ``lmcache.v1.multiprocess.modules.{engine_driven_transfer,server_transfer}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mockserver.mp import behaviour
from mockserver.mp.layouts import Layouts
from mockserver.mp.objects import Layout, ObjectStore, StoredObject
from mockserver.mp.sessions import HandlerError, Sessions
from wire.mp.inert_pickle import PickleRefused
from wire.mp.objects import ObjectKey, kv_rank
from wire.mp.pickled_chunks import Chunk, read_chunks, write_chunks
from wire.mp.values import pack
from wire.release import Release

Key = Mapping[str, Any]
_COMPARED = ("model_name", "world_size", "worker_id", "token_ids", "start", "end", "cache_salt")


@dataclass(frozen=True)
class Context:
    """One registered instance of an engine."""

    layout: Layout
    model_name: str
    world_size: int
    block_size: int
    use_mla: bool


class EngineDriven:
    """Contexts of one server and what they have under way; the caller holds its lock."""

    def __init__(self, release: Release, chunk_size: int, store: ObjectStore, sessions: Sessions, layouts: Layouts) -> None:
        self._release = release
        self._chunk_size = chunk_size
        self._store = store
        self._sessions = sessions
        self._layouts = layouts
        self._contexts: dict[int, Context] = {}
        self._writes: dict[tuple[int, bytes], list[ObjectKey]] = {}
        self._reads: dict[tuple[int, bytes], list[ObjectKey]] = {}

    @property
    def _shared(self) -> bool:
        return bool(self._store.pool.name) and behaviour.SHARED_POOL[self._release]

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the name of the operation."""
        pool = behaviour.SHARED_POOL[self._release]
        return {
            "REGISTER_KV_CACHE_NON_GPU_CONTEXT": self.register,
            "REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT": self.register,
            "UNREGISTER_KV_CACHE_NON_GPU_CONTEXT" if pool else "UNREGISTER_KV_CACHE": self.unregister,
            "UNREGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT": self.unregister,
            "PREPARE_STORE": self.prepare_store,
            "COMMIT_STORE": self.commit_store,
            "PREPARE_RETRIEVE": self.prepare_retrieve,
            "COMMIT_RETRIEVE": self.commit_retrieve,
        }

    def status(self) -> dict[str, Any]:
        """The registered instances."""
        about = {
            str(number): {
                "model_name": context.model_name,
                "world_size": context.world_size,
                "block_size": context.block_size,
                "use_mla": context.use_mla,
            }
            for number, context in self._contexts.items()
        }
        return {"registered_non_cuda_instance_ids": list(self._contexts), "non_cuda_context_meta": about}

    def register(self, context: Mapping[str, Any]) -> dict[str, Any] | None:
        """Register an instance; a second registration changes nothing.

        Raises:
            HandlerError: the dtype is none, or a chunk has no slots.
        """
        if context["instance_id"] not in self._contexts:
            layout = self._layout(context)
            self._contexts[context["instance_id"]] = Context(
                layout, context["model_name"], context["world_size"], context["block_size"], context["use_mla"]
            )
            self._layouts.register(context["model_name"], context["world_size"], layout)
        if not behaviour.SHARED_POOL[self._release]:
            return None
        pool = self._store.pool
        return {"shm_name": pool.name, "pool_size": pool.size if pool.name else 0}

    def _layout(self, context: Mapping[str, Any]) -> Layout:
        dtype = behaviour.SPELLED.get(context["dtype_str"], context["dtype_str"])
        if dtype not in behaviour.DTYPES:
            raise HandlerError(f"{context['dtype_str']!r} is no dtype")
        slots = context.get("num_physical_slots")
        if slots is None:
            slots = self._chunk_size
        if slots <= 0:
            raise HandlerError(f"a chunk of {slots} slots")
        shape = (context["num_layers"], slots, context["hidden_dim_size"])
        return Layout(shape if context["use_mla"] else (2, *shape), dtype)

    def unregister(self, instance_id: int) -> None:
        """Forget an instance; what it had under way is committed and released."""
        context = self._contexts.pop(instance_id, None)
        if context is None:
            return
        for pending, finish in ((self._writes, self._store.finish_write), (self._reads, self._store.finish_read)):
            for transfer in [transfer for transfer in pending if transfer[0] == instance_id]:
                finish(pending.pop(transfer))
        self._layouts.unregister(context.model_name, context.world_size)

    def prepare_store(self, key: Key, instance_id: int) -> dict[str, Any]:
        """Reserve places for the chunks that are not there yet."""
        if not behaviour.PREPARE_NEEDS_CONTEXT[self._release]:
            return {"context": {}}
        context = self._context(instance_id)
        answer: dict[str, Any] = {}
        if self._shared:
            keys = self._objects(key)
            reserved = self._reserve(keys, context.layout)
            indices = [index for index, name in enumerate(keys) if name in reserved]
            answer = {"slots": [_slot(reserved[keys[index]]) for index in indices], "chunk_indices": indices}
            if indices:
                self._writes[self._transfer(key, instance_id)] = [keys[index] for index in indices]
        self._sessions.get(key["request_id"]).begun.add("store")
        return {"context": answer}

    def commit_store(self, key: Key, instance_id: int, data: bytes) -> bool:
        """Commit what was written to the places, or the chunks that come with the message."""
        if not behaviour.PREPARE_NEEDS_CONTEXT[self._release]:
            keys = self._objects(key)
            return self._store_pickled(keys, self._context(instance_id), data)
        context = self._context(instance_id)
        logged = self._ended(key, "store")
        if not self._shared or data != b"":
            stored = self._store_pickled(self._objects(key), context, data)
        else:
            pending = self._writes.pop(self._transfer(key, instance_id), None)
            stored = pending is not None
            self._store.finish_write(pending or ())
        if logged and stored:
            self._objects(key)
        return stored

    def _ended(self, key: Key, what: str) -> bool:
        """Whether the session had begun to store or retrieve; it has not any more."""
        begun = self._sessions.get(key["request_id"]).begun
        if what not in begun:
            return False
        begun.remove(what)
        return True

    def _store_pickled(self, keys: list[ObjectKey], context: Context, data: bytes) -> bool:
        try:
            chunks = read_chunks(data)
        except PickleRefused as refusal:
            raise HandlerError(f"chunks that nobody reads: {refusal}") from None
        reserved = self._reserve(keys, context.layout)
        written = []
        for name, chunk in zip(keys, chunks, strict=False):
            if name in reserved and chunk.shape == context.layout.shape:
                self._store.pool.write(reserved[name].offset, _converted(chunk, context.layout.dtype))
                written.append(name)
        self._store.finish_write(written)
        return len(written) == len(reserved)

    def prepare_retrieve(self, key: Key, instance_id: int) -> dict[str, Any]:
        """Where the chunks are, or the chunks themselves; every chunk must be locked by a lookup."""
        if behaviour.PREPARE_NEEDS_CONTEXT[self._release]:
            self._context(instance_id)
        keys = self._objects(key)
        if not behaviour.PREPARE_NEEDS_CONTEXT[self._release]:
            self._context(instance_id)
        found = self._store.read_locked(keys)
        answer: dict[str, Any] = {"success": bool(found) and len(found) == len(keys), "data": b"", "context": {}}
        if not answer["success"]:
            self._store.finish_read(found)
        elif self._shared:
            answer["context"] = {"slots": [_slot(found[name]) for name in keys]}
            self._reads[self._transfer(key, instance_id)] = keys
        else:
            answer["data"] = write_chunks([self._chunk(found[name]) for name in keys])
            self._store.finish_read(keys)
        if behaviour.PREPARE_NEEDS_CONTEXT[self._release]:
            self._sessions.get(key["request_id"]).begun.add("retrieve")
        return answer

    def commit_retrieve(self, key: Key, instance_id: int) -> bool:
        """Give back one lock of each chunk that was retrieved; a second time changes nothing."""
        logged = False
        if behaviour.PREPARE_NEEDS_CONTEXT[self._release]:
            self._context(instance_id)
            logged = self._ended(key, "retrieve")
        self._store.finish_read(self._reads.pop(self._transfer(key, instance_id), []))
        if logged:
            self._objects(key)
        return True

    def _reserve(self, keys: Sequence[ObjectKey], layout: Layout) -> dict[ObjectKey, StoredObject]:
        try:
            return self._store.reserve_write(keys, layout)
        except ValueError as error:
            raise HandlerError(str(error)) from None

    def _chunk(self, entry: StoredObject) -> Chunk:
        return Chunk(entry.layout.dtype, entry.layout.shape, self._store.pool.read(entry.offset, entry.length))

    def _context(self, instance_id: int) -> Context:
        if instance_id not in self._contexts:
            raise HandlerError(f"instance {instance_id} is not registered")
        return self._contexts[instance_id]

    def _objects(self, key: Key) -> list[ObjectKey]:
        """The objects of a transfer: those of one worker, from the session of the request.

        Raises:
            HandlerError: the key names no worker, or no chunks.
        """
        session = self._sessions.get(key["request_id"])
        session.tokens = key["token_ids"]
        if session.lookup_key is None and behaviour.TRANSFER_STARTS_LOOKUP[self._release]:
            session.lookup_key = {**key, "worker_id": None}
        hashes = session.hashes_between(key["start"], key["end"], strict=behaviour.TOKENS_MUST_REACH_END[self._release])
        if key["worker_id"] is None:
            raise HandlerError("a transfer needs a worker_id")
        rank = kv_rank(key["world_size"], key["worker_id"])
        return [ObjectKey(digest, key["model_name"], rank, 0, key.get("cache_salt", "")) for digest in hashes]

    @staticmethod
    def _transfer(key: Key, instance_id: int) -> tuple[int, bytes]:
        return instance_id, pack([key.get(name) for name in _COMPARED])


def _slot(entry: StoredObject) -> dict[str, Any]:
    return {"offset": entry.offset, "length": entry.length, "shape": list(entry.layout.shape), "dtype": entry.layout.dtype}


def _converted(chunk: Chunk, dtype: str) -> bytes:
    """The bytes of a chunk; torch would convert another dtype, which is not done here.

    Raises:
        HandlerError: it has another dtype.
    """
    if chunk.dtype != dtype:
        raise HandlerError(f"a chunk of {chunk.dtype} where {dtype} is stored")
    return chunk.data
