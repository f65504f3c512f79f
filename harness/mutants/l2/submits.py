"""Plugins that make the server wait."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

from harness.mutants.marks import l2_mutant
from harness.reference.l2.batches import Batch
from harness.reference.l2.outcomes import Outcome
from harness.reference.l2.plugin import ReferencePlugin

WAITING = 2
"""Batches that a short queue takes."""
PAUSE = 0.6
"""Seconds for which the interpreter stands still."""


@l2_mutant(
    "l2-works-in-the-submit",
    stands_for="A synchronous client of a storage behind the asynchronous interface.",
    found_by=("l2.native-submits.returns-at-once", "l2.native-submits.large-object"),
)
class WorksInTheSubmit(ReferencePlugin):
    """Does everything before a submit returns."""

    def _put(self, batch: Batch, *, urgent: bool) -> int:
        del urgent
        self._work(batch)
        return batch.number


@l2_mutant(
    "l2-short-queue",
    stands_for="A queue of limited length whose put waits for a place.",
    found_by=("l2.native-submits.with-a-backlog",),
)
class ShortQueue(ReferencePlugin):
    """Waits in a submit while two stores are under way."""

    def __init__(self, **params: Any) -> None:
        self._places = threading.Semaphore(WAITING)
        super().__init__(**params)

    def _put(self, batch: Batch, *, urgent: bool) -> int:
        if batch.kind == "store":
            self._places.acquire()
        return super()._put(batch, urgent=urgent)

    def _outcomes(self, batch: Batch) -> list[Outcome]:
        try:
            return super()._outcomes(batch)
        finally:
            if batch.kind == "store":
                self._places.release()


@l2_mutant(
    "l2-keeps-the-interpreter",
    stands_for="An extension that waits for its storage without giving the interpreter's lock back.",
    found_by=("l2.native-submits.interpreter-stays-free",),
)
class KeepsTheInterpreter(ReferencePlugin):
    """Waits in native code while it holds the interpreter's lock."""

    def _outcomes(self, batch: Batch) -> list[Outcome]:
        if batch.kind == "store":
            ctypes.PyDLL(None).usleep(int(PAUSE * 1e6))
        return super()._outcomes(batch)
