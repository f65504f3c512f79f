"""What takes several requests: to register, to store in two steps, to look up and wait, to load in two steps."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from harness.client import ClientError, MissError, UnsupportedError
from harness.reference.mp.codec import Range
from harness.reference.mp.errors import NotSentError, require_operation, unwritable
from harness.reference.mp.layouts import Layout, indices_of, slots_of
from harness.reference.mp.link import MpLink, Registered
from harness.reference.mp.pool import Pool
from wire.mp.objects import TOKEN_MODE
from wire.mp.pickled_chunks import Chunk, PickleRefused, read_chunks, write_chunks
from wire.mp.types import Array, Scalar
from wire.mp.values import Value

ALL_WORKERS: Final = None
"""What a key record names as its worker where it means all of them."""
FIRST_PAUSE: Final = 0.001
LONGEST_PAUSE: Final = 0.05
"""Seconds between two polls of a lookup."""


class MpFlow:
    """The sequences of requests; ``until`` is the moment by which one must end."""

    def register(self, link: MpLink, instance_id: int, context: Mapping[str, Any], until: float) -> Registered:
        """Register a worker's layout, and attach the shared memory that the server names."""
        layout = Layout.of(context)
        payload = {
            "instance_id": instance_id,
            "model_name": context["model_name"],
            "world_size": context["world_size"],
            "block_size": context["block_size"],
            "num_layers": context["num_layers"],
            "hidden_dim_size": context["hidden_dim_size"],
            "dtype_str": context["dtype"],
            "use_mla": context["use_mla"],
        }
        found = link.request(link.table.name_of("REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT"), [payload], until) or {}
        name, size = found.get("shm_name", ""), found.get("pool_size", 0)
        registered = Registered(layout, Pool(name, size) if name and size > 0 else None)
        link.forget(instance_id)
        link.workers[instance_id] = registered
        return registered

    def unregister(self, link: MpLink, instance_id: int, until: float) -> None:
        """Take a registration back."""
        link.request(link.table.name_of("UNREGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT"), [instance_id], until)
        link.forget(instance_id)

    def store(self, link: MpLink, instance_id: int, key: Mapping[str, Any], chunks: Sequence[bytes], until: float) -> bool:
        """Store the whole chunks of a range; what the server says of it."""
        require_operation(link.table, "PREPARE_STORE")
        worker = link.worker(instance_id)
        size = link.chunk_size(until)
        cut = link.codec.whole_chunks(key, size)
        length = worker.layout.length(size)
        if len(chunks) != cut.chunks or any(len(chunk) != length for chunk in chunks):
            lengths = sorted({len(chunk) for chunk in chunks})
            raise ClientError(
                "refused", f"{len(chunks)} chunks of {lengths} bytes for {cut.chunks} chunks of {length} bytes each"
            )
        if not cut.chunks:
            return True
        record = self.record(link, key, cut, key["worker_id"])
        context = link.request("PREPARE_STORE", [record, instance_id], until)["context"]
        if worker.pool is None:
            with unwritable():
                data = write_chunks([Chunk(worker.layout.dtype, worker.layout.shape(size), chunk) for chunk in chunks])
            return self.commit_store(link, [record, instance_id, data], until)
        indices = indices_of(context.get("chunk_indices"), cut.chunks) if context.get("slots") != [] else ()
        slots = slots_of(context.get("slots"), len(indices), length, worker.pool.size)
        if not slots:
            return True
        for index, slot in zip(indices, slots, strict=True):
            worker.pool.write(slot.offset, chunks[index])
        return self.commit_store(link, [record, instance_id, b""], until)

    def commit_store(self, link: MpLink, payloads: Sequence[Value], until: float) -> bool:
        """The second step, sent once whatever becomes of it: nobody knows whether a silent server did it."""
        return bool(link.request("COMMIT_STORE", payloads, until))

    def lookup(self, link: MpLink, key: Mapping[str, Any], tp_size: int, until: float) -> int:
        """How many chunks from the first token on the server has, once it knows."""
        if not TOKEN_MODE[link.table.release]:
            raise UnsupportedError(f"lookups of lmcache {link.table.release} name hashes, which nobody here makes")
        cut = link.codec.whole_chunks(key, link.chunk_size(until))
        if not cut.chunks:
            return 0
        record = self.record(link, key, cut, self.worker_of_lookup(key))
        payloads = link.table.named("LOOKUP").payloads
        asked: list[Value] = [[record] if isinstance(payloads[0], Array) else record]
        found = link.request("LOOKUP", asked + ([tp_size] if len(payloads) > 1 else []), until)
        if "QUERY_PREFETCH_STATUS" in link.table:
            by_number = link.table.named("QUERY_PREFETCH_STATUS").payloads == (Scalar("int"),)
            found = self.poll(link, found if by_number else key["request_id"], until)
        if type(found) is not int or found < 0:
            raise ClientError("protocol", f"a lookup found {found!r:.40} chunks")
        return found

    def poll(self, link: MpLink, handle: Value, until: float) -> Value:
        """Ask for the outcome of a lookup until there is one."""
        pause = FIRST_PAUSE
        while (found := link.request("QUERY_PREFETCH_STATUS", [handle], until)) is None:
            if time.monotonic() + pause > until:
                raise ClientError("timeout", f"the lookup did not end within {link.connection.timeout:g} s")
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        return found

    def retrieve(self, link: MpLink, instance_id: int, key: Mapping[str, Any], until: float) -> list[bytes]:
        """The bytes of the chunks of a range; the server's read locks are given back on every way out.

        Raises:
            MissError: the server does not have all of them, or no lookup holds them.
        """
        require_operation(link.table, "PREPARE_RETRIEVE")
        worker = link.worker(instance_id)
        size = link.chunk_size(until)
        cut = link.codec.whole_chunks(key, size)
        if not cut.chunks:
            return []
        payloads = [self.record(link, key, cut, key["worker_id"]), instance_id]
        try:
            chunks = self.loaded(link.request("PREPARE_RETRIEVE", payloads, until), worker, cut, size)
        except NotSentError:
            raise
        except (ClientError, MissError) as error:
            self.give_back(link, payloads, until, waiting=not (isinstance(error, ClientError) and error.kind == "timeout"))
            raise
        link.request("COMMIT_RETRIEVE", payloads, until)
        return chunks

    def give_back(self, link: MpLink, payloads: Sequence[Value], until: float, *, waiting: bool) -> None:
        """The second step of a retrieve that failed in the first."""
        if not waiting:
            link.tell("COMMIT_RETRIEVE", payloads)
            return
        with suppress(ClientError):
            link.request("COMMIT_RETRIEVE", payloads, until)

    def loaded(self, response: Mapping[str, Any], worker: Registered, cut: Range, chunk_size: int) -> list[bytes]:
        """What a PREPARE_RETRIEVE was answered with, copied."""
        if not response["success"]:
            raise MissError
        length = worker.layout.length(chunk_size)
        if worker.pool is None:
            try:
                tensors = read_chunks(response["data"])
            except PickleRefused as error:
                raise ClientError("protocol", str(error)) from error
            expected = (worker.layout.dtype, worker.layout.shape(chunk_size))
            if len(tensors) != cut.chunks or any((each.dtype, each.shape) != expected for each in tensors):
                raise ClientError(
                    "refused", f"the reply has not {cut.chunks} tensors of {expected[0]} and shape {list(expected[1])}"
                )
            return [each.data for each in tensors]
        slots = slots_of(response["context"].get("slots"), cut.chunks, length, worker.pool.size)
        return [worker.pool.read(slot.offset, slot.length) for slot in slots]

    def free_locks(self, link: MpLink, key: Mapping[str, Any], tp_size: int, until: float) -> None:
        """Give back what a lookup locked."""
        require_operation(link.table, "FREE_LOOKUP_LOCKS")
        cut = link.codec.whole_chunks(key, link.chunk_size(until))
        if cut.chunks:
            link.request("FREE_LOOKUP_LOCKS", [self.record(link, key, cut, self.worker_of_lookup(key)), tp_size], until)

    def worker_of_lookup(self, key: Mapping[str, Any]) -> int | None:
        """The worker that lookups ask for."""
        del key
        return ALL_WORKERS

    def record(self, link: MpLink, key: Mapping[str, Any], cut: Range, worker_id: int | None) -> Value:
        """The key record of an mp key."""
        with unwritable():
            return link.codec.key_record(link.table.release, key, cut, worker_id)
