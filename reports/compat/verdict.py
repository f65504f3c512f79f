"""The exit code of a matrix."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

from reports.compat.model import CompatResult
from reports.compat.outcome import Outcome
from reports.verdict import ExitCode

ANY: Final = "any"
PLAIN: Final = "plain"
NEVER: Final = "never"
OUTCOMES: Final = (Outcome.WRONG, Outcome.HANGS, Outcome.REFUSED, Outcome.MISSES, Outcome.UNKNOWN)
CHOICES: Final = (ANY, PLAIN, NEVER, *map(str, OUTCOMES))


def parse_fail_on(text: str) -> frozenset[str]:
    """``any``, ``plain``, ``never``, or outcomes separated by commas.

    Raises:
        ValueError: another word, or one of the first three beside others; the message lists the words.
    """
    words = {word.strip() for word in text.split(",") if word.strip()}
    alone = {ANY, PLAIN, NEVER}
    if not words or not words <= set(CHOICES) or (len(words) > 1 and words & alone):
        raise ValueError(
            f"--fail-on {text!r}: write one of {ANY}, {PLAIN} and {NEVER}, or some of {', '.join(map(str, OUTCOMES))}, "
            "separated by commas"
        )
    return frozenset(words)


def exit_code(result: CompatResult, fail_on: AbstractSet[str]) -> ExitCode:
    """3 if a cell was not run, 1 if a cell is what was asked to fail on, 0 otherwise."""
    if result.count("not-run"):
        return ExitCode.UNDECIDED
    grades = [finding.grade for cell in result.cells.values() for finding in cell.findings]
    if ANY in fail_on:
        failed = bool(grades)
    elif PLAIN in fail_on:
        failed = any(grade.plain for grade in grades)
    else:
        failed = any(str(grade.outcome) in fail_on for grade in grades)
    return ExitCode.NOT_CONFORMANT if failed else ExitCode.CONFORMANT
