"""The transfer where the server copies blocks of the engine's tensors: here, tensors in shared memory of the client.

Without a GPU no other tensor can be opened. Of the layouts that lmcache knows there are two: keys and values, blocks, heads,
tokens of a block, size of a head (what it takes a tensor on the CPU for), and with tokens before heads where the hints say NHD.
Source: ``lmcache.v1.multiprocess.modules.lmcache_driven_transfer`` and, before 0.4.6, ``lmcache.v1.multiprocess.server``.
"""

from __future__ import annotations

import _posixshmem  # type: ignore[import-not-found]  # CPython's own, without stubs
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mockserver.mp import behaviour
from mockserver.mp.events import EventLog
from mockserver.mp.layouts import Layouts
from mockserver.mp.memory import SharedMemory
from mockserver.mp.objects import Layout, ObjectStore
from mockserver.mp.sessions import HandlerError, Sessions
from wire.mp.cpu_tensors import ELEMENT_BYTES, CpuTensor, TensorRefused, read_cpu_tensor
from wire.mp.objects import ObjectKey, kv_rank
from wire.release import Release

Key = Mapping[str, Any]
EVENT: Final = b"stub_ipc_handle"
"""What stands for the event of a device where there is none."""
NO_EVENT: Final = b""
_DIMENSIONS: Final = 5
_PLANES: Final = 2


@dataclass(frozen=True)
class Blocks:
    """The blocks of one layer in shared memory."""

    memory: SharedMemory
    start: int
    """Of the tensor, in bytes."""
    count: int
    heads: int
    tokens: int
    """Of a block."""
    head_bytes: int
    heads_first: bool

    @property
    def block_bytes(self) -> int:
        """Of one block of one plane."""
        return self.heads * self.tokens * self.head_bytes

    def load(self, plane: int, block: int) -> bytes:
        """The heads of a block, token by token and within a token head by head.

        Raises:
            OSError: the memory ends before.
        """
        data = self.memory.read(self._place(plane, block), self.block_bytes)
        return b"".join(data[piece] for piece in self._pieces())

    def save(self, plane: int, block: int, data: memoryview) -> None:
        """The inverse of :meth:`load`.

        Raises:
            OSError: the memory ends before.
        """
        out = bytearray(self.block_bytes)
        for number, piece in enumerate(self._pieces()):
            out[piece] = data[number * self.head_bytes : (number + 1) * self.head_bytes]
        self.memory.write(self._place(plane, block), memoryview(out))

    def _place(self, plane: int, block: int) -> int:
        return self.start + (plane * self.count + block) * self.block_bytes

    def _pieces(self) -> Iterator[slice]:
        for token in range(self.tokens):
            for head in range(self.heads):
                index = head * self.tokens + token if self.heads_first else token * self.heads + head
                yield slice(index * self.head_bytes, (index + 1) * self.head_bytes)


@dataclass(frozen=True)
class Tensors:
    """What one instance registered."""

    layers: tuple[Blocks, ...]
    layout: Layout
    """Of one chunk: keys and values, layers, tokens, all heads of a token."""
    model_name: str
    world_size: int


class ServerDriven:
    """Registered tensors of one server; the caller holds its lock."""

    def __init__(
        self,
        release: Release,
        chunk_size: int,
        store: ObjectStore,
        sessions: Sessions,
        layouts: Layouts,
        events: EventLog,
    ) -> None:
        self._events = events
        self._release = release
        self._chunk_size = chunk_size
        self._store = store
        self._sessions = sessions
        self._layouts = layouts
        self._instances: dict[int, Tensors] = {}

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the name of the operation."""
        return {
            "REGISTER_KV_CACHE": self.register,
            "UNREGISTER_KV_CACHE": self.unregister,
            "STORE": self.store,
            "RETRIEVE": self.retrieve,
        }

    def status(self) -> dict[str, Any]:
        """The registered instances."""
        return {"registered_gpu_ids": list(self._instances)}

    def close(self) -> None:
        """Let go of the memory of the clients."""
        for instance in list(self._instances):
            self.unregister(instance)

    def register(
        self,
        instance_id: int,
        wrappers: list[Any],
        model_name: str = "",
        world_size: int = 1,
        _: str = "",
        hints: Mapping[str, Any] | None = None,
        *__: Any,
    ) -> None:
        """Open the tensors; a second registration changes nothing.

        Raises:
            HandlerError: there are none, they are on a GPU, or they cannot be opened.
        """
        if instance_id in self._instances:
            return
        if not behaviour.CPU_TENSORS[self._release]:
            raise HandlerError(f"{len(wrappers)} tensors of instance {instance_id} that need a GPU")
        if not wrappers:
            raise HandlerError("no tensors")
        try:
            tensors = [read_cpu_tensor(self._release, bytes(wrapper.data)) for wrapper in wrappers]
        except TensorRefused as refusal:
            raise HandlerError(f"tensors that need a GPU, or none: {refusal}") from None
        opened: list[Blocks] = []
        try:
            for tensor in tensors:
                opened += [_opened(tensor, heads_first=(hints or {}).get("kv_layout") != "NHD")]
            layout = self._layout(tensors, opened)
        except BaseException:
            _close(opened)
            raise
        self._instances[instance_id] = Tensors(tuple(opened), layout, model_name, world_size)
        self._layouts.register(model_name, world_size, layout)

    def _layout(self, tensors: Sequence[CpuTensor], opened: Sequence[Blocks]) -> Layout:
        if len({(tensor.dtype, tensor.shape) for tensor in tensors}) != 1:
            raise HandlerError("layers that are not alike, which this mock does not serve")
        first = opened[0]
        if self._chunk_size % first.tokens:
            raise HandlerError(f"blocks of {first.tokens} tokens do not fill a chunk of {self._chunk_size}")
        width = first.heads * first.head_bytes // ELEMENT_BYTES[tensors[0].dtype]
        return Layout((_PLANES, len(opened), self._chunk_size, width), tensors[0].dtype)

    def unregister(self, instance_id: int) -> None:
        """Let go of the tensors of an instance."""
        tensors = self._instances.pop(instance_id, None)
        if tensors is not None:
            _close(tensors.layers)
            self._layouts.unregister(tensors.model_name, tensors.world_size)

    def store(self, key: Key, instance_id: int, block_ids: Any, *_: Any) -> list[Any]:
        """Copy blocks away; all that the key has, or none.

        Raises:
            HandlerError: the key is none of a worker, or nobody registered the instance (before 0.5.5).
        """
        tensors = self._tensors(instance_id)
        if tensors is None:
            return [NO_EVENT, False]
        keys = self._objects(key)
        chunks = self._chunks(tensors, block_ids, len(keys))
        if chunks is None:
            return [EVENT, False]
        self._tell_tokens(key, keys)
        wanted = {name: blocks for name, blocks in zip(keys, chunks, strict=True) if any(blocks)}  # block 0 stands for no data
        reserved = self._store.reserve_write(list(wanted), tensors.layout)
        for name, entry in reserved.items():
            self._store.pool.write(entry.offset, _gathered(tensors, wanted[name]))
        self._store.finish_write(reserved)
        return [EVENT, True]

    def retrieve(self, key: Key, instance_id: int, block_ids: Any, _: Any, skip: int = 0, *__: Any) -> list[Any]:
        """Copy into blocks what a lookup locked, and give back one lock of each; the first ``skip`` tokens are left alone.

        Raises:
            HandlerError: the key is none of a worker, or nobody registered the instance (before 0.5.5).
        """
        tensors = self._tensors(instance_id)
        if tensors is None:
            self._release_failed(key, instance_id)
            return [NO_EVENT, False]
        keys = self._objects(key)
        chunks = self._chunks(tensors, block_ids, len(keys))
        if chunks is None:
            return [EVENT, False]
        found = self._store.read_locked(keys)
        if not keys or len(found) != len(keys):
            if behaviour.STAGED[self._release]:
                self._store.finish_read(keys)
            return [EVENT, False]
        if any(entry.layout.length != tensors.layout.length for entry in found.values()):
            raise HandlerError("an object of another layout than that of the instance")
        left_alone = max(0, skip) // tensors.layers[0].tokens
        for name, blocks in zip(keys, chunks, strict=True):
            _scattered(tensors, blocks, self._store.data(name), left_alone)
            left_alone = max(0, left_alone - len(blocks))
        self._store.finish_read(keys)
        return [EVENT, True]

    def _tensors(self, instance_id: int) -> Tensors | None:
        tensors = self._instances.get(instance_id)
        if tensors is None and not behaviour.CPU_TENSORS[self._release]:
            raise HandlerError(f"instance {instance_id} is not registered")
        return tensors

    def _chunks(self, tensors: Tensors, block_ids: Any, count: int) -> list[list[int]] | None:
        """The blocks of each chunk; None where there are too few, or one that is not there."""
        (blocks,) = block_ids  # as many groups as there are, which is one
        each = self._chunk_size // tensors.layers[0].tokens
        if len(blocks) < count * each or any(not 0 <= block < tensors.layers[0].count for block in blocks):
            return None
        return [blocks[index * each : (index + 1) * each] for index in range(count)]

    def _objects(self, key: Key) -> list[ObjectKey]:
        session = self._sessions.get(key["request_id"])
        session.tokens = key["token_ids"]
        if session.lookup_key is None:
            session.lookup_key = {**key, "worker_id": None}
        hashes = session.hashes_between(key["start"], key["end"], strict=behaviour.TOKENS_MUST_REACH_END[self._release])
        if key["worker_id"] is None:
            raise HandlerError("a transfer needs a worker_id")
        rank = kv_rank(key["world_size"], key["worker_id"])
        return [ObjectKey(digest, key["model_name"], rank, 0, key.get("cache_salt", "")) for digest in hashes]

    def _tell_tokens(self, key: Key, keys: Sequence[ObjectKey]) -> None:
        """Tell the log the tokens of the chunks; those of the first worker stand for all."""
        size = self._chunk_size
        last = min(len(key["token_ids"]), key["end"])
        starts = range(key["start"], last - last % size, size)
        if key["worker_id"] != 0 or len(starts) != len(keys):
            return
        hashes = self._sessions.get(key["request_id"]).hashes
        for start, name in zip(starts, keys, strict=True):
            parent = hashes[start // size - 1] if start >= size else None
            self._events.bind(name.chunk_hash, key["token_ids"][start : start + size], parent)

    def _release_failed(self, key: Key, instance_id: int) -> None:
        """Give back the locks of one worker whose instance is gone, once for each lookup."""
        session = self._sessions.find(key["request_id"])
        if session is None or key["worker_id"] is None or session.lookup_key is None or session.hit_chunks < 0:
            return
        lookup = session.lookup_key
        same = all(key[name] == lookup[name] for name in ("model_name", "world_size", "token_ids", "cache_salt"))
        if not same or key["start"] < lookup["start"] or key["end"] > lookup["end"]:
            return
        claim = (instance_id, key["worker_id"], key["start"], key["end"])
        if claim in session.released:
            return
        session.released.add(claim)
        first, last = key["start"] // self._chunk_size, min(session.hit_chunks, key["end"] // self._chunk_size)
        rank = kv_rank(key["world_size"], key["worker_id"])
        names = [ObjectKey(digest, key["model_name"], rank, 0, key["cache_salt"]) for digest in session.hashes[first:last]]
        self._store.finish_read(names)


def _opened(tensor: CpuTensor, *, heads_first: bool) -> Blocks:
    if len(tensor.shape) != _DIMENSIONS or tensor.shape[0] != _PLANES or not tensor.is_contiguous or 0 in tensor.shape:
        raise HandlerError(f"a tensor of shape {tensor.shape} and strides {tensor.stride}, which this mock does not serve")
    name = tensor.shm_name.lstrip("/")
    if not name or "/" in name:
        raise HandlerError(f"{tensor.shm_name!r} is no name of shared memory")
    try:
        descriptor = _posixshmem.shm_open(f"/{name}", os.O_RDWR, mode=0o600)
    except (OSError, ValueError) as error:
        raise HandlerError(f"shared memory {name!r} cannot be opened: {error}") from None
    memory = SharedMemory(descriptor, name)
    size = memory.size
    if size < tensor.nbytes:
        memory.close()
        raise HandlerError(f"shared memory {name!r} has {size} bytes, and {tensor.nbytes} were promised")
    element = ELEMENT_BYTES[tensor.dtype]
    _, count, second, third, head = tensor.shape
    heads, tokens = (second, third) if heads_first else (third, second)
    return Blocks(memory, tensor.storage_offset * element, count, heads, tokens, head * element, heads_first)


def _close(layers: Sequence[Blocks]) -> None:
    for layer in layers:
        layer.memory.close()


def _gathered(tensors: Tensors, blocks: Sequence[int]) -> bytes:
    return b"".join(layer.load(plane, block) for plane in range(_PLANES) for layer in tensors.layers for block in blocks)


def _scattered(tensors: Tensors, blocks: Sequence[int], data: bytes, left_alone: int) -> None:
    view = memoryview(data)
    for plane in range(_PLANES):
        for layer in tensors.layers:
            for index, block in enumerate(blocks):
                if index >= left_alone:
                    layer.save(plane, block, view[: layer.block_bytes])
                view = view[layer.block_bytes :]
