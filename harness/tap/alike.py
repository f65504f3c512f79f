"""Findings and evidence of one kind, so that a reason is told once and not for each request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from harness.tap.finding import Finding
from harness.tap.guess import RELEASES, Evidence
from reports.words import listing

_PLACES: Final = re.compile(r"\b(request|byte|connection) [0-9]+|'[^']*'")
"""What tells findings of one kind apart in their summaries: where they are, and the key."""


@dataclass(frozen=True)
class Alike:
    """A finding, and those behind it that say the same of other requests."""

    first: Finding
    others: tuple[Finding, ...]

    @property
    def words(self) -> str:
        """Where the others are, such as ``the same 3 times more: requests 3 to 5 of connection 1, the last at 1.130 s``."""
        where = []
        for connection in dict.fromkeys(one.connection for one in self.others):
            numbers = sorted({one.exchange for one in self.others if one.connection == connection and one.exchange is not None})
            on = f"connection {connection}" if connection else "all connections"
            where.append(f"{'requests' if len(numbers) > 1 else 'request'} {_runs(numbers)} of {on}" if numbers else on)
        times = "once" if len(self.others) == 1 else f"{len(self.others)} times"
        return f"the same {times} more: {listing(where)}, the last at {self.others[-1].at:.3f} s"


def grouped(findings: Iterable[Finding]) -> list[Alike]:
    """Findings of one kind together, in the order of the first of each kind."""
    kinds: dict[object, list[Finding]] = {}
    for one in findings:
        kind = (one.rule.name, one.who, one.field, one.expected, one.got, one.cites, _PLACES.sub("", one.summary))
        kinds.setdefault(kind, []).append(one)
    return [Alike(first, tuple(others)) for first, *others in kinds.values()]


def joined(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Evidence of the same words about the same byte together, with the releases that all of it excludes."""
    found: dict[object, Evidence] = {}
    for one in evidence:
        kind = (one.connection, one.offset, one.what, one.weak)
        known = found.get(kind)
        excludes = {*one.excludes, *(known.excludes if known is not None else ())}
        found[kind] = replace(known or one, excludes=tuple(release for release in RELEASES if release in excludes))
    return list(found.values())


def _runs(numbers: Sequence[int]) -> str:
    """Such as ``3 to 7, 9 and 11``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return listing([str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs])
