"""LOOKUP and what belongs to it: its result, the locks that it takes, the end of a request.

A lookup locks the objects of the leading chunks that are all there, each once for every reader; other reads of the same objects
do not tell these locks apart. Source: ``lmcache.v1.multiprocess.modules.lookup``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mockserver.mp import behaviour
from mockserver.mp.layouts import Layouts
from mockserver.mp.objects import ObjectStore
from mockserver.mp.sessions import HandlerError, Sessions, chunk_hashes
from wire.mp.objects import ObjectKey, kv_rank, ranks_of
from wire.release import Release

Key = Mapping[str, Any]
_REMEMBERED = 1024
_MOST_OBJECTS = 1 << 20
"""Of one key; the real server would go on until its memory is full."""


@dataclass(frozen=True)
class Job:
    """A lookup whose result nobody has fetched."""

    hits: int
    """Objects."""
    per_chunk: int
    request_id: str
    keys: Sequence[ObjectKey] = ()
    """The objects that it locked."""

    @property
    def chunks(self) -> int:
        """Whole chunks.

        Raises:
            HandlerError: the key was of a world without ranks.
        """
        if self.per_chunk == 0:
            raise HandlerError("a world size of 0")
        return self.hits // self.per_chunk


class Lookups:
    """Lookups of one server; the caller holds its lock."""

    def __init__(self, release: Release, chunk_size: int, store: ObjectStore, sessions: Sessions, layouts: Layouts) -> None:
        self._release = release
        self._chunk_size = chunk_size
        self._store = store
        self._sessions = sessions
        self._layouts = layouts
        self._jobs: dict[str | int, Job] = {}
        self._fetched: dict[str | int, Job] = {}
        """What was fetched lately, for faults."""
        self._next_job = 0

    @property
    def jobs(self) -> dict[str | int, Job]:
        """Lookups by what asks for their result, the oldest first."""
        return self._jobs

    @property
    def active(self) -> int:
        """Lookups whose result nobody has fetched."""
        return len(self._jobs)

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the name of the operation."""
        kind = behaviour.LOOKUP_JOBS[self._release]
        lookup: Callable[..., Any] = self.lookup_at_once if kind == "none" else self.lookup
        return {
            "LOOKUP": self.lookup_flags if behaviour.LOOKUP_FLAGS[self._release] else lookup,
            "QUERY_PREFETCH_STATUS": self.status,
            "WAIT_PREFETCH_STATUS": lambda request, _: self.status(request),
            "QUERY_PREFETCH_LOOKUP_HITS": self.hits,
            "FREE_LOOKUP_LOCKS": self.free,
            "END_SESSION": self.end,
        }

    def lookup_flags(self, keys: list[Key], _: bool | None = None) -> list[bool]:
        """The lookup of servers that answer for each key: nothing is ever there, since nothing can be stored without a GPU.

        Raises:
            HandlerError: a key is of one worker, or of a world without any, and the release asks for more.
        """
        if behaviour.LOOKUP_OF_ALL[self._release] and keys:
            if any(key["worker_id"] is not None for key in keys):
                raise HandlerError("a lookup asks for all workers")
            if keys[0]["world_size"] == 0:
                raise HandlerError("a world size of 0")
        return [False] * len(keys)

    def lookup_at_once(self, keys: Key | list[Key]) -> int:
        """The lookup of servers that answer the hits itself."""
        found = 0
        for key in keys if isinstance(keys, list) else [keys]:
            found = self._run(key, 1).chunks
        return found

    def lookup(self, key: Key, tp_size: int) -> int | None:
        """Look up and lock."""
        job = self._run(key, tp_size)
        if behaviour.LOOKUP_JOBS[self._release] == "number":
            number = self._next_job
            self._next_job += 1
            self._jobs[number] = job
            return number
        self._jobs[key["request_id"]] = job
        return None

    def _run(self, key: Key, tp_size: int) -> Job:
        nothing = Job(0, 1, key["request_id"])
        known = self._layouts.find(key["model_name"], key["world_size"])
        if known is None and behaviour.LOOKUP_NEEDS_LAYOUT[self._release]:
            return nothing
        readers = self.readers(key, tp_size)
        hashes = chunk_hashes(
            key["token_ids"], self._chunk_size, end=key["end"] if behaviour.LOOKUP_HEEDS_END[self._release] else None
        )
        if not hashes:
            return nothing
        if behaviour.LOOKUP_STARTS_SESSION[self._release]:
            session = self._sessions.get(key["request_id"])
            session.tokens = key["token_ids"]
            session.lookup_key = key
            session.hit_chunks = -1
            session.released.clear()
        keys = self.objects(key, hashes)
        readable = self._store.reserve_read(keys, readers)
        ranks = len(ranks_of(key))
        first_missing = readable.index(False) if False in readable else len(readable)
        if behaviour.FREE[self._release] != "range" and ranks:
            first_missing -= first_missing % ranks
        self._store.finish_read(
            [name for name, was in zip(keys[first_missing:], readable[first_missing:], strict=True) if was], readers
        )
        return Job(first_missing, key["world_size"], key["request_id"], keys[:first_missing])

    def readers(self, key: Key, tp_size: int) -> int:
        """How many locks each object gets.

        Raises:
            HandlerError: the key must say it and does not.
        """
        if behaviour.COUNTED_READERS[self._release]:
            if key["num_kv_readers"] < 1:
                raise HandlerError(f"num_kv_readers is {key['num_kv_readers']}")
            return int(key["num_kv_readers"])
        width = tp_size if tp_size > 1 else key["world_size"]
        return width if width > key["world_size"] else 1

    def objects(self, key: Key, hashes: list[bytes]) -> list[ObjectKey]:
        """The objects of chunks, chunk by chunk and within a chunk rank by rank.

        Raises:
            HandlerError: they are too many.
        """
        if key["worker_id"] is None and len(hashes) * key["world_size"] > _MOST_OBJECTS:
            raise HandlerError(f"{len(hashes)} chunks of each of {key['world_size']} ranks, and at most {_MOST_OBJECTS} objects")
        salt = key.get("cache_salt", "")
        return [
            ObjectKey(digest, key["model_name"], kv_rank(key["world_size"], rank), 0, salt)
            for digest in hashes
            for rank in ranks_of(key)
        ]

    def status(self, request: str | int) -> int | None:
        """The hits of a lookup in chunks, once."""
        job = self._jobs.get(request)
        if job is None:
            return behaviour.MISSING_JOB[self._release]
        return self._fetch(request, job)

    def _fetch(self, request: str | int, job: Job) -> int:
        chunks = job.chunks
        if behaviour.FREE[self._release] != "range":
            self._sessions.get(job.request_id).hit_chunks = chunks
        self._fetched[request] = self._jobs.pop(request)
        while len(self._fetched) > _REMEMBERED:
            del self._fetched[next(iter(self._fetched))]
        return chunks

    def hits(self, request: str | int) -> int | None:
        """The hits of a lookup in chunks, as often as one asks."""
        job = self._jobs.get(request)
        return behaviour.MISSING_JOB[self._release] if job is None else job.chunks

    def free(self, key: Key, tp_size: int) -> None:
        """Give back the locks of a lookup."""
        rule = behaviour.FREE[self._release]
        if behaviour.FREE_OPENS_SESSION[self._release]:
            if key["start"] >= key["end"]:
                return
            self._sessions.get(key["request_id"])
        if rule == "result" and not self._has_result(key):
            return
        hashes = chunk_hashes(key["token_ids"], self._chunk_size, start=key["start"], end=key["end"])
        if not hashes:
            return
        if behaviour.WINDOWS_NEED_LAYOUT[self._release]:
            self._layouts.require(key["model_name"], key["world_size"])
        first = key["start"] // self._chunk_size
        hit_chunks = self._sessions.get(key["request_id"]).hit_chunks if rule != "range" else -1
        if hit_chunks >= 0:
            hashes = hashes[: max(0, hit_chunks - first)]
        if hashes:
            self._store.finish_read(self.objects(key, hashes), self.readers(key, tp_size))

    def _has_result(self, key: Key) -> bool:
        """Whether the session knows what its lookup found; a result that nobody fetched is fetched for it."""
        session = self._sessions.get(key["request_id"])
        job = self._jobs.get(key["request_id"])
        if session.hit_chunks < 0 and job is not None:
            self._fetch(key["request_id"], job)
        return session.hit_chunks >= 0

    def end(self, request_id: str) -> None:
        """Forget a request; its objects are then the last to be evicted."""
        session = self._sessions.remove(request_id)
        if session is None or session.lookup_key is None or not behaviour.TOUCHED_AT_END[self._release]:
            return
        hashes = session.hashes_between(0, None, strict=False)
        if behaviour.WINDOWS_NEED_LAYOUT[self._release]:
            self._layouts.require(session.lookup_key["model_name"], session.lookup_key["world_size"])
        self._store.touch(self.objects(session.lookup_key, hashes))

    def shrink(self, payloads: Sequence[Any], chunks: int) -> bool:
        """Lose the last chunks that a lookup found, locks and all, as a server under pressure might; whether there are any."""
        job = self._fetched.get(payloads[0]) if payloads and isinstance(payloads[0], str | int) else None
        if job is None or not job.keys:
            return False
        self._store.lose(job.keys[-chunks * job.per_chunk :])
        return True
