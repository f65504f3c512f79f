"""What release each side of a conversation seems to be, and what says so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from harness.tap.event import Side
from wire.release import KNOWN_RELEASES, Release

RELEASES: Final = tuple(Release.parse(text) for text in KNOWN_RELEASES)


@dataclass(frozen=True)
class Evidence:
    """Something that a side did, and the releases that would not have done it."""

    at: float
    connection: int
    offset: int | None
    """The byte that shows it, counted from the beginning of what the side sent on the connection; None: no byte does."""
    what: str
    """What was seen, on one line."""
    excludes: tuple[Release, ...]
    weak: bool = False
    """It is what lmcache does, and others may do otherwise: it excludes nothing where that would leave no release."""


@dataclass(frozen=True)
class Guess:
    """The releases that one side may be."""

    who: Side
    candidates: tuple[Release, ...]
    """Those that everything seen agrees with, oldest first; none where no release behaves so."""
    evidence: tuple[Evidence, ...]
    """In the order in which it was seen; each excludes a release that nothing before did."""
    seen: int = 0
    """Messages that it rests on; with 0 nothing is known."""

    @property
    def words(self) -> str:
        """The candidates as ranges, such as ``0.3.14 to 0.4.3, 0.5.6``."""
        if not self.seen:
            return "not known: it sent nothing that tells"
        if not self.candidates:
            return "no release of lmcache"
        if len(self.candidates) == len(RELEASES):
            return "any release"
        return ranges(self.candidates)

    def may_be(self, release: Release) -> bool:
        """Whether nothing speaks against a release."""
        return release in self.candidates


def ranges(releases: Iterable[Release]) -> str:
    """Releases in words, neighbours as ranges; a range that ends with the newest known release has no end."""
    chosen = set(releases)
    words: list[str] = []
    run: list[Release] = []
    for release in (*RELEASES, None):
        if release is not None and release in chosen:
            run.append(release)
            continue
        if run:
            words.append(_range(run))
        run = []
    return ", ".join(words)


def _range(run: Sequence[Release]) -> str:
    if len(run) == 1:
        return str(run[0])
    if run[-1] == RELEASES[-1]:
        return f"{run[0]} and later"
    return f"{run[0]} to {run[-1]}"
