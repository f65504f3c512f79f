"""Plugins that do not end well, that cannot stand threads, or that take themselves to be the only one."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from typing import Any

from harness.mutants.l2.memory import Bare, memory_of
from harness.mutants.marks import l2_mutant
from harness.reference.l2.batches import Batch, Kind
from harness.reference.l2.completions import Completion, Completions
from harness.reference.l2.leases import Leased
from harness.reference.l2.outcomes import Outcome
from harness.reference.l2.plugin import ReferencePlugin

LONG = 10.5
"""Seconds that are too many."""
AWAY = 0.02
"""Seconds that a storage takes that is slow."""


@l2_mutant(
    "l2-bound-to-a-thread",
    stands_for="A database connection that may be used only in the thread that opened it.",
    found_by=("l2.native-threads.threads-of-the-server",),
)
class BoundToAThread(ReferencePlugin):
    """Refuses submits of other threads than the first one that makes one."""

    def __init__(self, **params: Any) -> None:
        self._mine: int | None = None
        super().__init__(**params)

    def _batch(self, kind: Kind, keys: Sequence[str], buffers: Sequence[memoryview] = ()) -> Batch:
        self._mine = self._mine or threading.get_ident()
        if self._mine != threading.get_ident():
            raise RuntimeError("objects of this connection can be used only in the thread that made it")
        return super()._batch(kind, keys, buffers)


@l2_mutant(
    "l2-slow-to-close",
    stands_for="A close that waits for what is under way in a storage that is away.",
    found_by=("l2.native-close.close-idle",),
)
class SlowToClose(ReferencePlugin):
    """Waits in close, whatever is under way."""

    def close(self) -> None:
        """In the end."""
        time.sleep(LONG)
        super().close()


@l2_mutant(
    "l2-close-while-busy-raises",
    stands_for="An assertion that everything is done, in close.",
    found_by=("l2.native-close.close-under-way",),
)
class CloseWhileBusyRaises(ReferencePlugin):
    """Raises in close when operations are under way."""

    def close(self) -> None:
        """Not now."""
        if self._backlog.numbers()["backlog_objects"]:
            raise RuntimeError("there are operations under way")
        super().close()


class _Slow(Bare):
    """Memory without a lease, of a slow storage."""

    def piece(self, start: int, stop: int) -> bytes:
        """Later."""
        time.sleep(AWAY)
        return super().piece(start, stop)


@l2_mutant(
    "l2-reads-after-close",
    stands_for="Threads that are daemons, and that close leaves to themselves.",
    found_by=("l2.native-close.nothing-read-after-close",),
)
class ReadsAfterClose(ReferencePlugin):
    """Goes on with stores after close has returned."""

    def _store(self, key: str, source: Leased, until: float) -> Outcome:
        return super()._store(key, _Slow(memory_of(source)), until)

    def close(self) -> None:
        """Without a word to the threads."""


@l2_mutant(
    "l2-writes-after-close",
    stands_for="A read that was handed to the system, and that nobody takes back.",
    found_by=("l2.native-close.nothing-written-after-close",),
)
class WritesAfterClose(ReferencePlugin):
    """Goes on with loads after close has returned."""

    def _load(self, key: str, target: Leased, until: float) -> Outcome:
        time.sleep(AWAY)
        return super()._load(key, Bare(memory_of(target)), until)

    def close(self) -> None:
        """Without a word to the threads."""


@l2_mutant(
    "l2-threads-left",
    stands_for="A pool of threads that nobody shuts down.",
    found_by=("l2.native-close.nothing-left",),
)
class ThreadsLeft(ReferencePlugin):
    """Leaves a thread behind."""

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        threading.Thread(target=threading.Event().wait, daemon=True).start()


@l2_mutant(
    "l2-descriptors-left",
    stands_for="An eventfd that is closed with the process.",
    found_by=("l2.native-close.nothing-left",),
)
class DescriptorsLeft(ReferencePlugin):
    """Leaves a descriptor behind."""

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self._left = os.eventfd(0)


@l2_mutant(
    "l2-closes-once",
    stands_for="A close that closes descriptors it has no more.",
    found_by=("l2.native-close.closed-twice",),
)
class ClosesOnce(ReferencePlugin):
    """Raises when it is closed a second time."""

    def close(self) -> None:
        """Once."""
        if self._closed:
            raise OSError("bad file descriptor")
        super().close()


@l2_mutant(
    "l2-one-list-for-all",
    stands_for="State in the class, or in its module, that should be in the instance.",
    found_by=("l2.native-close.two-instances",),
)
class OneListForAll(ReferencePlugin):
    """Shares its completions with all instances of the process."""

    _shared: Completions | None = None

    def _open_completions(self) -> Completions:
        if OneListForAll._shared is None:
            OneListForAll._shared = super()._open_completions()
        return OneListForAll._shared

    def drain_completions(self) -> list[Completion]:
        """Those of all."""
        return super().drain_completions()
