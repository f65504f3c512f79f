"""Operations between servers, as far as a server without peers answers them.

Source: ``lmcache.v1.multiprocess.modules.p2p_controller``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mockserver.mp.objects import ObjectStore
from wire.mp.objects import ObjectKey

_NOWHERE = {"offset": -1, "size": 0}


class Peers:
    """Lookups of other servers; the caller holds the lock of the server."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._next = 0
        self._results: dict[int, list[dict[str, int]]] = {}

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the name of the operation."""
        return {
            "P2P_LOOKUP_AND_LOCK": self.lookup,
            "P2P_QUERY_LOOKUP_RESULTS": lambda task: self._results.pop(task, None),
            "P2P_UNLOCK_OBJECTS": lambda keys: self._store.finish_read(_named(keys)),
        }

    def lookup(self, keys: Sequence[Mapping[str, Any]], _: object) -> int:
        """Lock every object that is there, gaps or not; the number to ask for the result with."""
        named = _named(keys)
        found = self._store.reserve_read(named, 1)
        places = [self._store.offset_of(name) if there else None for name, there in zip(named, found, strict=True)]
        number = self._next
        self._next += 1
        self._results[number] = [_NOWHERE if place is None else {"offset": place[0], "size": place[1]} for place in places]
        return number


def _named(keys: Sequence[Mapping[str, Any]]) -> list[ObjectKey]:
    return [
        ObjectKey(key["chunk_hash"], key["model_name"], key["kv_rank"], key.get("object_group_id", 0), key.get("cache_salt", ""))
        for key in keys
    ]
