"""The verdict of a run as a badge: JSON that shields.io reads at an address, and a picture of our own."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Final

from reports.documents import templates
from reports.formats.context import Context
from reports.formats.strings import document, one_line
from reports.headline import Tone, headline
from reports.results import Results
from reports.verdict import NOT_CONFORMANT, ExitCode, Verdict
from reports.words import count, span

LABEL: Final = "lmcache conformance"
LONGEST: Final = 60
"""Characters of either side."""
HEIGHT: Final = 20
SIZE: Final = 11
"""Pixels of the text."""
PAD: Final = 6

COLOURS: Final = {Tone.GOOD: "brightgreen", Tone.BAD: "red", Tone.USAGE: "lightgrey", Tone.UNDECIDED: "lightgrey"}
"""As shields.io calls them."""
FILLS: Final = {Tone.GOOD: "#116329", Tone.BAD: "#a40e26", Tone.USAGE: "#57606a", Tone.UNDECIDED: "#6639ba"}
"""White text on each of them has a contrast of more than 4.5."""

_NARROW: Final = frozenset("fijlrtI!|.,:;'`()[]{}/\\ -")
_WIDE: Final = frozenset("mwMWOQGCD@%&+=<>~#")


@dataclass(frozen=True)
class Badge:
    """What a badge says, on its left and on its right."""

    label: str
    message: str
    tone: Tone


def badge(results: Results, context: Context | None = None) -> Badge:
    """A few words; releases are named where nothing failed."""
    label = (context.label if context is not None else None) or LABEL
    return Badge(one_line(label, LONGEST), one_line(_message(results), LONGEST), headline(results).tone)


def badge_json(results: Results, context: Context | None = None) -> bytes:
    """The document that an endpoint badge of shields.io is made from."""
    made = badge(results, context)
    undecided = {"isError": True} if made.tone is Tone.UNDECIDED else {}
    return document({"schemaVersion": 1, "label": made.label, "message": made.message, "color": COLOURS[made.tone], **undecided})


def badge_svg(results: Results, context: Context | None = None) -> bytes:
    """The same as a picture that needs nothing else."""
    made = badge(results, context)
    left, right = text_width(made.label), text_width(made.message)
    text = (
        templates("reports.formats", html=True)
        .get_template("badge.svg.j2")
        .render(badge=made, left=left, right=right, pad=PAD, height=HEIGHT, size=SIZE, fill=FILLS[made.tone])
    )
    return text.encode()


def _message(results: Results) -> str:
    if results.incomplete is not None:
        return "incomplete"
    counts, releases = results.counts, span(results.header.releases)
    failed = sum(counts[verdict] for verdict in NOT_CONFORMANT)
    match results.exit_code:
        case ExitCode.UNDECIDED:
            return "undecided"
        case ExitCode.USAGE:
            return "no case ran"
        case ExitCode.NOT_CONFORMANT:
            return f"{failed} of {count(len(results.cases), 'case')} failed" if failed else "nothing shown"
        case _ if results.header.shard is not None:
            return f"shard {results.header.shard} passed"
        case _ if counts[Verdict.KNOWN_FAILURE]:
            return f"{count(counts[Verdict.KNOWN_FAILURE], 'known failure')}, none new"
        case _:
            return f"conformant with {releases}"


def text_width(text: str) -> int:
    """Pixels of a text in a sans-serif of :data:`SIZE`; the picture stretches the text to it where the font is another."""
    return max(1, round(sum(map(_width, text))))


def _width(character: str) -> float:
    if unicodedata.combining(character):
        return 0
    if unicodedata.east_asian_width(character) in {"W", "F"}:
        return SIZE
    if character in _NARROW:
        return 3.9
    return 9.2 if character in _WIDE else 6.6 if not character.isupper() else 7.6
