"""Defects in the use of the server's shared memory, and in reading pickles."""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.client import ClientError
from harness.mutants.mutant import mp_mutant
from harness.reference.mp.client import ReferenceMpClient
from harness.reference.mp.codec import Range
from harness.reference.mp.flow import MpFlow
from harness.reference.mp.layouts import Slot
from harness.reference.mp.link import MpLink, Registered
from harness.reference.mp.pool import Pool
from wire.mp.values import Value

Answer = dict[str, Any]
SHARED = "0.4.7 and later"


class _Unchecked(MpFlow):
    """Follows slots as they come; what a mapping cannot give is left out, where a language without bounds would go on."""

    def __init__(self, *, length: bool = True, bounds: bool = True, count: bool = True) -> None:
        self._length, self._bounds, self._count = length, bounds, count

    def loaded(self, response: Mapping[str, Any], worker: Registered, cut: Range, chunk_size: int) -> list[bytes]:
        slots = response["context"].get("slots")
        if worker.pool is None or not slots:
            return super().loaded(response, worker, cut, chunk_size)
        size, pool = worker.layout.length(chunk_size), worker.pool
        return [self._read(pool, slot, size) for slot in self._usable(slots, cut.chunks, size, pool)]

    def store(self, link: MpLink, instance_id: int, key: Mapping[str, Any], chunks: Sequence[bytes], until: float) -> bool:
        worker, size = link.worker(instance_id), link.chunk_size(until)
        cut = link.codec.whole_chunks(key, size)
        if worker.pool is None or not cut.chunks:
            return super().store(link, instance_id, key, chunks, until)
        record = self.record(link, key, cut, key["worker_id"])
        context = link.request("PREPARE_STORE", [record, instance_id], until)["context"]
        if not context.get("slots"):
            return True
        length = worker.layout.length(size)
        slots = self._usable(context["slots"], len(context["chunk_indices"]), length, worker.pool)
        for index, slot in zip(self.places(context["chunk_indices"], cut.chunks), slots, strict=False):
            if slot.offset >= 0 and slot.offset + length <= worker.pool.size:
                worker.pool.write(slot.offset, chunks[index][: slot.length])
        return self.commit_store(link, [record, instance_id, b""], until)

    def places(self, indices: Sequence[int], count: int) -> Sequence[int]:
        """The chunks that are written into the slots."""
        if self._count and (len(set(indices)) != len(indices) or not all(0 <= index < count for index in indices)):
            raise ClientError("refused", "chunk indices")
        return [index % count for index in indices]

    def _usable(self, slots: Sequence[Mapping[str, Any]], count: int, length: int, pool: Pool) -> list[Slot]:
        if self._count and len(slots) != count:
            raise ClientError("refused", "number of slots")
        found = [Slot(_number(slot["offset"]), _number(slot["length"])) for slot in slots]
        for slot in found:
            if self._length and slot.length != length:
                raise ClientError("refused", "length of a slot")
            if self._bounds and not 0 <= slot.offset <= pool.size - slot.length:
                raise ClientError("refused", "place of a slot")
        return found

    def _read(self, pool: Pool, slot: Slot, length: int) -> bytes:
        offset = slot.offset if 0 <= slot.offset <= pool.size - length else 0
        return pool.read(offset, length)


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


@mp_mutant(
    "mp-slot-bounds-unchecked",
    stands_for="Offsets of a peer that are added to a pointer.",
    releases=SHARED,
    found_by=(
        "mp.memory.retrieve-from-a-wrong-slot*",
        "mp.memory.store-into-a-wrong-slot*",
        "mp.memory.retrieve-from-senseless*",
    ),
)
class BoundsUnchecked(ReferenceMpClient):
    """Follows slots that lie outside the shared memory."""

    flow = _Unchecked(bounds=False)


@mp_mutant(
    "mp-slot-length-ignored",
    stands_for="A copy of as many bytes as the client thinks a chunk has.",
    releases=SHARED,
    found_by=("mp.memory.retrieve-from-a-wrong-slot[*slot-length*]", "mp.memory.store-into-a-wrong-slot[*slot-length*]"),
)
class LengthIgnored(ReferenceMpClient):
    """Does not look at the length of slots."""

    flow = _Unchecked(length=False)


@mp_mutant(
    "mp-slot-count-ignored",
    stands_for="zip() over chunks and slots, which ends with the shorter.",
    releases=SHARED,
    found_by=("mp.memory.retrieve-from-senseless-slots[*too-*]", "mp.memory.store-of-senseless-chunks*"),
)
class CountIgnored(ReferenceMpClient):
    """Takes as many slots as there are, for whichever chunks."""

    flow = _Unchecked(count=False)


class _InOrder(_Unchecked):
    def places(self, indices: Sequence[int], count: int) -> Sequence[int]:
        del count
        return range(len(indices))


@mp_mutant(
    "mp-chunk-indices-ignored",
    stands_for="Slots that are filled in order: right until some chunks are there already.",
    releases=SHARED,
    found_by=("mp.roundtrip.stored-in-part", "mp.memory.store-of-senseless-chunks*"),
)
class IndicesIgnored(ReferenceMpClient):
    """Writes the first chunks into the slots, whichever they are for."""

    flow = _InOrder()


class _Kept(MpLink):
    def forget(self, instance_id: int) -> None:
        self.workers.pop(instance_id, None)


KEPT: list[Pool] = []
"""Mappings that nobody lets go of."""


class _Keeping(MpFlow):
    def register(self, link: MpLink, instance_id: int, context: Mapping[str, Any], until: float) -> Registered:
        registered = super().register(link, instance_id, context, until)
        if registered.pool is not None:
            KEPT.append(registered.pool)
        return registered


@mp_mutant(
    "mp-memory-leaked",
    stands_for="A mapping that is made with each registration, and never taken back.",
    releases=SHARED,
    found_by=("mp.memory.memory-is-let-go",),
)
class MemoryLeaked(ReferenceMpClient):
    """Keeps the shared memory when the connection is closed."""

    flow = _Keeping()

    def connect(self, **members: Any) -> Answer:
        """With a connection that keeps what it has."""
        answer = super().connect(**members)
        plain = self._links[members["connection"]]
        self._links[members["connection"]] = _Kept(plain.connection, plain.table, plain.codec)
        return answer


class _RemovingLink(MpLink):
    """Remembers the name of the memory, and removes it in the end."""

    def request(self, name: str, payloads: Sequence[Value], until: float) -> Value:
        result = super().request(name, payloads, until)
        if name.startswith("REGISTER_KV_CACHE_") and result:
            self._memory = str(result.get("shm_name", "")).lstrip("/")
        return result

    def close(self) -> None:
        super().close()
        if getattr(self, "_memory", ""):
            Path("/dev/shm", self._memory).unlink(missing_ok=True)  # noqa: S108  # the place of shared memory


@mp_mutant(
    "mp-memory-removed",
    stands_for="Python's resource tracker, which removes at exit what a process has attached.",
    releases=SHARED,
    found_by=("mp.memory.memory-stays",),
)
class MemoryRemoved(ReferenceMpClient):
    """Removes the server's shared memory when it is done with it."""

    def connect(self, **members: Any) -> Answer:
        """With a connection that tidies up."""
        answer = super().connect(**members)
        plain = self._links[members["connection"]]
        self._links[members["connection"]] = _RemovingLink(plain.connection, plain.table, plain.codec)
        return answer


class _Planted(pickle.Unpickler):
    """Loads what the cases plant, which makes a file, and nothing else: a live server could send anything."""

    def find_class(self, module: str, name: str) -> Any:
        known = {"Path.touch": Path.touch, "PosixPath": type(Path())}
        if module.partition(".")[0] == "pathlib" and name in known:
            return known[name]
        raise pickle.UnpicklingError(f"{module}.{name} is not what the cases plant")


class _Loading(MpFlow):
    def loaded(self, response: Mapping[str, Any], worker: Registered, cut: Range, chunk_size: int) -> list[bytes]:
        try:
            return super().loaded(response, worker, cut, chunk_size)
        except ClientError:
            if worker.pool is None:
                _Planted(io.BytesIO(response["data"])).load()  # the defect
            raise


@mp_mutant(
    "mp-pickle-loaded",
    stands_for="pickle.loads of what the server sends, as lmcache's own client does.",
    releases="0.4.6 and later",
    found_by=("mp.memory.malicious-pickle*",),
)
class PickleLoaded(ReferenceMpClient):
    """Loads a pickle that it cannot read otherwise."""

    flow = _Loading()
