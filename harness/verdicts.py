"""From what ended a case to its verdict and its explanation."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from harness.client import (
    AdapterFault,
    ClientCrash,
    ClientFailure,
    ClientHang,
    ClientTooLarge,
    ClientUnavailable,
    NotAsked,
)
from harness.failure import (
    CaseEnded,
    CaseFailure,
    LiveServerFailure,
    MockDriftFailure,
    PeerFailed,
    ServerUnavailable,
    TargetUnavailable,
    UnsupportedByClient,
)
from reports.diagnosis import Diagnosis
from reports.side import Side
from reports.verdict import Verdict

_TREE: Final = Path(__file__).resolve().parent.parent
Explained = Callable[[Diagnosis], Diagnosis]
"""Adds the words of the requirement."""


@dataclass(frozen=True)
class Ended:
    """How one execution ended."""

    verdict: Verdict
    diagnosis: Diagnosis | None = None
    reason: str | None = None
    operation: str | None = None
    not_run: bool = False
    """The client failed so often before that it was not asked."""


_FAILURES: tuple[tuple[type[BaseException], Verdict], ...] = (
    (MockDriftFailure, Verdict.MOCK_DRIFT),
    (LiveServerFailure, Verdict.ENVIRONMENT_ERROR),
    (CaseFailure, Verdict.FAIL),
    (ClientHang, Verdict.HANG),
    (ClientCrash, Verdict.CRASH),
    (ClientTooLarge, Verdict.CRASH),
    (ClientUnavailable, Verdict.CRASH),
    (AdapterFault, Verdict.FAIL),
    (ClientFailure, Verdict.FAIL),
    (TargetUnavailable, Verdict.ENVIRONMENT_ERROR),
)


_ABOUT_SERVERS: Final = (MockDriftFailure, LiveServerFailure, PeerFailed)


def verdict_of(
    error: BaseException | None,
    explain: Explained = lambda diagnosis: diagnosis,
    stderr: str = "",
    *,
    side: Side = "client",
    lenient: bool = False,
) -> Ended:
    """The verdict for an exception that ended a case; none means that it passed.

    An exception that no case raises on purpose is a fault of the harness, never of what is judged. In a run that judges a server,
    that a server is at fault is no drift of the mock and no fault of the environment but its failure. ``lenient`` makes a
    failure that is about a SHOULD a shortfall.
    """
    ended = _ended(error, explain, stderr)
    if side == "server" and error is not None:
        found = inner(error)
        if isinstance(found, _ABOUT_SERVERS):
            ended = replace(ended, verdict=Verdict.FAIL)
        elif isinstance(found, ServerUnavailable):
            ended = replace(ended, verdict=Verdict.CRASH)
    if lenient and ended.verdict is Verdict.FAIL and ended.diagnosis is not None and ended.diagnosis.level == "SHOULD":
        ended = replace(ended, verdict=Verdict.SHORTFALL)
    return ended


def _ended(error: BaseException | None, explain: Explained, stderr: str) -> Ended:
    if error is None:
        return Ended(Verdict.PASS)
    found = inner(error)
    if isinstance(found, UnsupportedByClient):
        return Ended(Verdict.UNSUPPORTED, reason=found.reason, operation=found.operation)
    if isinstance(found, NotAsked):
        verdict = next((verdict for kind, verdict in _FAILURES if issubclass(found.after, kind)), Verdict.FAIL)
        said = explain(Diagnosis(summary=str(found)))
        return Ended(verdict, diagnosis=said, reason=str(found), operation=found.operation, not_run=True)
    for kind, verdict in _FAILURES:
        if isinstance(found, kind):
            return Ended(verdict, diagnosis=_diagnosis(found, explain, stderr))
    return Ended(Verdict.HARNESS_ERROR, diagnosis=_own_fault(found))


def _diagnosis(error: BaseException, explain: Explained, stderr: str) -> Diagnosis:
    if isinstance(error, CaseFailure):
        return replace(error.diagnosis, client_stderr=stderr) if stderr else error.diagnosis
    said = getattr(error, "stderr", "") or stderr
    summary, *more = str(error).split("\n  ") if isinstance(error, ClientFailure) else [str(error)]
    return explain(Diagnosis(summary=summary, client_answered="; ".join(more) or None, client_stderr=said or None))


def _own_fault(error: BaseException) -> Diagnosis:
    """What went wrong in the harness and where, so that a report of it needs nothing else."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(_TREE) and "site-packages" not in frame.filename]
    places = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in (ours or frames)[-3:]]
    where = f" (in {' > '.join(places)})" if places else ""
    return Diagnosis(summary=f"{type(error).__name__}: {error}{where}; a fault of lmconform or its cases, please report it")


def inner(error: BaseException) -> BaseException:
    """The first exception of ours inside a group, as hypothesis makes them for examples that do not fail every time."""
    if isinstance(error, CaseEnded):
        return error.failure
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            found = inner(one)
            if isinstance(found, CaseFailure | ClientFailure | UnsupportedByClient | TargetUnavailable):
                return found
    return error
