"""What a client's list of known failures says of a case, and how the case ended against it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from reports.plain import JsonObject, clip
from reports.verdict import Verdict


class Standing(StrEnum):
    """How a listed case ended against its entry."""

    AS_LISTED = "as-listed"
    OTHER_ERROR = "other-error"
    """It did not pass, but with another error, or in another way, than the entry names."""
    PASSED = "passed"
    UNSUPPORTED = "unsupported"
    """The client does not offer what the case needs, so that it cannot fail as the entry says."""
    EXPIRED = "expired"
    """The entry holds no longer, however the case ended."""
    LISTED_TWICE = "listed-twice"
    """Another entry lists the case as well, so that neither says how it must end. Only with pytest-xdist: else no case runs."""


OUT_OF_DATE = frozenset(Standing) - {Standing.AS_LISTED}
"""One of these means that the list must be edited, or the client repaired."""


@dataclass(frozen=True)
class ListFile:
    """The file that a run took its expectations from."""

    file: str
    sha256: str
    entries: int

    def to_json(self) -> JsonObject:
        """The ``expectations`` member of the header line."""
        return dict(vars(self))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`."""
        return cls(data["file"], data["sha256"], data["entries"])


@dataclass(frozen=True)
class Listed:
    """The entry of the list that a case belongs to."""

    entry: int
    """Its place in the file, from 1."""
    outcome: str
    """``fail`` or ``flaky``."""
    standing: Standing
    ended: Verdict
    """How the case ended, whatever the list says."""
    reason: str
    expires: str
    """ISO 8601 date; the entry holds on that day, in UTC."""
    issue: str | None = None
    error: str | None = None
    """The error that was expected, with ``*`` for any text."""

    def to_json(self) -> JsonObject:
        """The ``expectation`` member of a case line."""
        return {
            **vars(self),
            "standing": self.standing.value,
            "ended": self.ended.value,
            "reason": clip(self.reason),
            "error": None if self.error is None else clip(self.error),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`."""
        return cls(
            entry=data["entry"],
            outcome=data["outcome"],
            standing=Standing(data["standing"]),
            ended=Verdict(data["ended"]),
            reason=data["reason"],
            expires=data["expires"],
            issue=data.get("issue"),
            error=data.get("error"),
        )
