"""The private corner of one process in a folder that several share."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import shutil
import uuid
from pathlib import Path


class Writer:
    """A folder in which objects are written before they are shown, and to which they are moved before they are deleted.

    It is locked as long as the process lives. One that nobody holds a lock of was left behind by a process that was killed:
    whoever opens the folder next sweeps it away.
    """

    def __init__(self, among: Path) -> None:
        self._among = among
        self._numbers = itertools.count()
        among.mkdir(parents=True, exist_ok=True)
        self._path, self._lock = self._settle()

    def _settle(self) -> tuple[Path, int]:
        while True:
            path = self._among / uuid.uuid4().hex
            path.mkdir()
            # Another process that opens the folder right now may sweep ours away before it is locked.
            lock = _lock(path)
            if lock is not None and path.exists():
                return path, lock
            if lock is not None:
                os.close(lock)

    def place(self) -> Path:
        """A path of its own for something new."""
        self._path.mkdir(parents=True, exist_ok=True)
        return self._path / str(next(self._numbers))

    def sweep(self) -> None:
        """Remove what processes left that are no more."""
        for path in self._among.iterdir():
            if path == self._path:
                continue
            lock = _lock(path)
            if lock is not None:
                remove(path)
                os.close(lock)

    def close(self) -> None:
        """Remove the corner."""
        remove(self._path)
        os.close(self._lock)


def _lock(path: Path) -> int | None:
    """A descriptor that holds the lock of a folder or file; None if somebody else holds it, or it is gone."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def remove(path: Path) -> None:
    """Remove a folder with all that it holds, or a file; what cannot be removed stays."""
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
