"""Plugins that misuse the memory that they are given."""

from __future__ import annotations

import ctypes
import threading
import time
from typing import Any

from harness.mutants.marks import l2_mutant
from harness.reference.l2.batches import Batch
from harness.reference.l2.leases import Leased
from harness.reference.l2.outcomes import Outcome
from harness.reference.l2.plugin import ReferencePlugin

LATE = 0.02
"""Seconds by which somebody is late."""
LATER = 0.2
"""The same, though much was going on meanwhile."""
BLOCK = 64
SIZES = (100_000, 1000)
"""Bytes of the objects that it stored, as far as it matters."""


def memory_of(leased: Leased) -> memoryview:
    """The memory, to be held beyond the lease."""
    return memoryview(leased._view)  # noqa: SLF001  # that nobody else does this is the point


class Bare(Leased):
    """Memory without the lease that ends with the completion."""

    def __init__(self, view: memoryview) -> None:
        self._view = view
        self.size = view.nbytes

    def piece(self, start: int, stop: int) -> bytes:
        """A copy of a part, whoever has the memory by now."""
        return self._view[start:stop].tobytes()

    def fill(self, data: bytes) -> None:
        """Write, whoever has the memory by now."""
        _copy(self._view, data)

    def release(self) -> None:
        """Kept."""


def _copy(view: memoryview, data: bytes) -> None:
    ctypes.memmove(ctypes.addressof(ctypes.c_char.from_buffer(view)), data, len(data))


@l2_mutant(
    "l2-assigns-slices",
    stands_for="A plugin that was tried with views of a bytearray.",
    found_by=("l2.native-buffers.memory-of-the-server",),
)
class AssignsSlices(ReferencePlugin):
    """Writes to its memory by assignment to a slice."""

    def _load(self, key: str, target: Leased, until: float) -> Outcome:
        view: Any = memory_of(target)

        class Assigned(Bare):
            def fill(self, data: bytes) -> None:
                view[:] = data

        return self._keeper.load(key, Assigned(view), until)


@l2_mutant(
    "l2-reads-late",
    stands_for="A store that completes when it is queued.",
    found_by=("l2.native-buffers.source-of-a-store-afterwards",),
)
class ReadsLate(ReferencePlugin):
    """Completes a store before it reads its memory."""

    def _work(self, batch: Batch) -> None:
        if batch.kind != "store":
            super()._work(batch)
            return
        sources = [Bare(memory_of(buffer)) for buffer in batch.buffers]
        self._complete(batch, [Outcome.STORED] * len(batch.keys))
        time.sleep(LATE)
        for key, source in zip(batch.keys, sources, strict=True):
            self._keeper.store(key, source, batch.until)


@l2_mutant(
    "l2-scrambles-its-source",
    stands_for="Encryption, compression or a change of byte order in place.",
    found_by=("l2.native-buffers.source-of-a-store-unchanged",),
)
class ScramblesItsSource(ReferencePlugin):
    """Turns the bytes of a store round in the memory that it was given."""

    def _store(self, key: str, source: Leased, until: float) -> Outcome:
        view = memory_of(source)
        plain = view.tobytes()
        _copy(view, plain[::-1])
        return self._keeper.store(key, _Reversed(view), until)


class _Reversed(Bare):
    def piece(self, start: int, stop: int) -> bytes:
        return self._view.tobytes()[::-1][start:stop]


@l2_mutant(
    "l2-writes-late",
    stands_for="A load that completes when the bytes have arrived somewhere else, and copies them then.",
    found_by=("l2.native-buffers.target-of-a-load-afterwards", "l2.native-close.nothing-written-after-close"),
)
class WritesLate(ReferencePlugin):
    """Completes a load before it has written to its memory."""

    def _load(self, key: str, target: Leased, until: float) -> Outcome:
        held = _Held(memory_of(target))
        outcome = self._keeper.load(key, held, until)
        threading.Timer(LATER, held.write).start()
        return outcome


class _Held(Bare):
    def __init__(self, view: memoryview) -> None:
        super().__init__(view)
        self._data = b""

    def fill(self, data: bytes) -> None:
        self._data = data

    def write(self) -> None:
        """What fill should have done."""
        _copy(self._view, self._data)


@l2_mutant(
    "l2-writes-whole-blocks",
    stands_for="Direct access to a disk, whose blocks are larger than what is left of an object.",
    found_by=("l2.native-buffers.target-of-a-load-afterwards",),
)
class WritesWholeBlocks(ReferencePlugin):
    """Writes up to the end of a block of 64 bytes, beside its memory."""

    def _load(self, key: str, target: Leased, until: float) -> Outcome:
        return self._keeper.load(key, _Blocks(memory_of(target)), until)


class _Blocks(Bare):
    def fill(self, data: bytes) -> None:
        _copy(self._view, data + bytes(-len(data) % BLOCK or BLOCK))


class _AnySize(Bare):
    def fill(self, data: bytes) -> None:
        _copy(self._view, data[: self._view.nbytes])


@l2_mutant(
    "l2-loads-what-fits",
    stands_for="A read of as many bytes as there is memory, whose count nobody compares.",
    found_by=("l2.native-buffers.memory-of-another-size", "l2.native-buffers.one-of-another-size"),
)
class LoadsWhatFits(ReferencePlugin):
    """Loads the part of an object for which there is memory, and says yes."""

    def _load(self, key: str, target: Leased, until: float) -> Outcome:
        outcome = self._keeper.load(key, target, until)
        if outcome is not Outcome.MISMATCHED:
            return outcome
        sink = _AnySize(memory_of(target))
        for size in SIZES:
            sink.size = size
            if self._keeper.load(key, sink, until) is Outcome.LOADED:
                return Outcome.LOADED
        return outcome
