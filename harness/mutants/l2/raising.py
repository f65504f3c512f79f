"""Plugins that raise an exception where a completion should tell what failed."""

from __future__ import annotations

import queue
import socket
from collections.abc import Sequence
from typing import Any

from harness.mutants.marks import l2_mutant
from harness.reference.l2.batches import Batch
from harness.reference.l2.completions import Completion
from harness.reference.l2.outcomes import Outcome
from harness.reference.l2.plugin import ReferencePlugin

NAME_LIMIT = 255
"""Bytes of a file's name."""
LIMIT = 500
"""Objects that may wait."""


@l2_mutant(
    "l2-raises-over-names",
    stands_for="A check of the arguments at the door: whoever gives a bad name is told by an exception.",
    found_by=("l2.native-submits.raises-nothing[*-odd-keys]",),
)
class RaisesOverNames(ReferencePlugin):
    """Raises in the submit of a lookup when a key is too long for the name of a file."""

    def submit_batch_exists(self, keys: Sequence[str]) -> int:
        """With a check."""
        for key in keys:
            if len(key.encode()) > NAME_LIMIT:
                raise ValueError(f"the key {key[:20]}... is too long")
        return super().submit_batch_exists(keys)


@l2_mutant(
    "l2-raises-over-misses",
    stands_for="A load that makes sure in the submit that everything is there, and has a KeyError for the rest.",
    found_by=("l2.native-submits.raises-nothing[*-missing]",),
)
class RaisesOverMisses(ReferencePlugin):
    """Raises in the submit of a load when nothing of the batch is there."""

    def submit_batch_get(self, keys: Sequence[str], buffers: Sequence[memoryview]) -> int:
        """With a look."""
        if keys and not any(self._keeper.look(key, 0.0) is Outcome.FOUND for key in keys):
            raise KeyError(keys[0])
        return super().submit_batch_get(keys, buffers)


@l2_mutant(
    "l2-raises-over-sizes",
    stands_for="An error of the worker that is kept, and raised by whoever calls next.",
    found_by=("l2.native-submits.raises-nothing[*-other-size]",),
)
class RaisesLater(ReferencePlugin):
    """Raises in a drain when a load had memory of the wrong size."""

    _failed: str = ""

    def _complete(self, batch: Batch, outcomes: Sequence[Outcome], error: str = "") -> None:
        if Outcome.MISMATCHED in outcomes:
            self._failed = "the sizes differ"
        super()._complete(batch, outcomes, error)

    def drain_completions(self) -> list[Completion]:
        """What failed goes first."""
        failed, self._failed = self._failed, ""
        if failed:
            raise RuntimeError(failed)
        return super().drain_completions()


@l2_mutant(
    "l2-raises-over-key-twice",
    stands_for="A map from keys to buffers, and an assertion that none was lost over it.",
    found_by=("l2.native-submits.raises-nothing[*-key-twice]",),
)
class RaisesOverKeyTwice(ReferencePlugin):
    """Raises in the submit of a store that names a key twice."""

    def submit_batch_set(self, keys: Sequence[str], buffers: Sequence[memoryview]) -> int:
        """With an assertion."""
        wanted = dict(zip(keys, buffers, strict=True))
        if len(wanted) != len(keys):
            raise AssertionError(f"{len(keys) - len(wanted)} keys are there twice")
        return super().submit_batch_set(keys, buffers)


@l2_mutant(
    "l2-gives-up-without-storage",
    stands_for="A library that calls sys.exit when what it was configured with is not there.",
    found_by=("l2.native-submits.raises-nothing-without-storage",),
)
class GivesUpWithoutStorage(ReferencePlugin):
    """Raises SystemExit in the submit of a lookup when its folder is not there."""

    def submit_batch_exists(self, keys: Sequence[str]) -> int:
        """With a check."""
        if self._folder is not None and not self._folder.is_dir():
            raise SystemExit(f"{self._folder} is not there")
        return super().submit_batch_exists(keys)


@l2_mutant(
    "l2-descriptor-asks-the-storage",
    stands_for="A connection that each call makes sure of first, whatever the call needs.",
    found_by=("l2.native-submits.raises-nothing-without-storage",),
)
class DescriptorAsksTheStorage(ReferencePlugin):
    """Raises in event_fd when its folder is not there."""

    def event_fd(self) -> int:
        """With a check."""
        if self._folder is not None and not self._folder.is_dir():
            raise ConnectionError(f"{self._folder} is not there")
        return super().event_fd()


@l2_mutant(
    "l2-raises-when-full",
    stands_for="A put_nowait into a queue, whose exception nobody catches.",
    found_by=("l2.backend.backlog",),
)
class RaisesWhenFull(ReferencePlugin):
    """Raises in the submit of a store that is beyond its backlog."""

    def submit_batch_set(self, keys: Sequence[str], buffers: Sequence[memoryview]) -> int:
        """Refused by an exception."""
        waiting = self._backlog.numbers()["backlog_objects"]
        if waiting + len(keys) > LIMIT:
            raise queue.Full(f"{waiting} objects wait")
        return super().submit_batch_set(keys, buffers)


@l2_mutant(
    "l2-raises-while-down",
    stands_for="A connection that is made in the submit, where its failure is an exception of the caller.",
    found_by=("l2.backend.submits-do-not-wait[*-down]",),
)
class RaisesWhileDown(ReferencePlugin):
    """Raises in the submit of a load when nobody listens at the address of its gateway."""

    def __init__(self, *, gateway: str = "", **params: Any) -> None:
        self._address = gateway
        super().__init__(gateway=gateway, **params)

    def submit_batch_get(self, keys: Sequence[str], buffers: Sequence[memoryview]) -> int:
        """With a connection."""
        if self._address:
            host, _, port = self._address.rpartition(":")
            socket.create_connection((host, int(port)), timeout=1.0).close()
        return super().submit_batch_get(keys, buffers)
