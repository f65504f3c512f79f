"""What can come of a request that a server of another release reads, the worst first."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Harm(StrEnum):
    """What comes of one request, in the words of the report."""

    DESTROYS = "destroys"
    CORRUPTS = "corrupts"
    LEAKS = "leaks"
    KILLS = "kills"
    MISLEADS = "misleads"
    STRANDS = "strands"
    HANGS = "hangs"
    SAME = "same"


WORDS: Final[Mapping[Harm, str]] = MappingProxyType(
    {
        Harm.DESTROYS: "destroys data",
        Harm.CORRUPTS: "corrupts",
        Harm.LEAKS: "leaks locks",
        Harm.KILLS: "kills the server",
        Harm.MISLEADS: "misleads",
        Harm.STRANDS: "strands the client",
        Harm.HANGS: "hangs",
        Harm.SAME: "same",
    }
)

MEANINGS: Final[Mapping[Harm, str]] = MappingProxyType(
    {
        Harm.DESTROYS: "stored objects of every client are gone",
        Harm.CORRUPTS: "memory, objects, registrations or locks of somebody are changed by a request that meant something else",
        Harm.LEAKS: "locks are taken that nobody gives back; until they run out, objects can be neither evicted nor written",
        Harm.KILLS: "the server's message thread dies: all clients wait until it is started again, and its health check is green",
        Harm.MISLEADS: "something else is executed that changes nothing, and the client takes the answer for its own",
        Harm.STRANDS: "the client cannot read the answer, and its message thread dies: all its later requests wait for ever",
        Harm.HANGS: "no answer comes, and the caller waits for ever or until a time-out of its own",
        Harm.SAME: "the same operation, with payloads and results that both understand",
    }
)

STYLES: Final[Mapping[Harm, str]] = MappingProxyType(
    {
        Harm.DESTROYS: "bold white on red",
        Harm.CORRUPTS: "bold red",
        Harm.LEAKS: "red",
        Harm.KILLS: "bold magenta",
        Harm.MISLEADS: "bold yellow",
        Harm.STRANDS: "magenta",
        Harm.HANGS: "yellow",
        Harm.SAME: "green",
    }
)

_ORDER: Final = tuple(Harm)
_LETTERS: Final[Mapping[Harm, str]] = MappingProxyType(
    {
        Harm.DESTROYS: "D",
        Harm.CORRUPTS: "C",
        Harm.LEAKS: "L",
        Harm.KILLS: "K",
        Harm.MISLEADS: "M",
        Harm.STRANDS: "S",
        Harm.HANGS: "H",
        Harm.SAME: "+",
    }
)


@functools.total_ordering
@dataclass(frozen=True)
class Grade:
    """A harm, and whether it strikes what every engine sends; a greater grade is a worse one."""

    harm: Harm = Harm.SAME
    plain: bool = True
    """False: only by operations of blending, peers or experiments, or only with odd payloads."""

    @property
    def rank(self) -> int:
        """0 for the worst; what strikes plain use is worse than what does not."""
        if self.harm is Harm.SAME:
            return 2 * len(_ORDER)
        return _ORDER.index(self.harm) + (0 if self.plain else len(_ORDER))

    @property
    def letter(self) -> str:
        """One letter for a matrix: a capital strikes plain use."""
        return _LETTERS[self.harm] if self.plain else _LETTERS[self.harm].lower()

    @property
    def words(self) -> str:
        """What comes of it, in words."""
        return WORDS[self.harm] if self.plain or self.harm is Harm.SAME else f"{WORDS[self.harm]} (not in plain use)"

    def __lt__(self, other: Grade) -> bool:
        return self.rank > other.rank


def worst(grades: Iterable[Grade]) -> Grade:
    """The worst of some; of none, that all is the same."""
    return max(grades, default=Grade())


def worst_harm(harms: Iterable[Harm]) -> Harm:
    """The worst of some; of none, that all is the same."""
    return min(harms, key=_ORDER.index, default=Harm.SAME)
