"""Operations between servers, as far as a server without peers answers them.

Source: ``lmcache.v1.multiprocess.modules.p2p_controller``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mockserver.mp import behaviour
from mockserver.mp.objects import ObjectStore
from mockserver.mp.sessions import HandlerError
from wire.mp.objects import ObjectKey
from wire.release import Release

_NOWHERE = {"offset": -1, "size": 0}


class Peers:
    """Lookups of other servers; the caller holds the lock of the server."""

    def __init__(self, release: Release, store: ObjectStore) -> None:
        self._release = release
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

    def lookup(self, keys: Sequence[Mapping[str, Any]], layouts: Mapping[Any, Any]) -> int:
        """Lock the objects that are there; the number to ask for the result with.

        Raises:
            HandlerError: a layout is none.
        """
        known = _groups(layouts)
        named = _named(keys)
        if behaviour.PEER_GROUPS[self._release] and any(name.object_group_id not in known for name in named):
            found = [False] * len(named)
        else:
            found = self._store.reserve_read(named, 1)
        if not behaviour.PEER_GAPS[self._release] and False in found:
            first = found.index(False)
            self._store.finish_read(name for name, there in zip(named[first:], found[first:], strict=True) if there)
            found[first:] = [False] * len(found[first:])
        places = [self._store.offset_of(name) if there else None for name, there in zip(named, found, strict=True)]
        number = self._next
        self._next += 1
        self._results[number] = [_NOWHERE if place is None else {"offset": place[0], "size": place[1]} for place in places]
        return number


def _groups(layouts: Mapping[Any, Any]) -> set[int]:
    """The object groups that have a layout; a layout by itself is that of group 0."""
    groups = {0: layouts} if "shapes" in layouts else layouts
    for layout in groups.values():
        if len(layout["shapes"]) != len(layout["dtypes"]) or not set(layout["dtypes"]) <= set(behaviour.DTYPES):
            raise HandlerError("a layout with a dtype that torch does not have, or without a dtype for each shape")
    return set(groups)


def _named(keys: Sequence[Mapping[str, Any]]) -> list[ObjectKey]:
    return [
        ObjectKey(key["chunk_hash"], key["model_name"], key["kv_rank"], key.get("object_group_id", 0), key.get("cache_salt", ""))
        for key in keys
    ]
