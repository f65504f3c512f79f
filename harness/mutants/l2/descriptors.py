"""Plugins that tell of their completions in a wrong way."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from typing import Any

from harness.mutants.marks import l2_mutant
from harness.reference.l2.batches import Batch
from harness.reference.l2.completions import Completion, Completions
from harness.reference.l2.outcomes import Outcome
from harness.reference.l2.plugin import ReferencePlugin

BLINK = 0.005
"""Seconds for which a signal is seen that is taken back."""


@l2_mutant(
    "l2-no-lookup-method",
    stands_for="A plugin that was written by an example of a cache with get and set alone.",
    found_by=("l2.native-descriptor.methods",),
)
class NoLookupMethod(ReferencePlugin):
    """Has no submit_batch_exists."""

    submit_batch_exists: Any = None


@l2_mutant(
    "l2-another-descriptor",
    stands_for="Event_fd that opens what it gives, so that nobody else can close it.",
    found_by=("l2.native-descriptor.one-descriptor",),
)
class AnotherDescriptor(ReferencePlugin):
    """Gives a duplicate of its descriptor each time it is asked."""

    def event_fd(self) -> int:
        """Another number each time."""
        return os.dup(super().event_fd())


class _ReadyAtFirst(Completions):
    def __init__(self) -> None:
        super().__init__()
        self._signal.set()


@l2_mutant(
    "l2-ready-at-first",
    stands_for="An eventfd that is made with the value 1, or the writing end of a pipe in place of the reading one.",
    found_by=("l2.native-descriptor.quiet-while-idle",),
)
class ReadyAtFirst(ReferencePlugin):
    """Its descriptor is readable before anything is complete."""

    def _open_completions(self) -> Completions:
        return _ReadyAtFirst()


class _Blinking(Completions):
    def add(self, number: int, *, ok: bool, error: str = "", each: Sequence[bool] | None = None) -> None:
        super().add(number, ok=ok, error=error, each=each)
        time.sleep(BLINK)
        with self._lock:
            self._signal.set()
            self._signal.clear()

    def drain(self) -> list[Completion]:
        with self._lock:
            done, self._done = self._done, []
            self._signal.set()
            self._signal.clear()
            return done


@l2_mutant(
    "l2-signal-taken-back",
    stands_for="A signal for an edge-triggered poll: whoever looks a little later sees nothing.",
    found_by=("l2.native-descriptor.readable-until-drained", "l2.native-descriptor.wakes-every-time"),
)
class SignalTakenBack(ReferencePlugin):
    """Makes its descriptor readable for five milliseconds."""

    def _open_completions(self) -> Completions:
        return _Blinking()


class _LosesSignals(Completions):
    def drain(self) -> list[Completion]:
        with self._lock:
            done, self._done = self._done, []
        if done:
            time.sleep(0)
            time.sleep(BLINK / 50)
            self._signal.clear()
        return done

    def add(self, number: int, *, ok: bool, error: str = "", each: Sequence[bool] | None = None) -> None:
        with self._lock:
            self._done.append((number, ok, error, None if each is None else list(each)))
            self._signal.set()


@l2_mutant(
    "l2-signal-lost",
    stands_for="A drain that takes the list, and clears the signal when it no longer holds the lock.",
    found_by=("l2.native-descriptor.wakes-in-a-storm",),
)
class SignalLost(ReferencePlugin):
    """Clears the signal of completions that came while it drained."""

    def _open_completions(self) -> Completions:
        return _LosesSignals()


class _NeverSilent(Completions):
    def drain(self) -> list[Completion]:
        with self._lock:
            done, self._done = self._done, []
            return done


@l2_mutant(
    "l2-never-silent",
    stands_for="A drain that leaves it to the server to read from the descriptor.",
    found_by=("l2.native-descriptor.silent-once-drained",),
)
class NeverSilent(ReferencePlugin):
    """Never reads from its descriptor."""

    def _open_completions(self) -> Completions:
        return _NeverSilent()


class _OneSignalEach(Completions):
    def __init__(self) -> None:
        super().__init__()
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._reading, False)

    def fileno(self) -> int:
        return self._reading

    def add(self, number: int, *, ok: bool, error: str = "", each: Sequence[bool] | None = None) -> None:
        super().add(number, ok=ok, error=error, each=each)
        os.write(self._writing, b"!")

    def drain(self) -> list[Completion]:
        done = super().drain()
        if done:
            os.read(self._reading, 1)
        return done

    def close(self) -> None:
        super().close()
        os.close(self._reading)
        os.close(self._writing)


@l2_mutant(
    "l2-a-byte-for-each",
    stands_for="A pipe with a byte for each completion, of which a drain of many reads one.",
    found_by=("l2.native-descriptor.silent-once-drained",),
)
class AByteForEach(ReferencePlugin):
    """Stays readable after a drain of several completions."""

    def _open_completions(self) -> Completions:
        return _OneSignalEach()


class _Waiting(Completions):
    def __init__(self) -> None:
        super().__init__()
        self._some = threading.Condition()

    def add(self, number: int, *, ok: bool, error: str = "", each: Sequence[bool] | None = None) -> None:
        super().add(number, ok=ok, error=error, each=each)
        with self._some:
            self._some.notify_all()

    def drain(self) -> list[Completion]:
        with self._some:
            self._some.wait_for(lambda: self._done, timeout=0.5)
        return super().drain()


@l2_mutant(
    "l2-waiting-drain",
    stands_for="A drain that takes from a queue with get() in place of get_nowait().",
    found_by=("l2.native-descriptor.drain-of-nothing",),
)
class WaitingDrain(ReferencePlugin):
    """Waits in a drain until something is complete."""

    def _open_completions(self) -> Completions:
        return _Waiting()


@l2_mutant(
    "l2-drain-behind-store",
    stands_for="One lock for everything, which a store holds for as long as it writes.",
    found_by=("l2.native-descriptor.drain-while-storing",),
)
class DrainBehindStore(ReferencePlugin):
    """Does not drain while a store is under way."""

    def __init__(self, **params: Any) -> None:
        self._everything = threading.Lock()
        super().__init__(**params)

    def _outcomes(self, batch: Batch) -> list[Outcome]:
        if batch.kind != "store":
            return super()._outcomes(batch)
        with self._everything:
            return super()._outcomes(batch)

    def drain_completions(self) -> list[Completion]:
        """After the store."""
        with self._everything:
            return super().drain_completions()
