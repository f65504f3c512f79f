"""Releases of lmcache, and tables that give one value per range of releases."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from packaging.version import Version

from wire.errors import UnknownReleaseError

T = TypeVar("T")


@functools.total_ordering
@dataclass(frozen=True, eq=False)
class Release:
    """One version of lmcache as the package index names it, for example ``0.3.9.post1``."""

    text: str

    @classmethod
    def parse(cls, text: str) -> Release:
        """Read a version.

        Raises:
            UnknownReleaseError: the text is no version, or older than every table here.
        """
        try:
            version = Version(text.strip())
        except ValueError:  # InvalidVersion is one, and so is a number of more digits than Python reads
            raise UnknownReleaseError(f"{text!r} is not a version of lmcache; give one such as {KNOWN_RELEASES[-1]}") from None
        release = cls(str(version))
        if version < Version(KNOWN_RELEASES[0]):
            raise UnknownReleaseError(
                f"lmcache {release} is older than {KNOWN_RELEASES[0]}, the oldest release with a known wire"
            )
        return release

    @functools.cached_property
    def version(self) -> Version:
        """The parsed version, for comparisons."""
        return _version(self.text)

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and (self.text == other.text or self.version == other.version)

    def __lt__(self, other: Release) -> bool:
        return self.version < other.version

    def __hash__(self) -> int:
        return hash(self.version)


@functools.lru_cache(maxsize=256)
def _version(text: str) -> Version:
    return Version(text)


@dataclass(frozen=True)
class ReleaseRange:
    """Releases from ``first`` to ``last``, both included; no ``last`` means every later one."""

    first: Release
    last: Release | None = None

    @classmethod
    def parse(cls, text: str) -> ReleaseRange:
        """Read ``0.3.3 to 0.4.3``, ``0.4.4 and later``, ``up to 0.3.2``, ``all`` or one release.

        Raises:
            UnknownReleaseError: the text has none of these forms, or ends before it begins.
        """
        words = text.strip()
        oldest = Release.parse(KNOWN_RELEASES[0])
        if words == "all":
            return cls(oldest)
        if words.endswith(" and later"):
            return cls(Release.parse(words.removesuffix(" and later")))
        if words.startswith("up to "):
            return cls(oldest, Release.parse(words.removeprefix("up to ")))
        first, separator, last = words.partition(" to ")
        if separator:
            found = cls(Release.parse(first), Release.parse(last))
            if found.last is not None and found.last < found.first:
                raise UnknownReleaseError(f"the range {words!r} ends before it begins")
            return found
        only = Release.parse(words)
        return cls(only, only)

    def __contains__(self, release: Release) -> bool:
        return self.first <= release and (self.last is None or release <= self.last)

    def __str__(self) -> str:
        if self.last is None:
            return f"{self.first} and later"
        if self.first == self.last:
            return str(self.first)
        return f"{self.first} to {self.last}"


class RangeTable(Generic[T]):
    """Values by release: each row holds from its release until the next row begins."""

    def __init__(self, name: str, *rows: tuple[str, T]) -> None:
        self.name = name
        self._rows = tuple((Release.parse(first), value) for first, value in rows)
        self._found: dict[str, T] = {}
        """By the text of the release, whose hash is quicker than that of a version."""
        firsts = [first for first, _ in self._rows]
        if firsts != sorted(firsts) or len(set(firsts)) != len(firsts):
            raise ValueError(f"table {name!r}: rows must be in rising order of release")

    def __getitem__(self, release: Release) -> T:
        if release.text in self._found:
            return self._found[release.text]
        for first, value in reversed(self._rows):
            if first <= release:
                return self._found.setdefault(release.text, value)
        raise UnknownReleaseError(f"{self.name}: nothing is known for lmcache {release}")

    def rows(self) -> Iterator[tuple[ReleaseRange, T]]:
        """The rows as ranges; the end of each is the last known release before the next begins."""
        known = [Release.parse(text) for text in KNOWN_RELEASES]
        for index, (first, value) in enumerate(self._rows):
            if index + 1 == len(self._rows):
                yield ReleaseRange(first), value
            else:
                following = self._rows[index + 1][0]
                yield ReleaseRange(first, max(r for r in known if r < following)), value


KNOWN_RELEASES: tuple[str, ...] = (
    "0.3.1",
    "0.3.1.post1",
    "0.3.2",
    "0.3.3",
    "0.3.4",
    "0.3.5",
    "0.3.6",
    "0.3.7",
    "0.3.9",
    "0.3.9.post1",
    "0.3.9.post2",
    "0.3.10",
    "0.3.10.post1",
    "0.3.10.post2",
    "0.3.11",
    "0.3.12",
    "0.3.13",
    "0.3.14",
    "0.3.15",
    "0.4.1",
    "0.4.2",
    "0.4.3",
    "0.4.4",
    "0.4.5",
    "0.4.6",
    "0.4.7",
    "0.5.0",
    "0.5.1",
    "0.5.2",
    "0.5.3",
    "0.5.4",
    "0.5.5",
    "0.5.6",
)
"""Releases on the package index with a CPython 3.11 wheel, oldest first."""
