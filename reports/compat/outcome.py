"""How a client of one release fares with a server of another, and which of two answers is the worse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Outcome(StrEnum):
    """What happened, in the words of the matrix."""

    OK = "ok"
    MISSES = "misses"
    REFUSED = "refused"
    HANGS = "hangs"
    WRONG = "wrong"
    UNKNOWN = "unknown"
    NOT_RUN = "not-run"


WORDS: Final[Mapping[Outcome, str]] = MappingProxyType(
    {
        Outcome.OK: "ok",
        Outcome.MISSES: "silently misses",
        Outcome.REFUSED: "refused",
        Outcome.HANGS: "hangs",
        Outcome.WRONG: "silently wrong",
        Outcome.UNKNOWN: "not reproducible",
        Outcome.NOT_RUN: "not run",
    }
)

MEANINGS: Final[Mapping[Outcome, str]] = MappingProxyType(
    {
        Outcome.OK: "everything that was asked was answered as the client's own release has it",
        Outcome.MISSES: "what was stored is answered with 400, or another key is asked for: nobody sees an error",
        Outcome.REFUSED: "the server closes the connection",
        Outcome.HANGS: "one side waits for bytes that the other never sends",
        Outcome.WRONG: "success with other bytes, another description, or the value of another key",
        Outcome.UNKNOWN: "the captures cannot say: the keys differ from process to process",
        Outcome.NOT_RUN: "the server could not be asked",
    }
)

_LETTERS: Final = {
    Outcome.WRONG: "W",
    Outcome.HANGS: "H",
    Outcome.REFUSED: "R",
    Outcome.MISSES: "M",
    Outcome.UNKNOWN: "?",
    Outcome.NOT_RUN: "!",
    Outcome.OK: "+",
}

STYLES: Final[Mapping[Outcome, str]] = MappingProxyType(
    {
        Outcome.OK: "green",
        Outcome.MISSES: "yellow",
        Outcome.REFUSED: "red",
        Outcome.HANGS: "magenta",
        Outcome.WRONG: "bold white on red",
        Outcome.UNKNOWN: "cyan",
        Outcome.NOT_RUN: "bold magenta",
    }
)


@dataclass(frozen=True)
class Grade:
    """An outcome, and whether it strikes plain use: plain keys and values under default settings."""

    outcome: Outcome
    plain: bool = True

    @property
    def letter(self) -> str:
        """One character: a capital where plain use is struck, a small letter where only some keys or values are."""
        return _LETTERS[self.outcome] if self.plain else _LETTERS[self.outcome].lower()

    @property
    def rank(self) -> int:
        """Position in :data:`ORDER`; 0 is the worst."""
        return ORDER.index(self)

    @property
    def words(self) -> str:
        """Such as ``silently misses, in part``."""
        return WORDS[self.outcome] + ("" if self.plain else ", in part")


ORDER: Final[tuple[Grade, ...]] = (
    Grade(Outcome.NOT_RUN),
    Grade(Outcome.WRONG),
    Grade(Outcome.HANGS),
    Grade(Outcome.REFUSED),
    Grade(Outcome.MISSES),
    Grade(Outcome.UNKNOWN),
    Grade(Outcome.WRONG, plain=False),
    Grade(Outcome.HANGS, plain=False),
    Grade(Outcome.REFUSED, plain=False),
    Grade(Outcome.MISSES, plain=False),
    Grade(Outcome.UNKNOWN, plain=False),
    Grade(Outcome.OK),
)
"""Worst first: what strikes plain use comes before what strikes only some keys or values."""


def worst(grades: Iterable[Grade]) -> Grade:
    """The worst of some grades; none at all is ok."""
    return min(grades, key=lambda grade: grade.rank, default=Grade(Outcome.OK))
