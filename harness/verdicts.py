"""From what ended a case to its verdict and its explanation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from harness.client import AdapterFault, ClientCrash, ClientFailure, ClientHang, ClientUnavailable
from harness.failure import CaseFailure, LiveServerFailure, MockDriftFailure, TargetUnavailable, UnsupportedByClient
from reports.diagnosis import Diagnosis
from reports.verdict import Verdict

Explained = Callable[[Diagnosis], Diagnosis]
"""Adds the words of the requirement."""


@dataclass(frozen=True)
class Ended:
    """How one execution ended."""

    verdict: Verdict
    diagnosis: Diagnosis | None = None
    reason: str | None = None
    operation: str | None = None


_FAILURES: tuple[tuple[type[BaseException], Verdict], ...] = (
    (MockDriftFailure, Verdict.MOCK_DRIFT),
    (LiveServerFailure, Verdict.ENVIRONMENT_ERROR),
    (CaseFailure, Verdict.FAIL),
    (ClientHang, Verdict.HANG),
    (ClientCrash, Verdict.CRASH),
    (ClientUnavailable, Verdict.CRASH),
    (AdapterFault, Verdict.FAIL),
    (ClientFailure, Verdict.FAIL),
    (TargetUnavailable, Verdict.ENVIRONMENT_ERROR),
)


def verdict_of(error: BaseException | None, explain: Explained = lambda diagnosis: diagnosis, stderr: str = "") -> Ended:
    """The verdict for an exception that ended a case; none means that it passed.

    An exception that no case raises on purpose is a fault of the harness, never of the client.
    """
    if error is None:
        return Ended(Verdict.PASS)
    found = _inner(error)
    if isinstance(found, UnsupportedByClient):
        return Ended(Verdict.UNSUPPORTED, reason=found.reason, operation=found.operation)
    for kind, verdict in _FAILURES:
        if isinstance(found, kind):
            return Ended(verdict, diagnosis=_diagnosis(found, explain, stderr))
    return Ended(Verdict.HARNESS_ERROR, diagnosis=Diagnosis(summary=f"{type(found).__name__}: {found}"))


def _diagnosis(error: BaseException, explain: Explained, stderr: str) -> Diagnosis:
    if isinstance(error, CaseFailure):
        return replace(error.diagnosis, client_stderr=stderr) if stderr else error.diagnosis
    said = getattr(error, "stderr", "") or stderr
    return explain(Diagnosis(summary=str(error), client_stderr=said or None))


def _inner(error: BaseException) -> BaseException:
    """The first exception of ours inside a group, as hypothesis makes them for examples that do not fail every time."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            found = _inner(inner)
            if isinstance(found, CaseFailure | ClientFailure | UnsupportedByClient | TargetUnavailable):
                return found
    return error
