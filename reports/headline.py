"""The verdict of a run in a word and a sentence, the same in every report."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from reports.results import Results, count_of_cases
from reports.verdict import NOT_CONFORMANT, ExitCode, Verdict
from reports.words import count as count_of


class Tone(StrEnum):
    """How a verdict is to be shown."""

    GOOD = "good"
    BAD = "bad"
    USAGE = "usage"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Headline:
    """The verdict of a run."""

    word: str
    """Such as ``NOT CONFORMANT``."""
    because: str
    """Texts in it may come from a file: escape it."""
    tone: Tone


_WORDS: Final = {
    ExitCode.CONFORMANT: ("CONFORMANT", Tone.GOOD),
    ExitCode.NOT_CONFORMANT: ("NOT CONFORMANT", Tone.BAD),
    ExitCode.USAGE: ("NO CASE RAN", Tone.USAGE),
    ExitCode.UNDECIDED: ("UNDECIDED", Tone.UNDECIDED),
}


def headline(results: Results) -> Headline:
    """The word, and why."""
    word, tone = ("INCOMPLETE", Tone.UNDECIDED) if results.incomplete else _WORDS[results.exit_code]
    if results.exit_code is ExitCode.CONFORMANT:
        known = results.counts[Verdict.KNOWN_FAILURE]
        if results.header.shard is not None:
            word = "NO NEW FAILURE IN THIS SHARD" if known else "NO FAILURE IN THIS SHARD"
        elif known:
            word = "NO NEW FAILURE"
    return Headline(word, _because(results), tone)


def _because(results: Results) -> str:
    counts = results.counts
    if results.incomplete:
        return f"{results.incomplete}. Nothing is claimed about the {results.header.side}."
    shard = results.header.shard
    if not results.cases:
        if shard is not None:
            return f"shard {shard} has no case: there are more shards than cases."
        return "the selection matched nothing."
    said = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
    tally = f"{count_of_cases(len(results.cases))} in {results.seconds:.1f} s: {said}."
    match results.exit_code:
        case ExitCode.UNDECIDED:
            suspects = "harness, mock or environment" if results.header.side in {"client", "server"} else "harness or environment"
            return f"{tally} Repair {suspects} first, then run again."
        case ExitCode.NOT_CONFORMANT if not any(counts[verdict] for verdict in NOT_CONFORMANT):
            side = results.header.side
            return f"{tally} No case that judges the {side} passed: it declares nothing that was asked, so nothing was shown."
        case ExitCode.CONFORMANT if shard is not None:
            return f"{tally} The verdict is that of all {count_of(shard.count, 'shard')}: 'lmconform merge' gives it."
        case ExitCode.CONFORMANT if counts[Verdict.SHORTFALL]:
            return f"{tally} Nothing that it MUST do was missed; what it SHOULD do and does not is told apart."
        case _:
            return tally
