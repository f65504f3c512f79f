"""How a plugin's process is ended in a round of a crash run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, Literal

Kind = Literal["call", "power", "opening", "moment", "between"]
WORDS: Final[dict[Kind, str]] = {
    "call": "before a call of the file system, or in the middle of a write",
    "power": "the same, and what was not synced is lost",
    "opening": "while it was being opened",
    "moment": "at a random moment",
    "between": "between two operations",
}
WATCHED: Final[dict[Kind, int]] = {"call": 8, "power": 6, "opening": 2, "moment": 3, "between": 1}
"""How often each comes, where calls of the file system can be watched."""
UNWATCHED: Final[dict[Kind, int]] = {"moment": 4, "between": 1}
PARTS: Final = (0.0, 0.0, 0.5, 0.999)
"""How much of a write is done before the end."""
OPENING_CALLS: Final = 6
"""An opening is ended at one of the first so many changes that it makes."""


@dataclass(frozen=True)
class Ending:
    """What ends a round."""

    kind: Kind
    at: float
    """Where in the workload, or in the opening: 0 is its beginning, 1 its end."""
    part: float

    @property
    def watched(self) -> bool:
        """Whether it needs a watcher."""
        return self.kind in {"call", "power", "opening"}


def choose(random: Random, kinds: Sequence[Kind]) -> Ending:
    """An ending of one of these kinds."""
    weights = [WATCHED[kind] if "call" in kinds else UNWATCHED[kind] for kind in kinds]
    return Ending(random.choices(kinds, weights)[0], random.random(), random.choice(PARTS))
