"""The faults of a plugin whose consequences in a real server are measured: the names that ``faulty`` knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
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

    @property
    def words(self) -> str:
        """What the plugin does."""
        operation, _, what = self.name.partition("-")
        words = _WORDS.get(self.name) or _WORDS_OF_EACH[what].format(_OPERATIONS[operation])
        return words if self.lookups == 1 else f"{words}, and {self.lookups} of them are asked for"


NONE: Final = Fault("")
STARTING: Final = ("constructor-raises", "constructor-ends-the-thread", "event-fd-raises", "fd-silent")
"""On before the server starts."""
ENDING: Final = ("close-raises", "close-ends-the-process", "close-hangs")
"""On when the server is asked to end."""
LASTING: Final = ("fd-silent", "fd-not-cleared", "fd-closed")
"""Still on when the others are over."""
_OPERATIONS: Final[Mapping[str, str]] = MappingProxyType({"set": "a store", "get": "a load", "exists": "a lookup"})
_WORDS_OF_EACH: Final[Mapping[str, str]] = MappingProxyType(
    {
        "raises": "the submit of {} raises an exception",
        "ends-the-thread": "the submit of {} raises SystemExit",
        "blocks": "the submit of {} takes a second and a half",
        "gives-no-id": "the submit of {} gives None",
        "never-completes": "{} never completes",
        "completes-twice": "{} completes twice",
        "is-not-ok": "{} is not ok",
        "result-too-short": "{} answers for one key too few",
        "result-too-long": "{} says yes to two keys too many",
        "result-missing": "{} is ok and has no results",
        "not-ok-with-results": "{} is not ok and has results",
        "finds-all": "{} says yes to every key",
        "damages": "{} brings damaged bytes and says yes",
        "writes-late": "{} writes into its memory again after it completed",
    }
)
_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "unknown-id-besides": "a completion with a number that nobody was given comes besides",
        "id-is-text": "the number of a completion is text",
        "id-is-none": "the number of a completion is None",
        "completion-of-three": "a completion has three parts",
        "drain-raises": "drain_completions raises an exception, and what was complete is lost",
        "drain-ends-the-thread": "drain_completions raises SystemExit",
        "drain-gives-none": "drain_completions gives None, and what was complete is lost",
        "fd-not-cleared": "the descriptor stays readable",
        "fd-closed": "the descriptor is closed",
        "fd-silent": "the descriptor never becomes readable",
        "constructor-raises": "the constructor raises an exception",
        "constructor-ends-the-thread": "the constructor raises SystemExit",
        "event-fd-raises": "event_fd raises an exception",
        "close-raises": "close raises an exception",
        "close-ends-the-process": "close ends the process with status 9",
        "close-hangs": "close never returns",
    }
)
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
