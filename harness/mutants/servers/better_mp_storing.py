"""Defects in what a multiprocess server keeps, seeded into the reference server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from harness.mutants.servers.better_mp import SHARED, defect, with_store
from harness.reference.servers.mp import ReferenceMpServer
from harness.reference.servers.mp.engine import RobustEngine
from harness.reference.servers.mp.store import OwnedStore
from mockserver.mp.objects import Layout, StoredObject
from wire.mp.objects import ObjectKey


class _FindsUncommitted(OwnedStore):
    """Objects can be read from their reservation on."""

    def reserve_write(self, keys: Sequence[ObjectKey], layout: Layout) -> dict[ObjectKey, StoredObject]:
        """Places that everybody sees at once."""
        found = super().reserve_write(keys, layout)
        self.finish_write(found)
        return found


@defect("finds-uncommitted", "A commit that only the writer waits for.", "store.uncommitted", releases=SHARED)
class FindsUncommitted(ReferenceMpServer):
    """Finds chunks before they are committed."""

    engine_class = with_store(_FindsUncommitted)


class _Overlaps(OwnedStore):
    """Places of half their length."""

    def reserve_write(self, keys: Sequence[ObjectKey], layout: Layout) -> dict[ObjectKey, StoredObject]:
        """Each place begins in the middle of the one before, where there is one."""
        found = super().reserve_write(keys, layout)
        entries = list(found.values())
        for before, entry in pairwise(entries):
            entry.offset = before.offset + before.length // 2
        return found


@defect("overlaps", "A stride in elements where bytes are meant.", "store.*", releases=SHARED)
class Overlaps(ReferenceMpServer):
    """Gives out places that lie on each other."""

    engine_class = with_store(_Overlaps)


class _EvictsLocked(OwnedStore):
    """The oldest goes, whoever has locked it."""

    def _evictable(self, key: ObjectKey) -> bool:
        del key
        return True


@defect("evicts-locked", "An eviction that does not ask for locks.", "lifecycle.full", releases=SHARED)
class EvictsLocked(ReferenceMpServer):
    """Evicts what a lookup has locked."""

    engine_class = with_store(_EvictsLocked)


class _NeverEvicts(OwnedStore):
    """Nothing goes by itself."""

    def evict(self) -> list[ObjectKey]:
        """Nothing."""
        return []


@defect("never-evicts", "A cache that is full once and for all.", "lifecycle.full", releases=SHARED)
class NeverEvicts(ReferenceMpServer):
    """Makes no room when its memory is full."""

    engine_class = with_store(_NeverEvicts)


class _LosesWithClear(OwnedStore):
    """Places that do not come back."""

    def clear(self, *, force: bool) -> None:
        """Forget the objects and keep their places."""
        before = self._places.give_back
        self._places.give_back = lambda *_: None  # type: ignore[method-assign]
        try:
            super().clear(force=force)
        finally:
            self._places.give_back = before  # type: ignore[method-assign]


@defect("clear-leaks", "A table that is emptied, and an allocator that is not told.", "lifecycle.full", releases=SHARED)
class ClearLeaks(ReferenceMpServer):
    """Forgets objects at CLEAR and does not free their places."""

    engine_class = with_store(_LosesWithClear)


@defect("ends-take-objects", "A session that owns what it stored.", "lookup.ends-leave-what-is-stored")
class EndsTakeObjects(ReferenceMpServer):
    """Removes what a request stored when the request ends."""

    class engine_class(RobustEngine):  # noqa: N801
        """Tidy."""

        def call(self, operation: str, payloads: list[Any]) -> Any:
            """The result; at its end a request takes its objects away."""
            session = self.sessions.find(payloads[0]) if operation == "END_SESSION" else None
            result = super().call(operation, payloads)
            if session is not None and session.hashes:
                with self.lock:
                    self.store.lose([name for name in self.store.keys if name.chunk_hash in session.hashes])
            return result


@defect("unregister-clears", "A model whose last instance takes its chunks along.", "lifecycle.unregistered", releases=SHARED)
class UnregisterClears(ReferenceMpServer):
    """Empties the store when an instance unregisters."""

    class engine_class(RobustEngine):  # noqa: N801
        """Tidy."""

        def call(self, operation: str, payloads: list[Any]) -> Any:
            """The result; without the objects after an instance left."""
            result = super().call(operation, payloads)
            if operation.startswith("UNREGISTER_KV_CACHE"):
                self.store.clear(force=True)
            return result


@defect("survives-restart", "Objects on a disk, behind memory that is new.", "*restart*", releases=SHARED)
class SurvivesRestart(ReferenceMpServer):
    """Finds after a restart what was stored before it."""

    def restart(self, *, forget: bool = True) -> None:
        """Stop and start, with all objects."""
        del forget
        super().restart(forget=False)


@defect("mixes-ranks", "A rank that is left out of the identity.", "store.ranks")
class MixesRanks(ReferenceMpServer):
    """Stores the part of every rank as that of rank 0."""

    class engine_class(RobustEngine):  # noqa: N801
        """One rank."""

        def call(self, operation: str, payloads: list[Any]) -> Any:
            """The result for rank 0."""
            bare = [
                {**one, "worker_id": 0, "world_size": 1} if isinstance(one, dict) and one.get("worker_id") else one
                for one in payloads
            ]
            return super().call(operation, bare)


@defect("counts-gaps", "Hits that are counted, and not only the leading ones.", "store.part-by-part")
class CountsGaps(ReferenceMpServer):
    """Counts stored chunks behind a gap as hits."""

    class engine_class(RobustEngine):  # noqa: N801
        """Counts all."""

        def call(self, operation: str, payloads: list[Any]) -> Any:
            """The result; a lookup counts whatever is there."""
            with self.lock:
                result = super().call(operation, payloads)
                if operation == "LOOKUP" and isinstance(payloads[0], Mapping):
                    self._all = {payloads[0]["request_id"]: self._there(payloads[0])}
                if operation == "QUERY_PREFETCH_STATUS" and isinstance(result, int):
                    return max(result, getattr(self, "_all", {}).get(payloads[0], 0))
                return result

        def _there(self, key: Mapping[str, Any]) -> int:
            from mockserver.mp.sessions import chunk_hashes

            mine = {name.chunk_hash for name in self.store.keys if name.model_name == key["model_name"]}
            return sum(digest in mine for digest in chunk_hashes(key["token_ids"], self.chunk_size))
