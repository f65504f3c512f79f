"""One entry of a list of known failures: which cases it means, under which conditions, and how they may end."""

from __future__ import annotations

import platform
import sys
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final, Literal, TypeAlias

from harness.expectations.error_text import matches_error
from reports.verdict import Verdict
from wire.release import Release, ReleaseRange

ExpectedOutcome: TypeAlias = Literal["fail", "flaky"]
OUTCOMES: Final[tuple[ExpectedOutcome, ...]] = ("fail", "flaky")
EXPECTABLE: Final = (Verdict.FAIL, Verdict.HANG, Verdict.CRASH)
"""What is judged can be expected to do this. That the mock, the harness or the environment fails is nobody's known failure."""


@dataclass(frozen=True)
class Entry:
    """Cases that fail, or may fail, for one reason."""

    number: int
    """Its place in the file, from 1."""
    cases: tuple[str, ...]
    """Patterns, as for ``--only``."""
    outcome: ExpectedOutcome
    reason: str
    expires: date
    """The last day, in UTC, on which it holds."""
    errors: tuple[str, ...] = ()
    """Texts of which the summary contains one, with ``*`` for anything; always there where a wrong answer is expected."""
    verdicts: tuple[Verdict, ...] = (Verdict.FAIL,)
    """How the case may fail, out of :data:`EXPECTABLE`."""
    issue: str | None = None
    releases: tuple[ReleaseRange, ...] = ()
    """None means every release; likewise below."""
    targets: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()

    def means(self, release: Release, target: str) -> bool:
        """Whether release and target fulfil its conditions."""
        return (not self.targets or target in self.targets) and self.means_release(release)

    def means_release(self, release: Release) -> bool:
        """Whether the release fulfils its condition."""
        return not self.releases or any(release in among for among in self.releases)

    def means_machine(self, names: Collection[str]) -> bool:
        """Whether a machine of these names fulfils its condition."""
        return not self.platforms or not set(names).isdisjoint(self.platforms)

    @property
    def error(self) -> str | None:
        """The errors as one text for people; None where any error is meant."""
        return " or ".join(self.errors) or None

    def allows(self, verdict: Verdict, summary: str) -> bool:
        """Whether a failure is the one that it names; one of a SHOULD, which may not count, is a failure as well."""
        failed = Verdict.FAIL if verdict is Verdict.SHORTFALL else verdict
        return failed in self.verdicts and (not self.errors or any(matches_error(error, summary) for error in self.errors))

    def expired(self, today: date) -> bool:
        """Whether its last day has passed."""
        return today > self.expires


def names_of_this_machine() -> frozenset[str]:
    """What a condition on the platform may call this machine: ``linux``, ``x86_64`` and ``linux-x86_64``."""
    system, machine = sys.platform, platform.machine().lower()
    return frozenset({system, machine, f"{system}-{machine}"})


def today_in_utc() -> date:
    """The day that entries are held against."""
    return datetime.now(UTC).date()
