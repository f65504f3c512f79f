"""Ctrl-C and SIGTERM, which mean the same: the first ends a command in order, the next one at once.

A command that is interrupted raises ``KeyboardInterrupt``, keeps what it has, and ends with status 3. Whatever it started is on
a leash (:mod:`fixturegen.leash`), so that nothing outlives an end at once. Before there is a command, while the program is still
being loaded, there is nothing to keep, and the first signal is enough.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, Final, NoReturn

STATUS: Final = 3
"""What an interrupted command ends with: nothing is claimed."""
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_WORDS: Final = b"lmconform: interrupted\n"


class _Heed:
    """How many signals came to the command that runs, and what the next one does."""

    def __init__(self) -> None:
        self.came = 0
        self.postponed = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.came += 1
        if self.came > 1:
            end_at_once(number, frame)
        if not self.postponed:
            raise KeyboardInterrupt


_heed = _Heed()


def end_at_once(number: int = 0, frame: FrameType | None = None) -> NoReturn:
    """End this process now, with the word that tells why and no traceback; a handler of signals."""
    del number, frame
    with contextlib.suppress(OSError):
        os.write(2, _WORDS)
    os._exit(STATUS)


@contextlib.contextmanager
def at_once() -> Iterator[None]:
    """The first signal in the block ends this process: nothing is there yet that could be kept."""
    with _handled(end_at_once):
        yield


@contextlib.contextmanager
def in_order() -> Iterator[None]:
    """The first signal in the block raises ``KeyboardInterrupt``, the second ends this process."""
    before = _heed.came, _heed.postponed
    _heed.came, _heed.postponed = 0, False
    try:
        with _handled(_heed):
            yield
    finally:
        _heed.came, _heed.postponed = before


@contextlib.contextmanager
def postponed() -> Iterator[None]:
    """What is done in the block is the last thing that the command does: a first signal lets it end, another one does not."""
    before, _heed.postponed = _heed.postponed, True
    try:
        yield
    finally:
        _heed.postponed = before


@contextlib.contextmanager
def _handled(handler: Any) -> Iterator[None]:
    """Both signals go to a handler; only the main thread may say so, and signals come to no other."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = [(number, signal.signal(number, handler)) for number in _SIGNALS]
    try:
        yield
    finally:
        for number, old in before:
            signal.signal(number, old if old is not None else signal.SIG_DFL)


def leave(status: int) -> NoReturn:
    """End the program with a status, after what was promised for its end.

    The interpreter is not taken apart: with the modules of every command loaded that takes from a quarter of a second up to
    seconds on a busy machine, and gives back nothing that the end of the process would not.
    """
    with _handled(end_at_once):
        if sys.stdout is not None:  # as it is where the program was started with standard output closed
            try:
                sys.stdout.flush()
            except BrokenPipeError:
                pass
            except (OSError, ValueError):
                status = status or STATUS
        if sys.stderr is not None:
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.flush()
        atexit._run_exitfuncs()  # noqa: SLF001  # as the interpreter does; there is no public way
        os._exit(status)
