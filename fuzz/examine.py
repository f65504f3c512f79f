"""One execution of a target: what it raised, if it may not raise that, and where."""

from __future__ import annotations

import signal
import traceback
from dataclasses import dataclass
from types import FrameType
from typing import Final

from fuzz.target import Target

BOUND: Final = 5.0
"""Seconds of processor time that an input may take."""
_OURS: Final = ("/fuzz/examine.py", "/fuzz/targets/")


@dataclass(frozen=True)
class Finding:
    """What an input does that it should not."""

    kind: str
    """``raised``, ``slow``, ``memory``, ``killed``, ``silent`` or ``leak``."""
    place: str
    """Alike for inputs that show the same."""
    words: str
    """The traceback, or what else there is to say."""


class TooSlow(BaseException):
    """An input takes too long; no ``except Exception`` of the product stops it."""


def _ring(_number: int, _frame: FrameType | None) -> None:
    raise TooSlow


def examine(target: Target, data: bytes, bound: float = BOUND) -> Finding | None:
    """Execute a target once; None where it does what it documents."""
    before = signal.signal(signal.SIGPROF, _ring)
    signal.setitimer(signal.ITIMER_PROF, bound)
    try:
        target.run(data)
    except target.refusals as refusal:
        return _unreadable(refusal)
    except TooSlow as slow:
        return _finding("slow", slow)
    except MemoryError as error:
        return _finding("memory", error)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001  # whatever is no documented refusal is what is looked for
        return _finding("raised", error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return None


def _unreadable(refusal: Exception) -> Finding | None:
    """A refusal says something, and what it says can be printed."""
    try:
        text = str(refusal)
    except Exception as error:  # noqa: BLE001  # likewise
        return _finding("raised", error)
    return None if text.strip() else _finding("silent", refusal)


def _finding(kind: str, error: BaseException) -> Finding:
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not any(part in frame.filename for part in _OURS)]
    place = f"{theirs[-1].filename.rpartition('/')[2]}:{theirs[-1].lineno}" if theirs else "?"
    if kind == "slow":  # wherever the bell rang; the function of ours that was called says more
        place = f"{theirs[0].filename.rpartition('/')[2]}:{theirs[0].lineno}" if theirs else "?"
    words = "".join(traceback.format_exception(error, limit=-12))
    return Finding(kind, f"{type(error).__name__} at {place}", words[-6000:])
