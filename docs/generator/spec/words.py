"""Ranges of releases, code and values as the tables of the specification write them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from wire.reach import release_spans
from wire.release import KNOWN_RELEASES, RangeTable, Release, ReleaseRange


def since(release: Release | str, *, first: str = KNOWN_RELEASES[0]) -> str:
    """``0.3.3 and later``; ``all`` for what was always so. ``first`` is the first release that has the subject at all."""
    return "all" if str(release) == first else f"{release} and later"


def spanned(releases: ReleaseRange, *, first: str = KNOWN_RELEASES[0]) -> str:
    """A range as requirements write it: ``all``, ``up to 0.3.2``, ``0.3.3 to 0.4.3``, ``0.4.4 and later`` or one release."""
    begins = str(releases.first) == first
    if begins and releases.last is None:
        return "all"
    if begins and releases.last != releases.first:
        return f"up to {releases.last}"
    return str(releases)


def spans(releases: Iterable[str]) -> str:
    """Known releases as ranges, the last one open: ``0.3.3, 0.4.6 and later``."""
    text = release_spans(releases)
    newest = KNOWN_RELEASES[-1]
    head, comma, last = text.rpartition(", ")
    first, _, end = last.partition(" to ")
    return f"{head}{comma}{first} and later" if newest in {end, first} and text else text


def code(text: object) -> str:
    """A text as code in a cell of a table."""
    return f"`{text}`".replace("|", "\\|")


def listed(parts: Sequence[str], last: str = "and") -> str:
    """``a, b and c``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def joint(*tables: RangeTable[Any], first: str = KNOWN_RELEASES[0]) -> Iterator[tuple[ReleaseRange, Release]]:
    """The ranges in which none of the tables changes, each with a release of it; nothing before ``first``."""
    begin = Release.parse(first)
    firsts = {begin, *(max(span.first, begin) for each in tables for span, _ in each.rows())}
    for span, _ in RangeTable("joint", *((one.text, None) for one in sorted(firsts))).rows():
        yield span, span.first
