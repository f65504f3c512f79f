"""Adapters of kind ``plugin`` that fail those who evict, or do not end well."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from harness.mutants.l2.adapter import FIRST, LATE
from harness.mutants.marks import l2_mutant
from harness.reference.l2.adapter import ReferenceAdapter, Task, object_view

LONG = 10.5
"""Seconds that are too many."""
EVICTING = "0.4.3 and later"
COUNTING = "0.4.5 and later"


@l2_mutant(
    "l2-adapter-strict-unlock",
    kind="plugin",
    releases=FIRST,
    stands_for="a table of locks that is read with square brackets",
    found_by=("l2.adapter-eviction.needless-unlocks",),
)
class StrictUnlock(ReferenceAdapter):
    """Raises KeyError when something is unlocked that is not locked."""

    def submit_unlock(self, keys: list[Any]) -> None:
        """As the class says."""
        for key in keys:
            if not self._locks[key]:
                raise KeyError(key)
        super().submit_unlock(keys)


@l2_mutant(
    "l2-adapter-leaks-locks",
    kind="plugin",
    releases=EVICTING,
    stands_for="a set of keys in the unlock, where the same key was locked by two prompts",
    found_by=("l2.adapter-eviction.locks-balance",),
)
class LeaksLocks(ReferenceAdapter):
    """Takes one lock back where a key is unlocked several times in one batch."""

    def submit_unlock(self, keys: list[Any]) -> None:
        """As the class says."""
        super().submit_unlock(list(dict.fromkeys(keys)))


@l2_mutant(
    "l2-adapter-locks-nothing",
    kind="plugin",
    releases=EVICTING,
    stands_for="an unlock that does nothing, and a delete that asks nobody, as most adapters have it",
    found_by=("l2.adapter-eviction.locked-objects-stay",),
)
class LocksNothing(ReferenceAdapter):
    """Deletes what a lookup has locked."""

    def _found(self, task: Task, each: Sequence[bool]) -> list[bool]:
        found = super()._found(task, each)
        self._locks.clear()
        return found


@l2_mutant(
    "l2-adapter-deletes-nothing",
    kind="plugin",
    releases=EVICTING,
    stands_for="a delete that was left for later, as in lmcache's own fs adapter up to 0.5.2",
    found_by=("l2.adapter-eviction.deletes",),
)
class DeletesNothing(ReferenceAdapter):
    """Does nothing when it is to delete."""

    def delete(self, keys: list[Any]) -> None:
        """As the class says."""
        del keys


@l2_mutant(
    "l2-adapter-delete-waits-for-locks",
    kind="plugin",
    releases=EVICTING,
    stands_for="a reader-writer lock for each object",
    found_by=("l2.adapter-eviction.deletes-of-locked-objects-end",),
)
class DeleteWaitsForLocks(ReferenceAdapter):
    """Waits in a delete until nothing of it is locked, or until it is tired of that."""

    def delete(self, keys: list[Any]) -> None:
        """As the class says."""
        until = time.monotonic() + LONG
        while any(self._locks[key] for key in keys) and time.monotonic() < until:
            time.sleep(LATE)
        super().delete(keys)


@l2_mutant(
    "l2-adapter-tells-nobody",
    kind="plugin",
    releases=EVICTING,
    stands_for="an adapter without the calls that listeners live on, as lmcache's own fs adapter up to 0.5.2",
    found_by=("l2.adapter-eviction.listeners",),
)
class TellsNobody(ReferenceAdapter):
    """Tells listeners nothing of what it stores and deletes."""

    def _notify(self, what: Literal["stored", "deleted"], keys: list[Any], sizes: list[int]) -> None:
        del what, keys, sizes


@l2_mutant(
    "l2-adapter-tells-of-all-deletes",
    kind="plugin",
    releases=EVICTING,
    stands_for="listeners that are told what was asked for, and not what was done",
    found_by=("l2.adapter-eviction.listeners",),
)
class TellsOfAllDeletes(ReferenceAdapter):
    """Tells listeners that something was deleted that was not there."""

    def _deleted(self, task: Task, each: Sequence[bool]) -> None:
        super()._deleted(task, [True] * len(each))


@l2_mutant(
    "l2-adapter-silent-loads",
    kind="plugin",
    releases=EVICTING,
    stands_for="an adapter that knows of stores and deletes alone: the server evicts what is used most",
    found_by=("l2.adapter-eviction.listeners-hear-of-loads",),
)
class SilentLoads(ReferenceAdapter):
    """Does not tell listeners what was loaded."""

    def _notify_accessed(self, keys: list[Any]) -> None:
        del keys


@l2_mutant(
    "l2-adapter-counts-twice",
    kind="plugin",
    releases=COUNTING,
    stands_for="bytes that are added for each store, also where the object is there already",
    found_by=("l2.adapter-eviction.usage",),
)
class CountsTwice(ReferenceAdapter):
    """Counts an object again when it is stored again."""

    def _stored(self, task: Task, ok: bool) -> Any:
        with self._lock:
            for key in task.keys:
                self._sizes.pop(key, None)
        return super()._stored(task, ok)


@l2_mutant(
    "l2-adapter-without-health",
    kind="plugin",
    releases=FIRST,
    stands_for="a state that has numbers only",
    found_by=("l2.adapter-contract.status",),
)
class WithoutHealth(ReferenceAdapter):
    """Reports a state that does not say whether it is healthy."""

    def report_status(self) -> dict[str, Any]:
        """As the class says."""
        return dict(self.statistics())


@l2_mutant(
    "l2-adapter-slow-close",
    kind="plugin",
    releases=FIRST,
    stands_for="a close that waits for a backend that is away",
    found_by=("l2.adapter-close.closed-at-work",),
)
class SlowClose(ReferenceAdapter):
    """Takes longer to close than the server waits."""

    def close(self) -> None:
        """As the class says."""
        time.sleep(LONG)
        super().close()


@l2_mutant(
    "l2-adapter-writes-after-close",
    kind="plugin",
    releases=FIRST,
    stands_for="threads that are not waited for",
    found_by=("l2.adapter-close.closed-at-work",),
)
class WritesAfterClose(ReferenceAdapter):
    """Writes to memory after it was closed."""

    def __init__(self, params: Mapping[str, Any], l1_memory_desc: object = None) -> None:
        self._over = threading.Event()
        super().__init__(params, l1_memory_desc)

    def submit_load_task(self, keys: list[Any], objects: list[Any]) -> int:
        """As the class says."""
        threading.Thread(target=self._scribble, args=([object_view(one) for one in objects],), daemon=True).start()
        return super().submit_load_task(keys, objects)

    def close(self) -> None:
        """As the class says."""
        super().close()
        self._over.set()

    def _scribble(self, views: list[memoryview]) -> None:
        self._over.wait()
        time.sleep(3 * LATE)
        for view in views:
            view.cast("B")[0] = 7


@l2_mutant(
    "l2-adapter-leaks-descriptors",
    kind="plugin",
    releases=FIRST,
    stands_for="a close that forgets what it opened",
    found_by=("l2.adapter-close.nothing-left",),
)
class LeaksDescriptors(ReferenceAdapter):
    """Leaves its descriptors open."""

    def __init__(self, params: Mapping[str, Any], l1_memory_desc: object = None) -> None:
        super().__init__(params, l1_memory_desc)
        self._kept = {operation: os.dup(descriptor) for operation, descriptor in self._signals.items()}


@l2_mutant(
    "l2-adapter-closes-once",
    kind="plugin",
    releases=FIRST,
    stands_for="descriptors that are closed a second time",
    found_by=("l2.adapter-close.closed-twice",),
)
class ClosesOnce(ReferenceAdapter):
    """Raises an exception when it is closed a second time."""

    def close(self) -> None:
        """As the class says."""
        if self._closed:
            raise OSError(9, "Bad file descriptor")
        super().close()
