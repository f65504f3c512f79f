"""Ranges of releases as pictures label them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wire.release import KNOWN_RELEASES, Release, ReleaseRange

KNOWN: tuple[Release, ...] = tuple(Release.parse(text) for text in KNOWN_RELEASES)


def members(range_: ReleaseRange) -> tuple[str, ...]:
    """The known releases of a range, oldest first."""
    return tuple(str(release) for release in KNOWN if release in range_)


def span(releases: Sequence[str]) -> str:
    """``0.3.4 to 0.3.5``, ``0.3.3 and later`` if it ends with the newest known, or the one release."""
    if releases[-1] == KNOWN_RELEASES[-1]:
        return f"{releases[0]} and later"
    return releases[0] if len(releases) == 1 else f"{releases[0]} to {releases[-1]}"


def runs(values: Iterable[tuple[str, object]]) -> list[tuple[tuple[str, ...], object]]:
    """Releases with their values, neighbours with equal values together."""
    found: list[tuple[tuple[str, ...], object]] = []
    for release, value in values:
        if found and found[-1][1] == value:
            found[-1] = ((*found[-1][0], release), value)
        else:
            found.append(((release,), value))
    return found
