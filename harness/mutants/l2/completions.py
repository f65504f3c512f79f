"""Plugins whose numbers or completions are not what the server takes them for."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from harness.mutants.marks import l2_mutant
from harness.reference.l2.batches import Batch, Kind
from harness.reference.l2.completions import Completions
from harness.reference.l2.outcomes import Outcome
from harness.reference.l2.plugin import ReferencePlugin

SLOTS = 16


@l2_mutant(
    "l2-numbers-by-kind",
    stands_for="A table of operations for each kind, with numbers of its own.",
    found_by=("l2.native-completions.numbers-under-way",),
)
class NumbersByKind(ReferencePlugin):
    """Counts stores, loads, lookups and deletes apart."""

    def __init__(self, **params: Any) -> None:
        self._by_kind = {kind: itertools.count(1) for kind in ("store", "load", "look", "delete")}
        super().__init__(**params)

    def _batch(self, kind: Kind, keys: Sequence[str], buffers: Sequence[memoryview] = ()) -> Batch:
        return replace(super()._batch(kind, keys, buffers), number=next(self._by_kind[kind]))


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.numbers = itertools.count(1)


@l2_mutant(
    "l2-numbers-by-thread",
    stands_for="A counter in storage of the thread, because a lock was to be avoided.",
    found_by=("l2.native-completions.numbers-of-threads",),
)
class NumbersByThread(ReferencePlugin):
    """Counts the operations of each thread apart."""

    def __init__(self, **params: Any) -> None:
        self._of_thread = _OfThread()
        super().__init__(**params)

    def _batch(self, kind: Kind, keys: Sequence[str], buffers: Sequence[memoryview] = ()) -> Batch:
        return replace(super()._batch(kind, keys, buffers), number=next(self._of_thread.numbers))


@l2_mutant(
    "l2-numbers-again",
    stands_for="The place in a table of operations as their number, given out again once it is free.",
    found_by=("l2.native-completions.numbers-for-life",),
)
class NumbersAgain(ReferencePlugin):
    """Gives a number again once its operation is complete."""

    def __init__(self, **params: Any) -> None:
        self._slots: set[int] = set()
        super().__init__(**params)

    def _batch(self, kind: Kind, keys: Sequence[str], buffers: Sequence[memoryview] = ()) -> Batch:
        batch = super()._batch(kind, keys, buffers)
        number = next(number for number in itertools.count(1) if number not in self._slots)
        self._slots.add(number)
        return replace(batch, number=number)

    def drain_completions(self) -> list[Any]:
        """What frees places."""
        done = super().drain_completions()
        self._slots.difference_update(number for number, *_ in done)
        return done


@l2_mutant(
    "l2-completes-twice",
    stands_for="A load that completes when its bytes are there, and again when its connection is given back.",
    found_by=("l2.native-completions.each-completes-once",),
)
class CompletesTwice(ReferencePlugin):
    """Completes each load twice."""

    def _complete(self, batch: Batch, outcomes: Sequence[Outcome], error: str = "") -> None:
        super()._complete(batch, outcomes, error)
        if batch.kind == "load":
            super()._complete(batch, outcomes, error)


@l2_mutant(
    "l2-misses-never-complete",
    stands_for="An exception about an object that is not there, which ends what would have completed the batch.",
    found_by=("l2.native-completions.each-completes-once",),
)
class MissesNeverComplete(ReferencePlugin):
    """Never completes a lookup that finds nothing."""

    def _complete(self, batch: Batch, outcomes: Sequence[Outcome], error: str = "") -> None:
        if batch.kind == "look" and Outcome.ABSENT in outcomes:
            return
        super()._complete(batch, outcomes, error)


@l2_mutant(
    "l2-three-parts",
    stands_for="A completion without the error text, which nobody reads anyway.",
    found_by=("l2.native-completions.readable-completions",),
)
class ThreeParts(ReferencePlugin):
    """Its completions are number, success and results."""

    def drain_completions(self) -> list[Any]:
        """Without errors."""
        return [(number, ok, each) for number, ok, _, each in super().drain_completions()]


@l2_mutant(
    "l2-lists-of-numbers",
    stands_for="Completions as they come out of JSON or msgpack: lists, with 0 and 1 for booleans.",
    found_by=("l2.native-completions.types-of-completions",),
)
class ListsOfNumbers(ReferencePlugin):
    """Its completions are lists, and its results numbers."""

    def drain_completions(self) -> list[Any]:
        """As a decoder gives them."""
        done = super().drain_completions()
        return [[number, ok, error, None if each is None else list(map(int, each))] for number, ok, error, each in done]


class _ShortResults(Completions):
    def add(self, number: int, *, ok: bool, error: str = "", each: Sequence[bool] | None = None) -> None:
        if each is not None and False in each:
            each = each[: list(each).index(False)]
        super().add(number, ok=ok, error=error, each=each)


@l2_mutant(
    "l2-lookup-of-a-prefix",
    stands_for="A lookup that ends at the first object that is missing, as lookups of a prefix do elsewhere in LMCache.",
    found_by=("l2.native-completions.results-of-lookups",),
)
class LookupOfAPrefix(ReferencePlugin):
    """Gives results up to the first key that is missing."""

    def _open_completions(self) -> Completions:
        return _ShortResults()


@l2_mutant(
    "l2-load-without-results",
    stands_for="A load that reports whether it ran, not what it found.",
    found_by=("l2.native-completions.results-of-loads",),
)
class LoadWithoutResults(ReferencePlugin):
    """Says of a load that it succeeded, whatever was missing."""

    def _complete(self, batch: Batch, outcomes: Sequence[Outcome], error: str = "") -> None:
        if batch.kind != "load":
            super()._complete(batch, outcomes, error)
            return
        batch.end_lease()
        self._completions.add(batch.number, ok=not error, error=error)


@l2_mutant(
    "l2-delete-without-results",
    stands_for="A delete that is sent and forgotten.",
    found_by=("l2.native-completions.results-of-deletes",),
)
class DeleteWithoutResults(ReferencePlugin):
    """Says of a delete that it succeeded, and nothing of its keys."""

    def _complete(self, batch: Batch, outcomes: Sequence[Outcome], error: str = "") -> None:
        if batch.kind != "delete":
            super()._complete(batch, outcomes, error)
            return
        batch.end_lease()
        self._completions.add(batch.number, ok=not error, error=error)
