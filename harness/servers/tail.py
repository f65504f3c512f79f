"""The end of what a process writes, whatever it writes in all: a server that floods its log must not fill the disk."""

from __future__ import annotations

import os
import threading
from collections import deque
from typing import Final

KEPT: Final = 64 * 1024
"""Bytes from the end that are kept, at least."""
_PIECE: Final = 64 * 1024
_ENDING: Final = 1.0


class Tail:
    """Reads a pipe in a thread of its own until nobody can write to it any more, or nobody is interested."""

    def __init__(self) -> None:
        self._reading, self.writing = os.pipe()
        self._pieces: deque[bytes] = deque()
        self._lock = threading.Lock()
        self._written = 0
        self._forsaken = False
        self._thread = threading.Thread(target=self._read, name="lmconform-tail", daemon=True)
        self._thread.start()

    @property
    def text(self) -> str:
        """The end of what was written."""
        return self.since(0)

    @property
    def written(self) -> int:
        """Bytes that were written so far."""
        with self._lock:
            return self._written

    def since(self, place: int) -> str:
        """The end of what was written behind the first ``place`` bytes."""
        with self._lock:
            count = min(KEPT, self._written - place)
            return b"".join(self._pieces)[-count:].decode(errors="replace") if count > 0 else ""

    def started(self) -> None:
        """The process has its end of the pipe, so that this one lets go of it: then the pipe ends with the process."""
        os.close(self.writing)

    def finish(self) -> None:
        """The process is gone: take what it left, and wait for nobody who still holds the pipe."""
        self._thread.join(_ENDING)
        self._forsaken = True

    def _read(self) -> None:
        kept = 0
        try:
            while not self._forsaken and (piece := os.read(self._reading, _PIECE)):
                with self._lock:
                    self._pieces.append(piece)
                    kept += len(piece)
                    self._written += len(piece)
                    while kept - len(self._pieces[0]) >= KEPT:
                        kept -= len(self._pieces.popleft())
        finally:
            os.close(self._reading)
