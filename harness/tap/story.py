"""The story of a recording: who talked, what was said on each connection, and what is wrong in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from harness.tap.event import Event, Side
from harness.tap.finding import LEVELS, Finding
from harness.tap.guess import Guess
from harness.tap.listener import Listener
from harness.tap.recording import Header

MOST_FINDINGS: Final = 2000
"""Findings that are kept; those beyond are counted."""
MOST_OF_A_RULE: Final = 100
MOST_ROWS: Final = 200_000
_TICK: Final = 0.2
"""Seconds after which silence is listened to again, as while recording."""


@dataclass
class Row:
    """One line of a conversation: a request with its reply, or how the connection began or ended."""

    at: float
    connection: int
    who: Side
    what: str
    """Such as ``GET``, or ``ended the connection``."""
    about: str = ""
    """The key, or what else it is about; text of a peer as it was sent."""
    sent: str = ""
    """What came with it, such as ``4096 bytes, KV_2LTD float16 [2, 32, 16, 1024]``."""
    outcome: str = ""
    """What came back; empty where nothing is due."""
    took: float | None = None
    """Seconds until it came back."""
    exchange: int | None = None
    wrong: bool = False
    """The outcome is none that should be."""


@dataclass
class Conversation:
    """One connection."""

    number: int
    peer: str
    began: float
    ended: float | None = None
    sent: dict[Side, int] = field(default_factory=lambda: {"client": 0, "server": 0})
    """Bytes of each side."""
    rows: list[Row] = field(default_factory=list)


@dataclass
class Story:
    """All that is told of a recording."""

    header: Header
    guesses: Mapping[Side, Guess]
    findings: list[Finding]
    """In order of time; of each rule the first ones."""
    counted: Mapping[str, int]
    """All findings by rule."""
    levels: Mapping[str, int]
    """All findings by level."""
    conversations: list[Conversation]
    seconds: float
    trouble: str = ""
    """Why the recording is not complete; empty if it is."""
    left_out: int = 0
    """Rows that are not kept."""

    @property
    def guilty(self) -> bool:
        """Whether something is wrong: an error or a warning, not a note."""
        return bool(self.levels.get("error") or self.levels.get("warning"))


class Notes:
    """Collects findings, and counts those that are too many to keep."""

    def __init__(self) -> None:
        self.kept: list[Finding] = []
        self.counted: Counter[str] = Counter()
        self.levels: Counter[str] = Counter()

    def add(self, findings: Iterable[Finding]) -> None:
        """Note findings."""
        for finding in findings:
            self.counted[finding.rule.name] += 1
            self.levels[finding.level] += 1
            if self.counted[finding.rule.name] <= MOST_OF_A_RULE and len(self.kept) < MOST_FINDINGS:
                self.kept.append(finding)

    def in_order(self) -> list[Finding]:
        """What is wrong with both sides first, then the findings in order of time."""
        return sorted(
            self.kept, key=lambda finding: (finding.connection != 0 and finding.rule.name != "sides-differ", finding.at)
        )


def listened(listener: Listener, events: Iterable[Event], notes: Notes) -> Iterator[Event]:
    """The events, each after the listener heard it; at the end everything that shows then is noted too."""
    at = ticked = 0.0
    for event in events:
        at = max(at, event.until or event.at)
        if event.at - ticked >= _TICK:
            ticked = event.at
            notes.add(listener.tick(event.at))
        notes.add(listener.hear(event))
        yield event
    notes.add(listener.tick(at))
    notes.add(listener.finish(at))


def finding_to_json(finding: Finding) -> dict[str, Any]:
    """A finding as JSON."""
    members = {
        "rule": finding.rule.name,
        "level": finding.level,
        "requirement": finding.cites,
        "connection": finding.connection or None,
        "exchange": finding.exchange,
        "at": round(finding.at, 6),
        "who": finding.who,
        "offset": finding.offset,
        "field": finding.field or None,
        "summary": finding.summary,
        "expected": finding.expected or None,
        "got": finding.got or None,
        "advice": finding.rule.advice or None,
    }
    return {name: value for name, value in members.items() if value is not None}


def guess_to_json(guess: Guess) -> dict[str, Any]:
    """A guess as JSON."""
    return {
        "words": guess.words,
        "candidates": [str(release) for release in guess.candidates],
        "messages": guess.seen,
        "evidence": [
            {
                "at": round(one.at, 6),
                "connection": one.connection,
                "offset": one.offset,
                "what": one.what,
                "excludes": [str(release) for release in one.excludes],
                "weak": one.weak,
            }
            for one in guess.evidence
        ],
    }


def story_to_json(story: Story) -> dict[str, Any]:
    """A story as JSON."""
    return {
        "recording": {**story.header.to_json(), "seconds": round(story.seconds, 6), "incomplete": story.trouble or None},
        "sides": {who: guess_to_json(guess) for who, guess in story.guesses.items()},
        "counts": {level: story.levels.get(level, 0) for level in LEVELS},
        "rules": dict(story.counted),
        "findings": [finding_to_json(finding) for finding in story.findings],
        "conversations": [
            {
                "connection": one.number,
                "peer": one.peer,
                "began": round(one.began, 6),
                "ended": round(one.ended, 6) if one.ended is not None else None,
                "bytes": one.sent,
                "rows": [{name: value for name, value in vars(row).items() if value not in {"", None}} for row in one.rows],
            }
            for one in story.conversations
        ],
        "rows_left_out": story.left_out,
    }
