"""Whether two runs say the same of a case: messages without what differs from run to run for no reason."""

from __future__ import annotations

import functools
import re
from typing import Final

from reports.record import CaseRecord
from reports.tally import alike

_INCIDENTAL: Final = (
    (re.compile(r"(; the client answered error (?:connection|timeout)): .*", re.DOTALL), r"\1"),
    (re.compile(r"0x[0-9a-fA-F]{6,}"), "ADDRESS"),
    (re.compile(r"/(?:tmp|var/tmp|dev/shm|run)/[^\s'\",;:)]+"), "PATH"),
    (re.compile(r"(?<=[\w.\]]):\d{4,5}\b"), ":PORT"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|seconds?|minutes?)\b"), "TIME"),
    (re.compile(r"\b(?:pid|process|thread|port|descriptor)s? \d+", re.IGNORECASE), "NUMBER"),
)
"""How a connection ended that the peer closed, which is a race; addresses of memory, scratch files, ports, durations and numbers
of processes."""


def reason_of(case: CaseRecord, release: str | None = None) -> tuple[str, str, str]:
    """Verdict, requirement and message, to be compared; the release is passed over where two of them are compared."""
    ended = case.expectation.ended if case.expectation is not None else case.verdict
    requirement = (case.diagnosis.requirement if case.diagnosis is not None else None) or ""
    said = case.diagnosis.summary if case.diagnosis is not None else case.reason or ""
    if release:
        said = said.replace(release, "RELEASE")
    return ended.value, requirement, _essence(said)


@functools.lru_cache(maxsize=4096)
def _essence(said: str) -> str:
    """The message without what is incidental; most cases of a run say the same few."""
    said = alike(said)
    for pattern, word in _INCIDENTAL:
        said = pattern.sub(word, said)
    return said
