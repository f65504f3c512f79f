"""The exit code of the collisions."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

from reports.collisions.harm import Harm
from reports.collisions.matrix import Collisions
from reports.verdict import ExitCode

ANY: Final = "any"
PLAIN: Final = "plain"
NEVER: Final = "never"
HARMS: Final = tuple(str(harm) for harm in Harm if harm is not Harm.SAME)


def parse_fail_on(text: str) -> frozenset[str]:
    """``any``, ``plain``, ``never``, or harms separated by commas.

    Raises:
        ValueError: another word, or one of the first three beside others; the message lists the words.
    """
    words = {word.strip() for word in text.split(",") if word.strip()}
    alone = {ANY, PLAIN, NEVER}
    if not words or not words <= alone | set(HARMS) or (len(words) > 1 and words & alone):
        raise ValueError(
            f"--fail-on {text!r}: with --protocol mp write one of {ANY}, {PLAIN} and {NEVER}, or some of {', '.join(HARMS)}, "
            "separated by commas"
        )
    return frozenset(words)


def exit_code(result: Collisions, fail_on: AbstractSet[str]) -> ExitCode:
    """3 if a demonstration could not be played, 1 if there is what was asked to fail on, 0 otherwise."""
    if any(found.problem is not None for found in result.demonstrations):
        return ExitCode.UNDECIDED
    grades = [fate.grade for pair in result.pairs for fate in pair.troubles]
    if ANY in fail_on:
        failed = bool(grades)
    elif PLAIN in fail_on:
        failed = any(grade.plain for grade in grades)
    else:
        failed = any(str(grade.harm) in fail_on for grade in grades)
    return ExitCode.NOT_CONFORMANT if failed else ExitCode.CONFORMANT
