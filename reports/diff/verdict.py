"""What a comparison says in a word, and the exit code that follows."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

from reports.diff.kinds import WORSE, Kind, counted
from reports.diff.model import Comparison
from reports.headline import Headline, Tone
from reports.verdict import ExitCode
from reports.words import count

NEVER: Final = "never"
ANY: Final = "any"
CHOICES: Final = tuple(str(kind) for kind in Kind if kind is not Kind.UNDECIDED)
DEFAULT: Final = ",".join(str(kind) for kind in Kind if kind in WORSE)


def parse_fail_on(text: str) -> frozenset[Kind]:
    """``never``, ``any``, or kinds separated by commas.

    Raises:
        ValueError: another word, or one of the first two beside others; the message lists the words.
    """
    words = {word.strip() for word in text.split(",") if word.strip()}
    if words == {NEVER}:
        return frozenset()
    if words == {ANY}:
        return frozenset(map(Kind, CHOICES))
    if not words or not words <= set(CHOICES):
        raise ValueError(f"--fail-on {text!r}: write {NEVER} or {ANY}, or some of {', '.join(CHOICES)}, separated by commas")
    return frozenset(map(Kind, words))


def exit_code(found: Comparison, fail_on: AbstractSet[Kind]) -> ExitCode:
    """3 where nothing can be concluded, 1 where there is a change of a kind that was asked to fail on, 0 otherwise."""
    if found.faults:
        return ExitCode.UNDECIDED
    return ExitCode.NOT_CONFORMANT if any(change.kind in fail_on for change in found.changes) else ExitCode.CONFORMANT


def headline_of(found: Comparison) -> Headline:
    """The word, and why."""
    counts = found.counts
    told = [counted(kind, number) for kind, number in counts.items() if number]
    tally = f"{', '.join(told)}; " if told else ""
    because = f"{tally}{count(found.unchanged, 'case')} as before{_part(found)}."
    if found.faults:
        return Headline("UNDECIDED", f"{'; '.join(found.faults)}. So far: {because}", Tone.UNDECIDED)
    if any(counts[kind] for kind in WORSE):
        return Headline("WORSE", because, Tone.BAD)
    if not told:
        return Headline("NO DIFFERENCE", because, Tone.GOOD)
    if {kind for kind in Kind if counts[kind]} <= {Kind.FIXED, Kind.SUPPORTED}:
        return Headline("BETTER", because, Tone.GOOD)
    return Headline("NOT WORSE", because, Tone.GOOD)


def _part(found: Comparison) -> str:
    one, other = (run.results.header.shard for run in (found.old, found.new))
    if one is None and other is None:
        return ""
    if one == other:
        return f", in shard {one} alone"
    return f"; {' and '.join(f'{name} is shard {shard} alone' for name, shard in (('OLD', one), ('NEW', other)) if shard)}"
