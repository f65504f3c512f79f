"""How the harm of a collision is shown: a letter and a tone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from reports.collisions.harm import WORDS, Grade, Harm
from reports.pictures.legend import Entry

TONES: Final[Mapping[Harm, str]] = {
    Harm.DESTROYS: "bad",
    Harm.CORRUPTS: "bad",
    Harm.LEAKS: "odd",
    Harm.KILLS: "odd",
    Harm.MISLEADS: "warn",
    Harm.STRANDS: "warn",
    Harm.HANGS: "none",
    Harm.SAME: "good",
}


def letter_of(harm: Harm) -> str:
    """The letter of a harm, the same as in the matrix of collisions."""
    return Grade(harm).letter


@dataclass(frozen=True)
class Mark:
    """How a harm is drawn: a letter on a ground; the worst is inverted."""

    letter: str
    tone: str
    back: str
    ink: str


def mark_of(harm: Harm | None) -> Mark:
    """The mark of a harm; None stands for no harm."""
    if harm is None:
        return Mark("·", "none", "none-back", "none")
    tone = TONES[harm]
    if harm is Harm.DESTROYS:
        return Mark(letter_of(harm), tone, tone, "page")
    return Mark(letter_of(harm), tone, f"{tone}-back", tone)


def entry(harm: Harm) -> Entry:
    """The harm in a legend."""
    mark = mark_of(harm)
    return Entry(mark.letter, None, mark.tone, WORDS[harm], back=mark.back, ink=mark.ink)
