"""Adapters of kind ``plugin`` with a defect; they are made in the pinned interpreter, where lmcache is."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from harness.mutants.marks import l2_mutant
from harness.reference.l2.adapter import Operation, ReferenceAdapter, Task, bitmap, key_text, object_view

LATE = 0.05
"""Seconds after which somebody has looked already."""
LATER = 0.5
"""The same, where some megabytes are moved before that."""
FIRST = "0.4.2 and later"


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
        time.sleep(LATER)
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
