"""What can have become of a case from one run to the next."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from reports.record import CaseRecord
from reports.verdict import NOT_THE_CLIENT, Verdict


class Kind(StrEnum):
    """The gravest first; the values are also what ``--fail-on`` takes."""

    BROKEN = "broken"
    NEW_FAILURES = "new-failures"
    UNDECIDED = "undecided"
    CHANGED = "changed"
    NOT_RUN = "not-run"
    UNEXPECTED_PASSES = "unexpected-passes"
    UNSUPPORTED = "unsupported"
    SHORT = "short"
    FLAKY = "flaky"
    KNOWN = "known"
    GONE = "gone"
    FIXED = "fixed"
    SUPPORTED = "supported"
    NEW = "new"


MEANINGS: Final[Mapping[Kind, str]] = MappingProxyType(
    {
        Kind.BROKEN: "fails, and did not fail in OLD",
        Kind.NEW_FAILURES: "fails, and OLD says nothing of it",
        Kind.UNDECIDED: "harness, mock or environment failed in NEW: nothing is known of it",
        Kind.CHANGED: "does not pass in either, for another reason than in OLD",
        Kind.NOT_RUN: "is in OLD and was not run in NEW: nothing is known of it",
        Kind.UNEXPECTED_PASSES: "does not fail, although the list of known failures says so: the list is out of date",
        Kind.UNSUPPORTED: "was judged in OLD, and is declared as lacking in NEW",
        Kind.SHORT: "falls short of a SHOULD, and did not in OLD",
        Kind.FLAKY: "is listed as flaky now",
        Kind.KNOWN: "is listed as a known failure now, and fails as listed",
        Kind.GONE: "is in OLD, and NEW has no such case, although nothing was left out",
        Kind.FIXED: "passes, and did not in OLD",
        Kind.SUPPORTED: "passes, and was declared as lacking in OLD",
        Kind.NEW: "does not fail, and OLD says nothing of it",
    }
)

_COUNTED: Final[Mapping[Kind, tuple[str, str]]] = MappingProxyType(
    {
        Kind.NEW_FAILURES: ("new failure", "new failures"),
        Kind.NOT_RUN: ("not run", "not run"),
        Kind.UNEXPECTED_PASSES: ("unexpected pass", "unexpected passes"),
        Kind.UNSUPPORTED: ("no longer offered", "no longer offered"),
        Kind.SHORT: ("newly short of a SHOULD", "newly short of a SHOULD"),
        Kind.FLAKY: ("newly flaky", "newly flaky"),
        Kind.KNOWN: ("newly known", "newly known"),
        Kind.SUPPORTED: ("newly offered", "newly offered"),
    }
)


def counted(kind: Kind, number: int) -> str:
    """``2 new failures``."""
    one, many = _COUNTED.get(kind, (kind.value, kind.value))
    return f"{number} {one if number == 1 else many}"


WORSE: Final = frozenset({Kind.BROKEN, Kind.NEW_FAILURES})
"""What makes NEW worse than OLD."""


class State(StrEnum):
    """How a case stands in a run."""

    PASSING = "passing"
    FAILING = "failing"
    LISTED = "unexpected pass"
    """It does not fail, and stands in the list of known failures."""
    KNOWN = "known failure"
    SHORT = "short of a SHOULD"
    UNSUPPORTED = "unsupported"
    UNDECIDED = "undecided"


_STATES: Final[Mapping[Verdict, State]] = MappingProxyType(
    {
        Verdict.PASS: State.PASSING,
        Verdict.FAIL: State.FAILING,
        Verdict.HANG: State.FAILING,
        Verdict.CRASH: State.FAILING,
        Verdict.UNEXPECTED_PASS: State.LISTED,
        Verdict.KNOWN_FAILURE: State.KNOWN,
        Verdict.SHORTFALL: State.SHORT,
        Verdict.UNSUPPORTED: State.UNSUPPORTED,
        **dict.fromkeys(NOT_THE_CLIENT, State.UNDECIDED),
    }
)

_IF_NEW: Final[Mapping[State, Kind]] = MappingProxyType(
    {
        State.FAILING: Kind.NEW_FAILURES,
        State.LISTED: Kind.UNEXPECTED_PASSES,
        State.KNOWN: Kind.KNOWN,
        State.SHORT: Kind.SHORT,
        State.UNDECIDED: Kind.UNDECIDED,
        State.UNSUPPORTED: Kind.NEW,
        State.PASSING: Kind.NEW,
    }
)
"""What a case is that OLD says nothing of."""

_IF_OTHER: Final[Mapping[State, Kind]] = MappingProxyType(
    {
        State.FAILING: Kind.BROKEN,
        State.LISTED: Kind.UNEXPECTED_PASSES,
        State.KNOWN: Kind.KNOWN,
        State.SHORT: Kind.SHORT,
        State.UNDECIDED: Kind.UNDECIDED,
        State.UNSUPPORTED: Kind.UNSUPPORTED,
        State.PASSING: Kind.FIXED,
    }
)
"""What a case is that stood in another way in OLD."""

_HAS_A_REASON: Final = frozenset({State.FAILING, State.KNOWN, State.SHORT})


def state_of(case: CaseRecord) -> State:
    """How the case stands in its run."""
    return _STATES[case.verdict]


def kind_of(old: CaseRecord | None, new: CaseRecord, *, same_reason: bool) -> Kind | None:
    """What became of a case that ran in NEW; None where it is as it was."""
    now = state_of(new)
    before = None if old is None else state_of(old)
    if now is State.UNDECIDED:
        return Kind.UNDECIDED
    if _flaky(new) and not (old is not None and _flaky(old)):
        return Kind.FLAKY
    if before is None or before is State.UNDECIDED:
        return _IF_NEW[now]
    if before is now:
        return Kind.CHANGED if now in _HAS_A_REASON and not same_reason else None
    if _flaky(new) and {before, now} <= {State.PASSING, State.KNOWN}:
        return None
    if before is State.UNSUPPORTED and now is State.PASSING:
        return Kind.SUPPORTED
    return _IF_OTHER[now]


def _flaky(case: CaseRecord) -> bool:
    return case.expectation is not None and case.expectation.outcome == "flaky"
