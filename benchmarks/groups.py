"""The groups of comparisons, by name; each is a module that starts what it measures."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, cast

from benchmarks.comparison import Comparison

Opened = AbstractContextManager[Sequence[Comparison]]


@dataclass(frozen=True)
class Group:
    """Comparisons that share what is started for them.

    Attributes:
        name: as the command line names it; its module is `benchmarks.<name>`.
        title: the heading of its table.
    """

    name: str
    title: str

    def opened(self) -> Opened:
        """The comparisons, for as long as what they measure runs: the function `opened` of the group's module."""
        opened = cast("Callable[[], Opened]", importlib.import_module(f"benchmarks.{self.name}").opened)
        return opened()


GROUPS: Final = (
    Group("lm", "The lm:// mock, the real server and a bare socket server"),
    Group("tap", "What a tap costs"),
    Group("mp", "The multiprocess mock and the real multiprocess server"),
    Group("stdio", "A call of an adapter over standard streams, and a bare echo over pipes"),
    Group("keys", "Chunk keys, and those of the real token database"),
    Group("codecs", "Frames and messages, and the real codec"),
    Group("run", "Runs"),
    Group("scale", "More processes, and shards"),
    Group("start", "Starting"),
    Group("reports", "Reports"),
)


def group(name: str) -> Group:
    """The group of that name.

    Raises:
        ValueError: there is none; the message lists them.
    """
    for known in GROUPS:
        if known.name == name:
            return known
    raise ValueError(f"no group is called {name!r}; there are {', '.join(known.name for known in GROUPS)}")
