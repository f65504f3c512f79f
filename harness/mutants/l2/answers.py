"""Defects by which batches get answers that are not theirs, or not true yet, or no more."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from harness.mutants.marks import l2_mutant
from harness.reference.l2 import ReferencePlugin
from harness.reference.l2.batches import Batch, Kind
from harness.reference.l2.leases import Lease, Leased, leased
from harness.reference.l2.outcomes import Outcome

LOST = {"load": Outcome.MISSED, "look": Outcome.ABSENT}


@l2_mutant(
    "l2-one-miss-for-all",
    stands_for="A batch as one transfer, which fails when one object of it is missing.",
    found_by=("l2.semantics.partly-there", "l2.histories.any-order"),
)
class OneMissForAll(ReferencePlugin):
    """Misses a whole batch when one object of it is missing."""

    def _outcomes(self, batch: Batch) -> list[Outcome]:
        outcomes = super()._outcomes(batch)
        lost = LOST.get(batch.kind)
        return outcomes if lost is None or lost not in outcomes else [lost] * len(outcomes)


@l2_mutant(
    "l2-ends-at-the-first-miss",
    stands_for="A count of what is there from the front, as engines want it, in place of an answer for each key.",
    found_by=("l2.semantics.partly-there", "l2.histories.any-order"),
)
class EndsAtTheFirstMiss(ReferencePlugin):
    """Finds nothing of a batch that is behind its first miss."""

    def _outcomes(self, batch: Batch) -> list[Outcome]:
        outcomes = super()._outcomes(batch)
        lost = LOST.get(batch.kind)
        if lost is None or lost not in outcomes:
            return outcomes
        first = outcomes.index(lost)
        return [*outcomes[:first], *[lost] * (len(outcomes) - first)]


@l2_mutant(
    "l2-lookup-makes-an-entry",
    stands_for="A lookup that locks, and makes the entry that it locks.",
    found_by=("l2.semantics.never-stored",),
)
class MakesEntries(ReferencePlugin):
    """Finds a key in the second lookup because there was a first one."""

    def __init__(self, **params: Any) -> None:
        self._entries: set[str] = set()
        super().__init__(**params)

    def _outcomes(self, batch: Batch) -> list[Outcome]:
        outcomes = super()._outcomes(batch)
        if batch.kind == "look":
            outcomes = [
                Outcome.FOUND if key in self._entries else outcome for key, outcome in zip(batch.keys, outcomes, strict=True)
            ]
            self._entries.update(batch.keys)
        elif batch.kind == "delete":
            self._entries.difference_update(batch.keys)
        return outcomes


@l2_mutant(
    "l2-lookup-knows-what-was-loaded",
    stands_for="An index that loads fill and stores do not.",
    found_by=("l2.semantics.batch-of-many", "l2.semantics.visible-at-once", "l2.semantics.sizes"),
)
class KnowsWhatWasLoaded(ReferencePlugin):
    """Finds an object in a lookup only when it was loaded before."""

    def __init__(self, **params: Any) -> None:
        self._known: set[str] = set()
        super().__init__(**params)

    def _outcomes(self, batch: Batch) -> list[Outcome]:
        outcomes = super()._outcomes(batch)
        if batch.kind == "load":
            self._known.update(key for key, outcome in zip(batch.keys, outcomes, strict=True) if outcome is Outcome.LOADED)
        if batch.kind != "look":
            return outcomes
        return [outcome if key in self._known else Outcome.ABSENT for key, outcome in zip(batch.keys, outcomes, strict=True)]


@l2_mutant(
    "l2-size-of-the-first",
    stands_for="One length for a whole batch, because the chunks of one model are all of one size.",
    found_by=("l2.semantics.batch-of-sizes", "l2.concurrency.batches-of-threads"),
)
class TakesTheFirstSize(ReferencePlugin):
    """Stores as many bytes of every object of a batch as the first one has, where it has them."""

    def _batch(self, kind: Kind, keys: Sequence[str], buffers: Sequence[memoryview] = ()) -> Batch:
        if kind == "store" and buffers:
            first = memoryview(buffers[0]).nbytes
            buffers = [memoryview(buffer)[:first] for buffer in buffers]
        return super()._batch(kind, keys, buffers)


@l2_mutant(
    "l2-answers-in-order",
    stands_for="Answers that are matched to questions by their order, as on one connection, with several workers.",
    found_by=("l2.concurrency.batches-of-threads", "l2.native-threads.*"),
)
class AnswersInOrder(ReferencePlugin):
    """Gives the completion that is ready first to the batch that was submitted first."""

    def __init__(self, **params: Any) -> None:
        self._waiting: deque[int] = deque()
        self._order = threading.Lock()
        super().__init__(**params)

    def _put(self, batch: Batch, *, urgent: bool) -> int:
        with self._order:
            self._waiting.append(batch.number)
        return super()._put(batch, urgent=urgent)

    def _complete(self, batch: Batch, outcomes: Sequence[Outcome], error: str = "") -> None:
        with self._order:
            number = self._waiting.popleft()
        super()._complete(replace(batch, number=number), outcomes, error)


@l2_mutant(
    "l2-acknowledged-before-it-is-written",
    stands_for="A write-behind cache that nobody reads from.",
    found_by=("l2.semantics.visible-at-once", "l2.histories.any-order"),
)
class AcknowledgesEarly(ReferencePlugin):
    """Completes a store when it has copied the bytes, and writes them a little later."""

    def _outcomes(self, batch: Batch) -> list[Outcome]:
        if batch.kind != "store":
            return super()._outcomes(batch)
        copies = leased(Lease(), [memoryview(buffer.piece(0, buffer.size)) for buffer in batch.buffers])
        threading.Timer(0.05, self._later, [batch.keys, copies, batch.until]).start()
        return [Outcome.STORED] * len(batch.keys)

    def _later(self, keys: Sequence[str], copies: Sequence[Leased], until: float) -> None:
        for key, copy in zip(keys, copies, strict=True):
            self._store(key, copy, until)


@l2_mutant(
    "l2-loads-behind-stores",
    stands_for="One queue for everything.",
    found_by=("l2.concurrency.loads-before-stores",),
)
class OneQueue(ReferencePlugin):
    """Lets a load wait until all stores are done that came before it."""

    def _put(self, batch: Batch, *, urgent: bool) -> int:
        del urgent
        return super()._put(batch, urgent=False)


@l2_mutant(
    "l2-delete-stops-at-a-stranger",
    stands_for="A loop over keys that ends with the first error.",
    found_by=("l2.deleting.absent",),
)
class StopsAtAStranger(ReferencePlugin):
    """Deletes nothing that stands behind a key that is not there."""

    def _outcomes(self, batch: Batch) -> list[Outcome]:
        if batch.kind != "delete":
            return super()._outcomes(batch)
        there = list(itertools.takewhile(lambda key: self._keeper.look(key, batch.until) is Outcome.FOUND, batch.keys))
        outcomes = super()._outcomes(replace(batch, keys=there))
        return [*outcomes, *[Outcome.NOT_DELETED] * (len(batch.keys) - len(outcomes))]


@l2_mutant(
    "l2-refused-and-called-stored",
    stands_for="A cache that drops what it has no room for, and thinks that this is nobody's business.",
    found_by=("l2.backend.backlog",),
)
class CallsRefusedStored(ReferencePlugin):
    """Says that a store succeeded that it refused because too much was waiting."""

    def submit_batch_set(self, keys: Sequence[str], buffers: Sequence[memoryview]) -> int:
        """With the defect."""
        batch = self._batch("store", keys, buffers)
        if self._backlog.admit(len(batch.keys), batch.size):
            return self._put(batch, urgent=False)
        self._statistics.count(Outcome.REJECTED, len(batch.keys))
        batch.end_lease()
        self._completions.add(batch.number, ok=True)
        return batch.number
