"""What a drift means for a client that says which releases it is right for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reports.drift.model import Drift, Level, Role
from reports.words import count
from wire.release import KNOWN_RELEASES, Release, ReleaseRange


@dataclass(frozen=True)
class Claims:
    """The releases that a client claims, and how it says so."""

    text: str
    ranges: tuple[ReleaseRange, ...]

    @classmethod
    def parse(cls, text: str) -> Claims:
        """Read a range such as ``0.3.14 to 0.5.5``.

        Raises:
            UnknownReleaseError: the text is no range of releases.
        """
        return cls(text.strip(), (ReleaseRange.parse(text),))

    @classmethod
    def of_versions(cls, versions: Sequence[str]) -> Claims:
        """The releases that a client declares in ``hello``; ``*`` stands for all.

        Raises:
            UnknownReleaseError: one is no release.
        """
        if "*" in versions:
            return cls("every release", (ReleaseRange.parse("all"),))
        found = sorted(Release.parse(version) for version in versions)
        return cls(_runs(found), tuple(ReleaseRange(release, release) for release in found))

    def __contains__(self, release: Release) -> bool:
        return any(release in found for found in self.ranges)

    def by_name(self, release: Release) -> bool:
        """Whether a release is claimed by a range that ends, so that it was known when the claim was made."""
        return any(release in found and found.last is not None for found in self.ranges)


@dataclass(frozen=True)
class Concern:
    """What is to be said to the author, and the level that counts for the exit code."""

    sentence: str
    level: Level


def concern(claims: Claims, drift: Drift, captured: Sequence[Release], between: Callable[[Release, Release], Drift]) -> Concern:
    """What a drift means for a client; ``between`` compares two captured releases."""
    new = Release.parse(drift.new)
    if claims.by_name(new):
        return Concern(
            f"Your client claims {claims.text}, {new} included: 'lmconform run --lmcache {new}' shows whether it keeps that.",
            Level.NONE,
        )
    before = [release for release in captured if release in claims and release < new]
    if not before:
        return Concern(
            f"Your client claims {claims.text}, nothing before {new} that is captured: this drift does not concern it.",
            Level.NONE,
        )
    base = before[-1]
    found = drift if base == Release.parse(drift.old) else between(base, new)
    claim = f"Your client claims {claims.text}"
    if new in claims:
        claim += f", and so {new} too"
    if not found.worst:
        return Concern(f"{claim}; {new} changes nothing for it.", Level.NONE)
    where = "" if found is drift else f" against {base}, the newest of them in the corpus ('lmconform drift {base} {new}')"
    return Concern(f"{claim}; {new}{where} {_effect(found)}.", found.worst)


def _effect(drift: Drift) -> str:
    """How many changes hit it, and in which roles."""
    parts = []
    for level, verb in (
        (Level.BREAKING, "breaks it by"),
        (Level.BEHAVIOURAL, "behaves differently in"),
        (Level.ADDITIVE, "adds"),
    ):
        changes = drift.at(level)
        if changes:
            roles = [role.value for role in Role if any(change.levels[role] is level for change in changes)]
            noun = "thing" if level is Level.ADDITIVE else "change" if level is Level.BREAKING else "point"
            parts.append(f"{verb} {count(len(changes), noun)} (for {', '.join(roles)})")
    return ", ".join(parts)


def _runs(releases: Sequence[Release]) -> str:
    """Versions as ranges where no known release is missing between them."""
    known = [Release.parse(text) for text in KNOWN_RELEASES]
    found: list[list[Release]] = []
    for release in releases:
        if found and not [other for other in known if found[-1][-1] < other < release]:
            found[-1].append(release)
        else:
            found.append([release])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in found)
