"""What excluded the releases that a side is not, in the order in which it was seen."""

from __future__ import annotations

from harness.tap.event import Side as Who
from harness.tap.guess import Evidence, Guess
from harness.tap.mp.candidates import READINGS, Reading, Side, Wrong, whole_groups
from reports.words import count
from wire.release import Release


def guess_of(side: Side, who: Who) -> Guess:
    """The guess for a side."""
    reading = side.reading
    found = [*_evidence(side, reading, weak=reading == "exact" or not side.candidates)]
    if reading == "loose" and side.candidates:
        found += _evidence(side, "exact", weak=True)
    found.sort(key=lambda evidence: evidence.at)
    oldest_first = tuple(sorted(whole_groups(side.candidates)))
    return Guess(who, oldest_first, tuple(found), side.seen)


def _evidence(side: Side, reading: Reading, *, weak: bool) -> list[Evidence]:
    """One for each message that excluded anything, by what excluded the newest of the releases."""
    assert reading in READINGS
    by_message: dict[tuple[int, float, int], list[Release]] = {}
    known = side.excluded["loose"] if reading == "exact" and side.reading == "loose" else {}
    for release, found in side.excluded[reading].items():
        if release in known:
            continue
        by_message.setdefault((found.connection, found.at, found.wrong.stream), []).append(release)
    result = []
    for (connection, at, offset), releases in by_message.items():
        newest, release = side.excluded[reading][max(releases)], max(releases)
        words = _words(newest.operation, newest.wrong, release)
        certain = all(one in side.excluded["loose"] for one in releases)
        result.append(Evidence(at, connection, offset, words, tuple(sorted(whole_groups(releases))), weak and not certain))
    return result


def _words(operation: str, wrong: Wrong, release: Release) -> str:
    """Why a side is not of a release."""
    if wrong.what in ("reply", "silence"):
        return f"{operation}: {wrong.got}, and from lmcache {release} there is {wrong.expected}"
    if wrong.what == "operation":
        return f"{operation} is none of lmcache {release}, which has {wrong.expected}"
    counted = wrong.what.removeprefix("number of payloads of ")
    if counted != wrong.what:
        return f"{operation} has {count(int(wrong.got), 'payload')}, and {counted} of lmcache {release} takes {wrong.expected}"
    return f"{operation} has {wrong.got} as {wrong.what}, and lmcache {release} has {wrong.expected}"
