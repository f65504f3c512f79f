"""Adapters of kind ``plugin`` with a defect; they are made in the pinned interpreter, where lmcache is."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from harness.mutants.marks import l2_mutant
from harness.reference.l2.adapter import Operation, ReferenceAdapter, Task, bitmap, key_text, object_view

LONG = 10.5
"""Seconds that are too many."""
LATE = 0.05
"""Seconds after which somebody has looked already."""
FIRST = "0.4.2 and later"
EVICTING = "0.4.3 and later"
COUNTING = "0.4.5 and later"


@l2_mutant(
    "l2-adapter-one-descriptor",
    kind="plugin",
    releases=FIRST,
    stands_for="one event descriptor for everything, as the native contract has it",
    found_by=("l2.adapter-contract.three-descriptors",),
)
class OneDescriptor(ReferenceAdapter):
    """Signals lookups and loads by the same descriptor."""

    def get_load_event_fd(self) -> int:
        """As the class says."""
        return self._signals["lookup"]

    def _tell(self, operation: Operation) -> None:
        super()._tell("lookup" if operation == "load" else operation)


@l2_mutant(
    "l2-adapter-signals-first",
    kind="plugin",
    releases=FIRST,
    stands_for="a callback that writes to the descriptor before it takes the lock of the results",
    found_by=("l2.adapter-contract.results-behind-signals",),
)
class SignalsFirst(ReferenceAdapter):
    """Signals a task shortly before its result can be had."""

    def _keep(self, operation: Operation, number: int, result: Any) -> None:
        self._tell(operation)
        time.sleep(LATE)
        with self._lock:
            self._results[operation][number] = result


@l2_mutant(
    "l2-adapter-signals-twice",
    kind="plugin",
    releases=FIRST,
    stands_for="a pipe into which a byte is written by each of two layers",
    found_by=("l2.adapter-contract.quiet-descriptors",),
)
class SignalsTwice(ReferenceAdapter):
    """Leaves a descriptor ready after it was read."""

    def __init__(self, params: Mapping[str, Any], l1_memory_desc: object = None) -> None:
        super().__init__(params, l1_memory_desc)
        for descriptor in self._signals.values():
            replaced = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC | os.EFD_SEMAPHORE)
            os.dup2(replaced, descriptor, inheritable=False)
            os.close(replaced)

    def _tell(self, operation: Operation) -> None:
        super()._tell(operation)
        super()._tell(operation)


@l2_mutant(
    "l2-adapter-tells-stores-again",
    kind="plugin",
    releases=FIRST,
    stands_for="a map of finished stores that is read and not taken",
    found_by=("l2.adapter-contract.stores-are-told-once",),
)
class TellsStoresAgain(ReferenceAdapter):
    """Gives completed stores each time that it is asked."""

    def pop_completed_store_tasks(self) -> dict[int, Any]:
        """As the class says."""
        with self._lock:
            return dict(self._results["store"])


@l2_mutant(
    "l2-adapter-boolean-results",
    kind="plugin",
    releases="0.4.6 and later",
    stands_for="an adapter written for 0.4.5, where a completed store gives a boolean",
    found_by=("l2.adapter-contract.store-results",),
)
class BooleanResults(ReferenceAdapter):
    """Gives a boolean for a completed store where an L2StoreResult is asked for."""

    def _stored(self, task: Task, ok: bool) -> Any:
        return int(super()._stored(task, ok)) >= 0


@l2_mutant(
    "l2-adapter-keeps-results",
    kind="plugin",
    releases=FIRST,
    stands_for="a query that reads the table of results where it should take from it: memory that grows with each lookup",
    found_by=("l2.adapter-contract.results-are-given-once",),
)
class KeepsResults(ReferenceAdapter):
    """Gives the result of a lookup or load as often as it is asked."""

    def _taken(self, operation: Operation, number: int) -> Any:
        with self._lock:
            return self._results[operation].get(number)


@l2_mutant(
    "l2-adapter-raises-before-completion",
    kind="plugin",
    releases=FIRST,
    stands_for="a table of results that is read with square brackets",
    found_by=("l2.adapter-contract.results-are-given-once",),
)
class RaisesBeforeCompletion(ReferenceAdapter):
    """Raises KeyError when it is asked for a result that is not there."""

    def _taken(self, operation: Operation, number: int) -> Any:
        with self._lock:
            return self._results[operation].pop(number)


@l2_mutant(
    "l2-adapter-short-bitmaps",
    kind="plugin",
    releases=FIRST,
    stands_for="a bitmap made of the number of hits",
    found_by=("l2.adapter-contract.bits-of-lookups",),
)
class ShortBitmaps(ReferenceAdapter):
    """Gives bitmaps that end with the last key that is there."""

    def _keep(self, operation: Operation, number: int, result: Any) -> None:
        if operation != "store":
            bits = str(result).rstrip("0")
            result = bitmap([digit == "1" for digit in bits])
        super()._keep(operation, number, result)


@l2_mutant(
    "l2-adapter-prefix-loads",
    kind="plugin",
    releases=FIRST,
    stands_for="a loop over a batch that ends with the first key that is missing",
    found_by=("l2.adapter-contract.bits-of-loads",),
)
class PrefixLoads(ReferenceAdapter):
    """Says of a load only what came before the first miss."""

    def _found(self, task: Task, each: Sequence[bool]) -> list[bool]:
        found = super()._found(task, each)
        if task.kind == "lookup":
            return found
        return [one and all(found[:place]) for place, one in enumerate(found)]


@l2_mutant(
    "l2-adapter-numbers-by-length",
    kind="plugin",
    releases=FIRST,
    stands_for="ids taken from the number of tasks under way",
    found_by=("l2.adapter-contract.numbers-of-tasks", "l2.adapter-contract.several-threads"),
)
class NumbersByLength(ReferenceAdapter):
    """Gives a task the number of another one that is under way."""

    def __init__(self, params: Mapping[str, Any], l1_memory_desc: object = None) -> None:
        super().__init__(params, l1_memory_desc)
        self._numbers = itertools.cycle(range(8))  # type: ignore[assignment]


@l2_mutant(
    "l2-adapter-one-store-a-signal",
    kind="plugin",
    releases=FIRST,
    stands_for="one result for each event, where events that come together are one",
    found_by=("l2.adapter-contract.stores-are-told-once", "l2.adapter-contract.several-threads"),
)
class OneStoreASignal(ReferenceAdapter):
    """Gives one completed store at a time, however many there are."""

    def _keep(self, operation: Operation, number: int, result: Any) -> None:
        if operation == "store":
            time.sleep(LATE / 10)
        super()._keep(operation, number, result)

    def pop_completed_store_tasks(self) -> dict[int, Any]:
        """As the class says."""
        time.sleep(LATE)
        with self._lock:
            completed = self._results["store"]
            return dict([completed.popitem()]) if completed else {}


@l2_mutant(
    "l2-adapter-submits-wait",
    kind="plugin",
    releases=FIRST,
    stands_for="a client library without asynchronous calls, used in the submit",
    found_by=("l2.adapter-contract.submits-do-not-wait",),
)
class SubmitsWait(ReferenceAdapter):
    """Looks up before it returns from the submit."""

    def submit_lookup_and_lock_task(self, keys: list[Any], *layouts: object) -> int:
        """As the class says."""
        time.sleep(LATE * len(keys))
        return super().submit_lookup_and_lock_task(keys, *layouts)


@l2_mutant(
    "l2-adapter-stores-afterwards",
    kind="plugin",
    releases=FIRST,
    stands_for="write-behind: a store that is complete when it is queued",
    found_by=("l2.adapter-contract.memory-of-stores",),
)
class StoresAfterwards(ReferenceAdapter):
    """Says that a store is complete before it has read the objects."""

    def submit_store_task(self, keys: list[Any], objects: list[Any]) -> int:
        """As the class says."""
        number = next(self._numbers)
        threading.Thread(target=self._later, args=(keys, objects), daemon=True).start()
        self._keep("store", number, self._stored(Task("store", number, keys, [one.get_size() for one in objects]), True))
        return number

    def _later(self, keys: list[Any], objects: list[Any]) -> None:
        time.sleep(LATE)
        self._plugin.submit_batch_set([key_text(key) for key in keys], [object_view(one) for one in objects])

    def _drain(self) -> None:
        if not self._under_way:
            self._plugin.drain_completions()
        else:
            super()._drain()


@l2_mutant(
    "l2-adapter-scrambles-sources",
    kind="plugin",
    releases=FIRST,
    stands_for="encryption or compression in place",
    found_by=("l2.adapter-contract.memory-of-stores",),
)
class ScramblesSources(ReferenceAdapter):
    """Alters the objects that it stores."""

    def submit_store_task(self, keys: list[Any], objects: list[Any]) -> int:
        """As the class says."""
        number = super().submit_store_task(keys, objects)
        for one in objects:
            object_view(one).cast("B")[0] ^= 1
        return number


@l2_mutant(
    "l2-adapter-loads-afterwards",
    kind="plugin",
    releases=FIRST,
    stands_for="a load that is complete when the transfer is begun",
    found_by=("l2.adapter-contract.memory-of-loads",),
)
class LoadsAfterwards(ReferenceAdapter):
    """Says that a load is complete before it has written the objects."""

    def __init__(self, params: Mapping[str, Any], l1_memory_desc: object = None) -> None:
        self._copies: dict[int, tuple[list[bytearray], list[Any]]] = {}
        super().__init__(params, l1_memory_desc)

    def _keep(self, operation: Operation, number: int, result: Any) -> None:
        super()._keep(operation, number, result)
        if operation == "load":
            threading.Thread(target=self._copy, args=self._copies.pop(number), daemon=True).start()

    def submit_load_task(self, keys: list[Any], objects: list[Any]) -> int:
        """As the class says."""
        copies = [bytearray(one.get_size()) for one in objects]
        with self._lock:
            number = self._plugin.submit_batch_get([key_text(key) for key in keys], [memoryview(one) for one in copies])
            task = self._begun(number, Task("load", next(self._numbers), list(keys)))
            self._copies[task] = (copies, objects)
        return task

    def _copy(self, copies: list[bytearray], objects: list[Any]) -> None:
        time.sleep(2 * LATE)
        for copy, one in zip(copies, objects, strict=True):
            object_view(one).cast("B")[:] = copy


@l2_mutant(
    "l2-adapter-any-size",
    kind="plugin",
    releases=FIRST,
    stands_for="a read of as many bytes as the buffer has, from a file of any length",
    found_by=("l2.semantics.other-size",),
)
class AnySize(ReferenceAdapter):
    """Loads the beginning of an object into memory that is too small for it."""

    def submit_load_task(self, keys: list[Any], objects: list[Any]) -> int:
        """As the class says."""
        views = [object_view(one) for one in objects]
        sizes = [self._sizes.get(key, len(view)) for key, view in zip(keys, views, strict=True)]
        if all(len(view) >= size for view, size in zip(views, sizes, strict=True)):
            return super().submit_load_task(keys, objects)
        number = next(self._numbers)
        for view in views:
            view.cast("B")[0] = 0
        self._keep("load", number, bitmap([key in self._sizes for key in keys]))
        return number


@l2_mutant(
    "l2-adapter-old-lookup",
    kind="plugin",
    releases="0.5.0 and later",
    stands_for="an adapter written for 0.4.7, whose lookups take the keys alone",
    found_by=("l2.adapter-contract.bits-of-lookups",),
)
class OldLookup(ReferenceAdapter):
    """Does not take the layout that a lookup is given."""

    def submit_lookup_and_lock_task(self, keys: list[Any]) -> int:  # type: ignore[override]  # that is the defect
        """As the class says."""
        return super().submit_lookup_and_lock_task(keys)


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
