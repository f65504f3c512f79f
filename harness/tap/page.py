"""The story of a recording as an HTML page: one file, no script, no request to anywhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rich.text import Text

from harness.tap.finding import LEVELS, Finding
from harness.tap.guess import ranges
from harness.tap.story import Conversation, Row, Story
from harness.tap.text import guess_words, took_words, where_words
from reports.difference import frame_dump
from reports.documents import templates
from reports.escape import escape
from reports.hexdump import hexdump

MOST_ROWS: Final = 5000
"""Requests that a page shows; the text has all of them."""
MOST_FINDINGS: Final = 300
_CLASSES: Final = {"error": "bad", "warning": "warn", "note": "none"}
_MARKED: Final = "bold red"


@dataclass(frozen=True)
class Shown:
    """A finding as the page shows it."""

    finding: Finding
    dump: tuple[tuple[tuple[str, bool], ...], ...]
    """Lines of (text, marked) stretches."""


@dataclass(frozen=True)
class Bar:
    """Where a request stands on the timeline of its connection, in hundredths of it."""

    left: float
    width: float


def story_page(story: Story) -> str:
    """The page."""
    environment = templates("harness.tap", html=True)
    environment.filters.update(visible=escape, took=took_words, at=lambda at: f"{at:.6f}", place=where_words, ranges=ranges)
    left = MOST_ROWS
    conversations = []
    for one in story.conversations:
        if not left:
            break
        rows = one.rows[:left]
        left -= len(rows)
        conversations.append((one, [(row, _bar(one, story.seconds, row)) for row in rows], len(one.rows) - len(rows)))
    return environment.get_template("story.html.j2").render(
        story=story,
        header=story.header,
        guesses=[(guess, guess_words(guess)) for guess in story.guesses.values()],
        findings=[Shown(finding, _dump(finding)) for finding in story.findings[:MOST_FINDINGS]],
        more_findings=max(0, sum(story.counted.values()) - min(MOST_FINDINGS, len(story.findings))),
        levels=[(level, story.levels.get(level, 0), _CLASSES[level]) for level in LEVELS],
        classes=_CLASSES,
        conversations=conversations,
        more_conversations=len(story.conversations) - len(conversations),
        redacted=[name for name, done in vars(story.header.redacted).items() if done],
    )


def _bar(one: Conversation, seconds: float, row: Row) -> Bar | None:
    if row.exchange is None or row.took is None:
        return None
    whole = max((one.ended or seconds) - one.began, 1e-9)
    left = min(100.0, max(0.0, 100 * (row.at - one.began) / whole))
    return Bar(round(left, 3), round(min(100 - left, max(0.4, 100 * row.took / whole)), 3))


def _dump(finding: Finding) -> tuple[tuple[tuple[str, bool], ...], ...]:
    if finding.frame is None:
        return ()
    frame = finding.frame
    around = frame.marks[0][0] if frame.marks else 0
    lines = hexdump(frame_dump(frame.title, frame.data, marks=frame.marks, around=around))
    return tuple(tuple(_stretches(line)) for line in lines if line.plain.strip(" ^"))


def _stretches(line: Text) -> Iterable[tuple[str, bool]]:
    """The text of a line in stretches that are marked or not."""
    marks = [False] * len(line.plain)
    for span in line.spans:
        if str(span.style) == _MARKED:
            marks[span.start : span.end] = [True] * (span.end - span.start)
    begin = 0
    for place in range(1, len(marks) + 1):
        if place == len(marks) or marks[place] != marks[begin]:
            yield line.plain[begin:place], marks[begin]
            begin = place
