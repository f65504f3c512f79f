"""Which releases a run of the kill matrix takes: every mutant shows in one of them, and there are as few as can be."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fixturegen.corpus import captured_releases, load_corpus
from harness.mutants.mutant import AnyMutant
from harness.protocols import Protocol, captured_protocol, has_protocol
from harness.usage import UsageError, parse_releases
from wire.release import Release

_NAMED: Final = 6
"""Releases that a message names one by one."""


@dataclass(frozen=True)
class ChosenReleases:
    """The releases of a run."""

    whole: tuple[Release, ...]
    """Those whose executions must all find a mutant, and in which every mutant that shows there must die."""
    extra: Mapping[Release, tuple[AnyMutant, ...]]
    """Others, each with the mutants that show in none of ``whole``: these alone meet cases there."""

    @property
    def all(self) -> tuple[Release, ...]:
        """Every release of the run, oldest first."""
        return tuple(sorted({*self.whole, *self.extra}))

    def of(self, mutant: AnyMutant) -> tuple[Release, ...]:
        """Where a mutant meets cases, oldest first."""
        return tuple(
            release
            for release in self.all
            if (release in self.whole and shows_in(mutant, release)) or mutant in self.extra.get(release, ())
        )


def speaking(protocol: Protocol) -> list[Release]:
    """The captured releases of a wire, or those that have an interface; oldest first."""
    captured = captured_protocol(protocol)
    if captured is not None:
        return captured_releases(protocol=captured)
    return [release for release in captured_releases() if has_protocol(release, protocol)]


def shows_in(mutant: AnyMutant, release: Release) -> bool:
    """Whether the defect of a mutant shows in a release, and the corpus has what it shows in."""
    captured = captured_protocol(mutant.protocol)
    return release in mutant.releases and all(
        captured is not None and load_corpus(release, protocol=captured).vectors.get(op) for op in mutant.captured
    )


def where(mutant: AnyMutant) -> str:
    """The captured releases in which a mutant shows, in words."""
    found = [str(release) for release in speaking(mutant.protocol) if shows_in(mutant, release)]
    if len(found) <= _NAMED:
        return ", ".join(found) or "no captured release"
    return f"{found[0]}, {found[1]}, ... {found[-1]} ({len(found)} captured releases)"


def chosen_releases(text: str | None, mutants: Sequence[AnyMutant], protocol: Protocol = "lm") -> ChosenReleases:
    """Those that are named; else the newest and the oldest captured one, and the fewest others in which all other mutants show.

    All are releases of which the corpus has the protocol. An end of the corpus in which none of the mutants shows is left out.

    Raises:
        UsageError: one of them is none, or not captured.
    """
    if text is not None:
        return ChosenReleases(tuple(parse_releases(text)), {})
    known = speaking(protocol)
    # An interface is met in the real lmcache, which takes long: the newest release stands for all where it can.
    both = {known[0], known[-1]} if captured_protocol(protocol) is not None else {known[-1]}
    ends = [release for release in sorted(both) if any(shows_in(mutant, release) for mutant in mutants)]
    rest = [mutant for mutant in mutants if not any(shows_in(mutant, release) for release in ends)]
    shows = {release: frozenset(mutant.name for mutant in rest if shows_in(mutant, release)) for release in reversed(known)}
    extra: dict[Release, tuple[AnyMutant, ...]] = {}
    for release in _fewest(shows):
        placed = {mutant.name for there in extra.values() for mutant in there}
        extra[release] = tuple(mutant for mutant in rest if mutant.name in shows[release] - placed)
    return ChosenReleases(tuple(ends), extra)


def require_meetings(patterns: Mapping[str, Sequence[AnyMutant]], chosen: ChosenReleases) -> None:
    """Refuse a run in which no mutant that a pattern names can meet a case.

    Raises:
        UsageError: there is such a pattern; the message says where its mutants show.
    """
    for pattern, mutants in patterns.items():
        if not any(chosen.of(mutant) for mutant in mutants):
            shown = "; ".join(f"{mutant.name} shows in {where(mutant)}" for mutant in mutants[:3])
            releases = ", ".join(map(str, chosen.all))
            raise UsageError(
                f"--only-mutant {pattern!r} names nothing that shows in lmcache {releases}: {shown}; "
                "name one of these releases with --lmcache, or leave --lmcache out"
            )


def _fewest(shows: Mapping[Release, frozenset[str]]) -> tuple[Release, ...]:
    """As few releases as show everything that any of them shows, newer ones first."""
    wanted = frozenset[str]().union(*shows.values())
    useful = [release for release, names in shows.items() if names]
    for size in range(len(useful) + 1):
        for some in itertools.combinations(useful, size):
            if wanted == frozenset[str]().union(*(shows[release] for release in some)):
                return some
    return ()
