"""A client inside pytest must not end it with success: nobody would see that cases were left out, or that some failed.

What calls ``os._exit(0)``, such as an adapter whose ``bye`` ends its process, ends pytest before it tells anything.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Final, NoReturn

STATUS: Final = 3
"""The exit status instead: that of pytest for an error inside, and of ours for a run that shows nothing."""
_TOLD: Final = (
    "lmconform: the client ended the process that it runs in, pytest itself, with os._exit(0): the run did not end, and nothing "
    "is claimed about the client; answer and return instead, or use 'lmconform run', which gives the client a process of its own"
)


def prevent(show: Callable[[], object]) -> Callable[[], None]:
    """From now on a silent end of this process is an error that is told; what is returned takes that back.

    ``show`` is called before something is written to standard error. Forked children end as they like.
    """
    mine, leave = os.getpid(), os._exit

    @functools.wraps(leave)
    def end(status: int) -> NoReturn:
        if status != 0 or os.getpid() != mine:
            leave(status)
        try:
            show()
            print(f"\n{_TOLD}", file=sys.__stderr__, flush=True)
        finally:
            leave(STATUS)

    def take_back() -> None:
        if os._exit is end:
            os._exit = leave

    os._exit = end
    return take_back
