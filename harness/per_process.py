"""What each process draws for itself, also one that was forked from another which had drawn it before."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")


class PerProcess(Generic[T]):
    """A value that is made when this is, and once more in every process forked from this one."""

    def __init__(self, draw: Callable[[], T]) -> None:
        self._draw = draw
        self.value = draw()
        _alive.add(self)

    def draw_again(self) -> None:
        """Make the value once more, as a process does that was just forked."""
        self.value = self._draw()


_alive: Final[weakref.WeakSet[PerProcess[Any]]] = weakref.WeakSet()
"""All there are: what is registered with the interpreter stays for ever, so that is one function and not each of them."""


def _draw_again() -> None:
    for one in list(_alive):
        one.draw_again()


os.register_at_fork(after_in_child=_draw_again)
