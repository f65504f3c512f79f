"""What a case can end as, what that says about the client, and the exit code that follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Final


class Verdict(StrEnum):
    """How one case ended."""

    PASS = "pass"  # noqa: S105  # a verdict
    FAIL = "fail"
    """The client gave a wrong answer or put wrong bytes on the wire."""
    UNSUPPORTED = "unsupported"
    """The client declared that it lacks what the case needs."""
    SHORTFALL = "shortfall"
    """A server, plugin or connector keeps every MUST of the case, and not what it SHOULD do."""
    KNOWN_FAILURE = "known-failure"
    """The case fails as the client's list of known failures says."""
    UNEXPECTED_PASS = "unexpected-pass"  # noqa: S105  # a verdict
    """The case stands in the client's list of known failures but does not fail: the list is out of date."""
    HANG = "hang"
    CRASH = "crash"
    MOCK_DRIFT = "mock-drift"
    """The mock and the real server differ, so the case says nothing about the client."""
    HARNESS_ERROR = "harness-error"
    ENVIRONMENT_ERROR = "environment-error"


class Outcome(StrEnum):
    """The four things that a verdict can say, in the words of CI servers."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    ERROR = "error"


OUTCOMES: Final[Mapping[Verdict, Outcome]] = MappingProxyType(
    {
        Verdict.PASS: Outcome.PASSED,
        Verdict.FAIL: Outcome.FAILED,
        Verdict.HANG: Outcome.FAILED,
        Verdict.CRASH: Outcome.FAILED,
        Verdict.UNEXPECTED_PASS: Outcome.FAILED,
        Verdict.UNSUPPORTED: Outcome.SKIPPED,
        Verdict.SHORTFALL: Outcome.SKIPPED,
        Verdict.KNOWN_FAILURE: Outcome.SKIPPED,
        Verdict.MOCK_DRIFT: Outcome.ERROR,
        Verdict.HARNESS_ERROR: Outcome.ERROR,
        Verdict.ENVIRONMENT_ERROR: Outcome.ERROR,
    }
)

NOT_CONFORMANT: Final = frozenset(verdict for verdict, outcome in OUTCOMES.items() if outcome is Outcome.FAILED)
"""One of these makes the run not conformant (exit code 1)."""

NOT_THE_CLIENT: Final = frozenset(verdict for verdict, outcome in OUTCOMES.items() if outcome is Outcome.ERROR)
"""One of these means that harness, mock or environment failed (exit code 3); no client pays for it."""

SKIPPED: Final = frozenset(verdict for verdict, outcome in OUTCOMES.items() if outcome is Outcome.SKIPPED)
"""These say neither yes nor no."""

SHOWN: Final = frozenset({Verdict.PASS, Verdict.KNOWN_FAILURE})
"""Without one of these a run shows nothing: the client was asked nothing that it offers."""


class ExitCode(IntEnum):
    """Exit codes of the command line."""

    CONFORMANT = 0
    """Every case passed, is unsupported, falls short of a SHOULD, or failed as the list of known failures says."""
    NOT_CONFORMANT = 1
    USAGE = 2
    """The command was wrong, or its selection matched no case."""
    UNDECIDED = 3
    """Harness, mock or environment failed, or the run did not end: nothing is claimed about the client."""


def exit_code(counts: Mapping[Verdict, int], *, complete: bool = True, shown: bool = True, part: bool = False) -> ExitCode:
    """The exit code for verdict counts; the first row that holds decides.

    ==  ======================================================================
    3   the run is incomplete, or any case is in :data:`NOT_THE_CLIENT`
    2   no case ran at all: the selection matched nothing
    1   any case is in :data:`NOT_CONFORMANT`
    1   no case passed or failed as the list of known failures says, or none that judges the client (``shown``)
    0   otherwise
    ==  ======================================================================

    A ``part`` of a run, one shard of several, may well be empty or show nothing: for it the rows of 2 and of what was not
    shown do not hold, and whoever merges the parts applies them to the whole.

    3 wins over 1 because 1 is an accusation: a CI job that sees it blames the client. A failure next to a broken
    harness may be the harness's own, and is still shown; fix what 3 points at, then run again.
    """
    ran = {verdict for verdict, count in counts.items() if count}
    if not complete or ran & NOT_THE_CLIENT:
        return ExitCode.UNDECIDED
    if ran & NOT_CONFORMANT:
        return ExitCode.NOT_CONFORMANT
    if part:
        return ExitCode.CONFORMANT
    if not ran:
        return ExitCode.USAGE
    if not ran & SHOWN or not shown:
        return ExitCode.NOT_CONFORMANT
    return ExitCode.CONFORMANT


def count_verdicts(verdicts: Iterable[Verdict]) -> dict[Verdict, int]:
    """How often each verdict occurs; every verdict is present, with 0 where it never occurs."""
    counts = dict.fromkeys(Verdict, 0)
    for verdict in verdicts:
        counts[verdict] += 1
    return counts


def count_outcomes(counts: Mapping[Verdict, int]) -> dict[Outcome, int]:
    """Verdict counts added up by outcome; every outcome is present."""
    totals = dict.fromkeys(Outcome, 0)
    for verdict, count in counts.items():
        totals[OUTCOMES[verdict]] += count
    return totals
