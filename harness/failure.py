"""How a case ends when it does not pass; each carries what the report will say."""

from __future__ import annotations

from reports.diagnosis import Diagnosis


class CaseFailure(AssertionError):
    """The client gave a wrong answer, or put wrong bytes on the wire."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        super().__init__(diagnosis.summary)
        self.diagnosis = diagnosis


class MockDriftFailure(CaseFailure):
    """The mock differs from the real server; no client pays for it."""


class LiveServerFailure(CaseFailure):
    """The live server is not what its release should be, or cannot be used."""


class UnsupportedByClient(Exception):
    """The client declared that it lacks an operation that the case needs."""

    def __init__(self, operation: str | None, reason: str) -> None:
        super().__init__(f"{operation or 'release'}: {reason}")
        self.operation = operation
        self.reason = reason


class CaseEnded(BaseException):
    """The client failed in one example of a property; ``failure`` is how.

    No ``Exception``, because hypothesis would repeat that example in search of a smaller one, with a hang each time.
    """

    def __init__(self, failure: Exception) -> None:
        super().__init__(str(failure))
        self.failure = failure


class TargetUnavailable(Exception):
    """The target cannot be had here; the message says why and what to do. A failure where the target was demanded."""


class ServerUnavailable(TargetUnavailable):
    """A server of the user that was started does not answer, or ended: in a run that judges it, that is its own failure."""


class PeerFailed(TargetUnavailable):
    """A server did not take a request, or did not answer as a server does; the message says what came."""
