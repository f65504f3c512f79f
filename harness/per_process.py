"""What each process draws for itself, also one that was forked from another which had drawn it before."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerProcess(Generic[T]):
    """A value that is made when this is, and once more in every process forked from this one."""

    def __init__(self, draw: Callable[[], T]) -> None:
        self._draw = draw
        self.value = draw()
        os.register_at_fork(after_in_child=self._draw_again)

    def _draw_again(self) -> None:
        self.value = self._draw()
