"""Finished batches, and the descriptor that is readable while there are any."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

Completion = tuple[int, bool, str, list[bool] | None]
"""Id, whether the batch succeeded, why not (empty if it did), and one boolean for each key (None for stores)."""


class Completions:
    """A list that says by a descriptor whether it is empty.

    The descriptor is level-triggered: it is readable from the first completion until one ``drain`` took them all, however
    many there are and however often somebody polls.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._done: list[Completion] = []
        self._signal = _Signal()
        self._closed = False

    def fileno(self) -> int:
        """The descriptor to poll for reading."""
        return self._signal.fileno()

    def add(self, number: int, *, ok: bool, error: str = "", each: Sequence[bool] | None = None) -> None:
        """A batch is finished."""
        with self._lock:
            self._done.append((number, ok, error, None if each is None else list(each)))
            if len(self._done) == 1 and not self._closed:
                self._signal.set()

    def drain(self) -> list[Completion]:
        """Everything that is finished, each once."""
        with self._lock:
            done, self._done = self._done, []
            if done and not self._closed:
                self._signal.clear()
            return done

    def close(self) -> None:
        """Give the descriptor back; what is finished can still be drained."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._signal.close()


class _Signal:
    """An eventfd, or a pipe where the system has none."""

    def __init__(self) -> None:
        if hasattr(os, "eventfd"):
            self._read = self._write = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        else:
            self._read, self._write = os.pipe()
            os.set_blocking(self._read, False)

    def fileno(self) -> int:
        return self._read

    def set(self) -> None:
        os.write(self._write, (1).to_bytes(8, "little"))

    def clear(self) -> None:
        os.read(self._read, 8)

    def close(self) -> None:
        for descriptor in {self._read, self._write}:
            os.close(descriptor)
