"""Narrows down what release a side is: everything that it does excludes those that would not do so."""

from __future__ import annotations

from collections.abc import Iterable

from harness.tap.event import Side
from harness.tap.guess import RELEASES, Evidence, Guess
from wire.release import Release

_MOST_EVIDENCE = 64


class Suspects:
    """The releases that one side may still be."""

    def __init__(self, who: Side, possible: Iterable[Release] = RELEASES) -> None:
        self.who = who
        self._strong = set(possible)
        self._evidence: list[Evidence] = []
        self._weak: list[Evidence] = []
        self.seen = 0
        """Messages that were looked at."""
        self.revision = 0
        """Grows with every change."""

    @property
    def left(self) -> frozenset[Release]:
        """Those that nothing certain speaks against."""
        return frozenset(self._strong)

    def exclude(
        self, releases: Iterable[Release], *, at: float, connection: int, offset: int | None, what: str, weak: bool = False
    ) -> None:
        """Something that these releases would not have done was seen."""
        excluded = tuple(sorted(self._strong.intersection(releases)))
        if not excluded or len(self._evidence) + len(self._weak) >= _MOST_EVIDENCE:
            return
        evidence = Evidence(at, connection, offset, what, excluded, weak)
        if weak:
            known = {release for other in self._weak for release in other.excludes}
            if known.issuperset(excluded):
                return
            self._weak.append(evidence)
        else:
            self._strong.difference_update(excluded)
            self._evidence.append(evidence)
        self.revision += 1

    def guess(self) -> Guess:
        """What is left, where weak evidence counts as long as it leaves any release."""
        left = set(self._strong)
        told = list(self._evidence)
        for evidence in self._weak:
            excluded = left.intersection(evidence.excludes)
            if excluded and excluded != left:
                left -= excluded
                told.append(evidence)
        return Guess(self.who, tuple(sorted(left)), tuple(sorted(told, key=lambda one: one.at)), self.seen)
