"""The buffers of a batch, which are ours only until its completion."""

from __future__ import annotations

import io
import threading
from collections.abc import Sequence


class LeaseEnded(Exception):
    """The batch was given up, and its buffers belong to their owner again."""


class Lease:
    """The right to touch the buffers of one batch.

    Whoever ends it knows that no thread reads or writes them from then on; a thread that still tries gets `LeaseEnded`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ended = False

    def __enter__(self) -> None:
        self._lock.acquire()
        if self._ended:
            self._lock.release()
            raise LeaseEnded

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def end(self) -> None:
        """Wait for a copy that is being made, and allow no other."""
        with self._lock:
            self._ended = True


class Leased:
    """One buffer under a lease: bytes are copied out of it and into it, and nothing keeps a view of it.

    The views that a server hands over come from ctypes and cannot be assigned to by slices; a read into them works for all.
    """

    def __init__(self, lease: Lease, view: memoryview) -> None:
        self._lease = lease
        self._view = view
        self.size = view.nbytes

    def piece(self, start: int, stop: int) -> bytes:
        """A copy of a part."""
        with self._lease:
            return self._view[start:stop].tobytes()

    def fill(self, data: bytes) -> None:
        """Write all of it; the caller has seen to it that the size is right."""
        with self._lease:
            io.BytesIO(data).readinto(self._view)

    def release(self) -> None:
        """Keep no hold on the memory; the lease has ended."""
        self._view.release()


def leased(lease: Lease, buffers: Sequence[memoryview]) -> list[Leased]:
    """Every buffer of a batch under one lease."""
    return [Leased(lease, memoryview(buffer)) for buffer in buffers]
