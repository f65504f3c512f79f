"""The faults of a plugin whose consequences in a real server are measured: the names that ``faulty`` knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

AT_ONCE: Final = 8
"""Lookups that a server has under way at most, unless it is told otherwise; the others wait."""


@dataclass(frozen=True)
class Fault:
    """A fault and how often it meets a lookup."""

    name: str
    lookups: int = 1

    @property
    def text(self) -> str:
        """How it is written in tables."""
        return self.name if self.lookups == 1 else f"{self.name} x{self.lookups}"


NONE: Final = Fault("")
STARTING: Final = ("constructor-raises", "constructor-ends-the-thread", "event-fd-raises", "fd-silent")
"""On before the server starts."""
ENDING: Final = ("close-raises", "close-ends-the-process", "close-hangs")
"""On when the server is asked to end."""
LASTING: Final = ("fd-silent", "fd-not-cleared", "fd-closed")
"""Still on when the others are over."""
_OPERATIONS: Final = ("set", "get", "exists")
_OF_EACH: Final = (
    "raises",
    "ends-the-thread",
    "blocks",
    "gives-no-id",
    "never-completes",
    "completes-twice",
    "is-not-ok",
)
_OTHERS: Final = (
    "exists-result-too-short",
    "exists-result-too-long",
    "exists-result-missing",
    "exists-not-ok-with-results",
    "exists-finds-all",
    "get-result-too-short",
    "get-result-too-long",
    "get-result-missing",
    "get-not-ok-with-results",
    "get-damages",
    "get-writes-late",
    "set-result-too-long",
    "unknown-id-besides",
    "id-is-text",
    "id-is-none",
    "completion-of-three",
    "drain-raises",
    "drain-ends-the-thread",
    "drain-gives-none",
    "fd-not-cleared",
    "fd-closed",
)

FAULTS: Final = (
    *(Fault(f"{operation}-{what}") for what in _OF_EACH for operation in _OPERATIONS),
    Fault("exists-never-completes", AT_ONCE),
    *map(Fault, _OTHERS),
    *map(Fault, STARTING),
    *map(Fault, ENDING),
)
