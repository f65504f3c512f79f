"""The load of the multiprocess servers: a plain DEALER in a process of its own, the same for both.

Each request waits for its reply. A lookup is what an engine does for a prompt: LOOKUP, QUERY_PREFETCH_STATUS until there is a
result, END_SESSION. Chunks are moved as an engine-driven worker does, over the shared memory of the server: PREPARE_STORE, the
bytes into the places, COMMIT_STORE; then the lookup, PREPARE_RETRIEVE, the bytes out of the places, COMMIT_RETRIEVE. Each byte
counts twice, stored and loaded.
"""

from __future__ import annotations

import itertools
import mmap
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import zmq

from benchmarks.loads import Done, serve
from wire.mp.frames import decode_reply, encode_request
from wire.mp.operations import OperationTable, operation_table
from wire.mp.values import pack
from wire.release import Release

_INSTANCE: Final = 7
_CHUNK_TOKENS: Final = 16
_LAYERS, _HIDDEN = 16, 256
CHUNK_BYTES: Final = 2 * _LAYERS * _CHUNK_TOKENS * _HIDDEN * 2
"""Keys and values of float16: 256 KiB."""
CHUNKS: Final = 16
"""Of one prompt."""
_PATIENCE_MS: Final = 30_000
_MEMORY: Final = Path("/dev/shm")  # noqa: S108  # where Linux keeps POSIX shared memory


@dataclass(frozen=True)
class Job:
    """What to do, to whom, and for how long.

    Attributes:
        do: ``noop``, ``lookup`` or ``move``.
        port: of the server, on the loopback address.
        seconds: for about so long; everything is done once at least.
    """

    do: str
    port: int
    seconds: float


class Worker:
    """One connection to one server."""

    def __init__(self, table: OperationTable, port: int) -> None:
        self._table = table
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.RCVTIMEO, _PATIENCE_MS)
        self._socket.connect(f"tcp://127.0.0.1:{port}")
        self._count = itertools.count(1)
        self._prompts = itertools.count(1)
        self._memory: mmap.mmap | None = None
        self._chunk = bytes(range(256)) * (CHUNK_BYTES // 256)

    def work(self, job: Job) -> Done:
        """Do a job."""
        work: dict[str, Callable[[], int]] = {"noop": self._noop, "lookup": self._lookup, "move": self._move}
        once = work[job.do]
        once()
        requests = moved = 0
        began = time.perf_counter()
        while True:
            moved += once()
            requests += 1
            took = time.perf_counter() - began
            if took >= job.seconds:
                return Done(requests, moved, took)

    def close(self) -> None:
        """End the connection."""
        self._context.destroy(linger=0)
        if self._memory is not None:
            self._memory.close()

    def _ask(self, operation: str, *payloads: Any) -> Any:
        self._socket.send_multipart([pack(next(self._count)), *encode_request(self._table, operation, list(payloads))])
        return decode_reply(self._table, operation, self._socket.recv_multipart()[1:])

    def _noop(self) -> int:
        self._ask("NOOP")
        return 0

    def _key(self) -> dict[str, Any]:
        """That of a prompt that nobody had before."""
        number = next(self._prompts)
        tokens = [number, *range(1, CHUNKS * _CHUNK_TOKENS)]
        return {
            "model_name": "bench",
            "world_size": 1,
            "worker_id": 0,
            "token_ids": tokens,
            "start": 0,
            "end": len(tokens),
            "request_id": f"prompt-{number}",
            "cache_salt": "",
            "num_kv_readers": 1,
        }

    def _lookup(self) -> int:
        self._attach()
        key = self._key()
        self._found(key, 0)
        self._ask("END_SESSION", key["request_id"])
        return 0

    def _found(self, key: dict[str, Any], wanted: int) -> None:
        self._ask("LOOKUP", {**key, "worker_id": None}, 1)
        found = None
        while found is None:
            found = self._ask("QUERY_PREFETCH_STATUS", key["request_id"])
        if found != wanted:
            raise RuntimeError(f"a lookup found {found} chunks where there are {wanted}")

    def _move(self) -> int:
        memory = self._attach()
        key = self._key()
        for slot in self._ask("PREPARE_STORE", key, _INSTANCE)["context"]["slots"]:
            memory[slot["offset"] : slot["offset"] + slot["length"]] = self._chunk
        if not self._ask("COMMIT_STORE", key, _INSTANCE, b""):
            raise RuntimeError("the server does not commit what was stored")
        self._found(key, CHUNKS)
        answer = self._ask("PREPARE_RETRIEVE", key, _INSTANCE)
        slots = answer["context"]["slots"]
        loaded = sum(len(memory[slot["offset"] : slot["offset"] + slot["length"]]) for slot in slots)
        if not answer["success"] or loaded != CHUNKS * CHUNK_BYTES:
            raise RuntimeError(f"{loaded} bytes were loaded and {CHUNKS * CHUNK_BYTES} stored")
        self._ask("COMMIT_RETRIEVE", key, _INSTANCE)
        self._ask("END_SESSION", key["request_id"])
        self._ask("CLEAR", True)  # a payload of the wire: locked objects, too
        return 2 * loaded

    def _attach(self) -> mmap.mmap:
        if self._memory is None:
            context = {
                "instance_id": _INSTANCE,
                "model_name": "bench",
                "world_size": 1,
                "block_size": _CHUNK_TOKENS,
                "num_layers": _LAYERS,
                "hidden_dim_size": _HIDDEN,
                "dtype_str": "float16",
                "use_mla": False,
            }
            found = self._ask(self._table.name_of("REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT"), context)
            with (_MEMORY / found["shm_name"]).open("r+b") as pool:
                self._memory = mmap.mmap(pool.fileno(), found["pool_size"])
        return self._memory


class Workers:
    """A worker for each server, made when it is first asked for."""

    def __init__(self, release: Release) -> None:
        self._table = operation_table(release)
        self._by_port: dict[int, Worker] = {}

    def work(self, job: Job) -> Done:
        """Do a job."""
        if job.port not in self._by_port:
            self._by_port[job.port] = Worker(self._table, job.port)
        return self._by_port[job.port].work(job)

    def close(self) -> None:
        """End all connections."""
        for worker in self._by_port.values():
            worker.close()


def main() -> None:
    """Do the jobs of standard input until it ends."""
    workers = Workers(Release.parse(sys.argv[1]))
    serve(workers.work, Job)
    workers.close()


if __name__ == "__main__":
    main()
