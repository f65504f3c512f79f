"""One lock for each key that somebody works on."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class KeyLocks:
    """Locks that exist only while they are held or waited for."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[str, tuple[threading.Lock, int]] = {}

    @contextlib.contextmanager
    def of(self, key: str) -> Iterator[None]:
        """Hold the lock of a key."""
        with self._guard:
            lock, users = self._locks.get(key, (threading.Lock(), 0))
            self._locks[key] = (lock, users + 1)
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, users = self._locks.pop(key)
                if users > 1:
                    self._locks[key] = (lock, users - 1)
