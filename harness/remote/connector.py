"""An open connector as a case holds it: the calls that lmcache makes, and what came of them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from harness.client import Budget, ClientFailure
from harness.failure import UnsupportedByClient
from harness.patience import Patience
from harness.remote.answers import About, Found, Got, GotMany, Raised, Said, Stored
from harness.remote.chunks import Chunk, ChunkKey
from harness.remote.contract import OPTIONAL, REMOVES
from harness.remote.host_process import Host
from wire.release import Release

LARGE: Final = 1 << 20
"""Bytes of a chunk that takes its time."""
LARGE_CALL: Final = 60.0
"""Seconds for a call that moves 64 MiB or makes hundreds of requests."""


class Connector:
    """One open connector; calls are made one after the other, unless :meth:`many` says otherwise."""

    def __init__(self, host: Host, release: Release, about: Mapping[str, Any], budget: Budget, patience: Patience) -> None:
        self._host = host
        self.release = release
        self._budget = budget
        self._patience = patience
        self._time = budget.call
        """Seconds for a call; more once a large chunk was stored."""
        self.about = About(
            about["class"],
            tuple(about["bases"]),
            about["coroutines"],
            tuple(about["own"]),
            about["supports"],
            about["attributes"],
        )
        self.held = 0.0
        """Seconds for which the event loop was held up at most during the last call."""
        self.took = 0.0
        """Seconds that the last call took."""

    def supports(self, method: str) -> bool:
        """Whether lmcache of this release would call an optional method."""
        if method == "remove_sync":
            return REMOVES[self.release] and method in self.about.own
        return method in OPTIONAL[self.release] and self.about.supports.get(f"support_{method}") is True

    def need(self, method: str) -> None:
        """Go on only where an optional method is supported.

        Raises:
            UnsupportedByClient: it is not.
        """
        if self.supports(method):
            return
        if method == "remove_sync":
            known = REMOVES[self.release]
            why = "the connector has no remove_sync of its own"
        else:
            known = method in OPTIONAL[self.release]
            why = f"support_{method}() answers {self.about.supports.get(f'support_{method}')}"
        raise UnsupportedByClient(method, why if known else f"lmcache {self.release} never calls it")

    def put(self, chunk: Chunk) -> Stored:
        """``put``, with an object of the pool whose memory is used for something else afterwards."""
        return self._stored(self._ask("put", self._of(chunk)))

    def put_many(self, chunks: Sequence[Chunk]) -> Stored:
        """``batched_put``."""
        return self._stored(self._ask("batched_put", {"chunks": [self._of(chunk) for chunk in chunks]}))

    def get(self, key: ChunkKey, *, keep: bool = False) -> Got:
        """``get``; the object is given back at once, or kept until :meth:`give_back`."""
        return self._got(self._ask("get", {"key": key.to_json(), "keep": keep}))

    def get_many(self, keys: Sequence[ChunkKey]) -> GotMany:
        """``batched_get``."""
        return self._got_many(self._ask("batched_get", _keys(keys)))

    def get_prefix(self, keys: Sequence[ChunkKey]) -> GotMany:
        """``batched_get_non_blocking``."""
        return self._got_many(self._ask("batched_get_non_blocking", _keys(keys)))

    def exists(self, key: ChunkKey) -> Said:
        """``exists``."""
        return _said(self._ask("exists", {"key": key.to_json()}))

    def exists_sync(self, key: ChunkKey) -> Said:
        """``exists_sync``, in a thread that is not the loop's."""
        return _said(self._ask("exists_sync", {"key": key.to_json()}))

    def exists_sync_while_busy(self, key: ChunkKey, hold: float) -> tuple[Said, bool]:
        """The same while the loop is held up for so many seconds; and whether it answered meanwhile."""
        answer = self._ask("busy", {"key": key.to_json(), "hold": hold}, deadline=hold + self._budget.call)
        return _said(answer), bool(answer["meanwhile"])

    def contains_many(self, keys: Sequence[ChunkKey]) -> Said:
        """``batched_contains``."""
        return _said(self._ask("batched_contains", _keys(keys)))

    def contains_prefix(self, keys: Sequence[ChunkKey]) -> Said:
        """``batched_async_contains``."""
        return _said(self._ask("batched_async_contains", _keys(keys)))

    def listing(self) -> Said:
        """``list``."""
        return _said(self._ask("list", {}))

    def remove(self, key: ChunkKey) -> Said:
        """``remove_sync``."""
        return _said(self._ask("remove", {"key": key.to_json()}))

    def ping(self) -> Said:
        """``ping``."""
        return _said(self._ask("ping", {}))

    def close(self) -> Said:
        """``close``; the engine runs on."""
        return _said(self._ask("close", {}))

    def put_at_once(self, chunks: Sequence[Chunk]) -> list[Stored]:
        """``put`` of several, all under way on the loop together."""
        return [self._stored(answer) for answer in self._many([("put", self._of(chunk)) for chunk in chunks])]

    def get_at_once(self, keys: Sequence[ChunkKey]) -> list[Got]:
        """``get`` of several, likewise."""
        return [self._got(answer) for answer in self._many([("get", {"key": key.to_json()}) for key in keys])]

    def put_and_get_at_once(self, chunks: Sequence[Chunk], keys: Sequence[ChunkKey]) -> tuple[list[Stored], list[Got]]:
        """``put`` of some and ``get`` of others, all together."""
        calls = [("put", self._of(chunk)) for chunk in chunks] + [("get", {"key": key.to_json()}) for key in keys]
        answers = self._many(calls)
        return [self._stored(one) for one in answers[: len(chunks)]], [self._got(one) for one in answers[len(chunks) :]]

    def give_up_get(self, key: ChunkKey, *, turns: int, pause: float = 0.0) -> Raised | None:
        """A ``get`` that is cancelled after some turns of the loop and perhaps a pause."""
        answer = self._ask("cancel", {"key": key.to_json(), "turns": turns, "pause": pause})
        return _raised(answer["raised"])

    def get_without_memory(self, key: ChunkKey, patience: float) -> tuple[Got, bool]:
        """A ``get`` while the pool is empty; whether it waited until memory was given back, after so many seconds."""
        self._ask("fill", {})
        told = {"key": key.to_json(), "patience": patience}
        answer = self._ask("get_without_memory", told, deadline=patience + self._budget.call)
        return self._got(answer), bool(answer["waited"])

    def owed(self, patience: float = 2.0) -> tuple[int, int]:
        """Objects of the pool, and their bytes, that nobody but the connector can give back; 0 once all has settled."""
        answer = self._ask("audit", {"patience": patience}, deadline=patience + self._budget.call)
        return answer["objects"], answer["bytes"]

    def kept(self) -> list[bytes]:
        """The bytes of the objects that were kept."""
        return [self._host.taken(value) for value in self._ask("read_kept", {})["payloads"]]

    def overwrite_kept(self, number: int) -> None:
        """Use the memory of one of them for something else."""
        self._ask("scribble_kept", {"number": number})

    def give_back(self) -> None:
        """Give back what was kept."""
        self._ask("give_back", {})

    def texts(self, keys: Sequence[ChunkKey]) -> list[str]:
        """What lmcache writes for these keys."""
        found: list[str] = self._ask("key_text", _keys(keys))["texts"]
        return found

    def state(self) -> Mapping[str, Any]:
        """``tasks`` on the loop, ``threads`` by name, and whether the ``loop`` runs."""
        return self._ask("state", {})

    # Through lmcache's own RemoteBackend.

    def backend_put(self, chunk: Chunk) -> Stored:
        """``submit_put_task``, and wait for it."""
        return self._stored(self._ask("backend_put", self._of(chunk)))

    def backend_put_many(self, chunks: Sequence[Chunk], patience: float = 10.0) -> Stored:
        """``batched_submit_put_task``, and wait until all objects are given back."""
        told = {"chunks": [self._of(chunk) for chunk in chunks], "patience": patience}
        return self._stored(self._ask("backend_put_many", told, deadline=LARGE_CALL))

    def backend_get(self, key: ChunkKey) -> Got:
        """``get_blocking``."""
        return self._got(self._ask("backend_get", {"key": key.to_json()}))

    def backend_get_many(self, keys: Sequence[ChunkKey]) -> GotMany:
        """``batched_get_blocking``."""
        return self._got_many(self._ask("backend_get_many", _keys(keys), deadline=LARGE_CALL))

    def backend_prefetch(self, keys: Sequence[ChunkKey]) -> GotMany:
        """``batched_get_non_blocking`` of the backend, on its loop."""
        return self._got_many(self._ask("backend_prefetch", _keys(keys), deadline=LARGE_CALL))

    def backend_contains(self, key: ChunkKey) -> Said:
        """``contains``."""
        return _said(self._ask("backend_contains", {"key": key.to_json()}))

    def backend_contains_many(self, keys: Sequence[ChunkKey]) -> Said:
        """``batched_contains`` of the backend."""
        return _said(self._ask("backend_contains_many", _keys(keys)))

    def backend_async_contains(self, keys: Sequence[ChunkKey]) -> Said:
        """``batched_async_contains`` of the backend, on its loop."""
        return _said(self._ask("backend_async_contains", _keys(keys)))

    def backend_close(self) -> Said:
        """``close`` of the backend."""
        return _said(self._ask("backend_close", {}))

    def backend_waiting(self, keys: Sequence[ChunkKey]) -> Sequence[bool]:
        """Whether the backend still holds a put of each key to be under way."""
        found: list[bool] = self._ask("backend_waiting", _keys(keys))["waiting"]
        return found

    # The end.

    def begin_puts(self, chunks: Sequence[Chunk]) -> None:
        """Ask for ``put`` of several at once and do not wait; :meth:`kill` comes next."""
        calls = [{"op": "put", "args": self._of(chunk)} for chunk in chunks]
        self._host.begin("many", {"calls": calls}, self._budget.call)

    def kill(self) -> None:
        """SIGKILL for the engine and the connector in it."""
        self._host.kill()

    def _of(self, chunk: Chunk) -> dict[str, Any]:
        if len(chunk.payload) > LARGE:
            self._time = max(LARGE_CALL, self._budget.call)
        return {"key": chunk.key.to_json(), **chunk.about, "payload": self._host.left(chunk.payload)}

    def _ask(self, op: str, args: Mapping[str, Any], deadline: float | None = None) -> Mapping[str, Any]:
        began = time.monotonic()
        try:
            answer = self._host.ask(op, args, deadline or self._time)
        except ClientFailure as failure:
            self._patience.failed(op, failure, time.monotonic() - began)
            raise
        self._patience.answered(op)
        self.held, self.took = answer["held"], answer["seconds"]
        found: Mapping[str, Any] = answer["ok"]
        return found

    def _many(self, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Mapping[str, Any]]:
        told = {"calls": [{"op": op, "args": args} for op, args in calls]}
        found: list[Mapping[str, Any]] = self._ask("many", told, deadline=LARGE_CALL)["answers"]
        return found

    def _stored(self, answer: Mapping[str, Any]) -> Stored:
        before, after, same = (tuple(answer[name]) for name in ("before", "after", "unchanged"))
        return Stored(before, after, same, _raised(answer["raised"]))

    def _got(self, answer: Mapping[str, Any]) -> Got:
        found, raised = answer["found"], _raised(answer["raised"])
        if found is None or "strange" in found:
            return Got(None, raised, None if found is None else found["strange"], answer.get("seconds", 0.0))
        return Got(self._found(found), raised, seconds=answer.get("seconds", 0.0))

    def _got_many(self, answer: Mapping[str, Any]) -> GotMany:
        found = answer["found"]
        several = None if found is None else tuple(self._got({"found": one, "raised": None}) for one in found)
        return GotMany(several, _raised(answer["raised"]), answer.get("strange"))

    def _found(self, value: Mapping[str, Any]) -> Found:
        return Found(
            payload=self._host.taken(value["payload"]),
            format=value["format"],
            dtype=value["dtype"],
            shape=tuple(value["shape"]),
            references=value["references"],
            from_pool=value["from_pool"],
            address=value["address"],
        )


def _keys(keys: Sequence[ChunkKey]) -> dict[str, Any]:
    return {"keys": [key.to_json() for key in keys]}


def _raised(value: Mapping[str, str] | None) -> Raised | None:
    return None if value is None else Raised(value["class"], value["message"], value["place"])


def _said(answer: Mapping[str, Any]) -> Said:
    return Said(answer["value"], answer["kind"], _raised(answer["raised"]))
