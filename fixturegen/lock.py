"""A lock between processes, so that parallel runs download and build once; waited for, but not for ever."""

from __future__ import annotations

import contextlib
import fcntl
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from fixturegen.errors import EnvironmentUnavailable

PATIENCE: Final = 1800.0
"""Seconds to wait for another process that builds or downloads."""
QUIET: Final = 5.0
"""Seconds of waiting after which the user is told."""


@contextlib.contextmanager
def locked(path: Path, *, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the lock that a file stands for.

    Raises:
        EnvironmentUnavailable: its folder cannot be written, or another process holds it for too long.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a")
    except OSError as error:
        raise EnvironmentUnavailable(f"cannot write to {path.parent}, where environments are kept: {error}") from error
    with file:
        _acquire(file.fileno(), path, patience)
        yield


def _acquire(descriptor: int, path: Path, patience: float) -> None:
    began = time.monotonic()
    told = False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waited = time.monotonic() - began
        else:
            return
        if waited >= patience:
            raise EnvironmentUnavailable(
                f"another process has held {path} for {waited:.0f} s; if none is building there, remove the file"
            )
        if waited >= QUIET and not told:
            print(f"lmconform: waiting for another process that holds {path}", file=sys.stderr, flush=True)
            told = True
        time.sleep(0.05)
