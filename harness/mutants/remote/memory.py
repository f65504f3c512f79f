"""Connectors that do not keep the books of the engine's memory."""

from __future__ import annotations

import importlib
from typing import Any

from harness.mutants.marks import remote_mutant
from harness.reference.remote.connector import FileConnector, real


@remote_mutant(
    "connector-gives-back-twice",
    stands_for="the docstring of RemoteConnector.put: 'Will decrease the ref count after send finishes'",
    found_by=("remote.memory.lent", "remote.backend.stored"),
)
class GivesBackTwice(FileConnector):
    """After a put it gives the object back, which lmcache's wrapper does as well."""

    async def put(self, key: Any, memory_obj: Any) -> None:
        """Store it."""
        await super().put(key, memory_obj)
        memory_obj.ref_count_down()


@remote_mutant(
    "connector-keeps-a-reference",
    stands_for="a reference for the time of the transfer that is not given back when it fails or ends",
    found_by=("remote.memory.lent", "remote.errors.storage-lost"),
)
class KeepsAReference(FileConnector):
    """It takes a reference for a put, and keeps it."""

    async def put(self, key: Any, memory_obj: Any) -> None:
        """Store it."""
        memory_obj.ref_count_up()
        await super().put(key, memory_obj)


@remote_mutant(
    "connector-stores-later",
    stands_for="a queue in front of the storage that holds views of memory in place of bytes",
    found_by=("remote.memory.used-again", "remote.roundtrip.stored"),
)
class StoresLater(FileConnector):
    """A put only takes a view of the memory; the bytes are read when the chunk is asked for."""

    async def put(self, key: Any, memory_obj: Any) -> None:
        """Note it."""
        if not hasattr(self, "later"):
            self.later: dict[str, Any] = {}
        self.later[key.to_string()] = (key, Seen(memory_obj))

    async def get(self, key: Any) -> Any:
        """Store what is waiting, then answer."""
        for waiting, seen in list(getattr(self, "later", {}).values()):
            await super().put(waiting, seen)
        return await super().get(key)

    async def exists(self, key: Any) -> bool:
        """Whether it is stored or waits."""
        return key.to_string() in getattr(self, "later", {}) or await super().exists(key)


class Seen:
    """A memory object as it was, but for its bytes."""

    def __init__(self, memory_obj: Any) -> None:
        self.byte_array = memory_obj.byte_array
        self._about = (memory_obj.get_dtype(), memory_obj.get_shape(), memory_obj.get_memory_format())

    def get_dtype(self) -> Any:
        """As it was."""
        return self._about[0]

    def get_shape(self) -> Any:
        """As it was."""
        return self._about[1]

    def get_memory_format(self) -> Any:
        """As it was."""
        return self._about[2]


@remote_mutant(
    "connector-hands-out-again",
    stands_for="a cache of memory objects in front of the storage",
    found_by=("remote.memory.two-gets",),
)
class HandsOutAgain(FileConnector):
    """Two gets of a key answer the same object."""

    async def get(self, key: Any) -> Any:
        """The object that the last one was given, if it lives."""
        if not hasattr(self, "given"):
            self.given: dict[str, Any] = {}
        before = self.given.get(key.to_string())
        if before is not None and before.get_ref_count() > 0:
            return before
        self.given[key.to_string()] = await super().get(key)
        return self.given[key.to_string()]


@remote_mutant(
    "connector-allocates-first",
    stands_for="memory taken before it is known whether there is anything to fill it with, as in lmcache's RESP connector",
    found_by=("remote.memory.many-operations", "remote.backend.stored"),
)
class AllocatesFirst(FileConnector):
    """A get that misses leaves memory allocated."""

    async def get(self, key: Any) -> Any:
        """Answer it."""
        if not self.files.has(key.to_string()):
            self._allocate((2, 2, 16, 16), "float16", "KV_2LTD")
        return await super().get(key)


@remote_mutant(
    "connector-forgets-the-cancelled",
    stands_for="a get that awaits a thread, and is not there any more when the thread is done",
    found_by=("remote.memory.given-up",),
)
class ForgetsTheCancelled(FileConnector):
    """What a cancelled get had allocated stays allocated."""

    async def get(self, key: Any) -> Any:
        """Answer it."""
        return await self.loop.run_in_executor(self.threads, self._read, key.to_string())


@remote_mutant(
    "connector-waits-for-memory",
    stands_for="``local_cpu_backend.allocate(shape, dtype, fmt)``, as lmcache's own connectors call it",
    releases="0.3.9 and later",
    found_by=("remote.memory.pool-is-empty",),
)
class WaitsForMemory(FileConnector):
    """A get waits in the event loop until the pool has memory."""

    async def get(self, key: Any) -> Any:
        """Answer it."""
        if self.files.has(key.to_string()):
            torch: Any = importlib.import_module("torch")
            formats = real("lmcache.v1.memory_management", "MemoryFormat")
            self.local_cpu_backend.allocate(torch.Size((2, 2, 1, 8)), torch.float16, formats["KV_2LTD"]).ref_count_down()
        return await super().get(key)


@remote_mutant(
    "connector-gives-up-for-good",
    stands_for="a breaker that opens after a failure and is never closed again",
    found_by=("remote.memory.after-the-pool-was-empty",),
)
class GivesUpForGood(FileConnector):
    """Once a get found no memory, all later ones miss."""

    given_up = False

    def _read(self, key: str) -> Any:
        if self.given_up:
            return None
        found = super()._read(key)
        self.given_up = found is None and self.files.has(key)
        return found


@remote_mutant(
    "connector-brings-its-own-memory",
    stands_for="a memory object made around the buffer of the network library",
    found_by=("remote.roundtrip.stored",),
)
class BringsItsOwnMemory(FileConnector):
    """What a get answers has memory of its own."""

    async def get(self, key: Any) -> Any:
        """Answer it, copied."""
        found = await super().get(key)
        if found is None or not hasattr(found, "raw_data") or isinstance(found.raw_data, bytes | bytearray):
            return found
        kind: Any = real("lmcache.v1.memory_management", "TensorMemoryObj")
        copied = kind(found.raw_data.clone(), type(found.meta)(**vars(found.meta)), None)
        found.ref_count_down()
        return copied


@remote_mutant(
    "connector-hands-out-two-references",
    stands_for="a reference taken for the caller, beside the one that allocate gave",
    found_by=("remote.roundtrip.stored", "remote.backend.stored"),
)
class HandsOutTwoReferences(FileConnector):
    """What a get answers has two references."""

    async def get(self, key: Any) -> Any:
        """Answer it."""
        found = await super().get(key)
        if found is not None:
            found.ref_count_up()
        return found
