"""What is wrong, or seems to be, in a conversation; the same form for every wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from harness.tap.event import Side

Level: TypeAlias = Literal["error", "warning", "note"]
LEVELS: Final[tuple[Level, ...]] = ("error", "warning", "note")
"""error: the protocol or the conversation is broken. warning: legal, and hardly what is meant. note: worth knowing."""


@dataclass(frozen=True)
class Rule:
    """Something that is looked for in every conversation."""

    name: str
    level: Level
    summary: str
    """One sentence that says what is wrong where it applies."""
    requirement: str | None = None
    """The requirement that is broken, such as ``LM-REQ-005``; None where none speaks of it."""
    advice: str = ""
    """What to do about it."""
    by_segments: bool = False
    """It depends on the segments in which bytes arrived, not on the bytes alone."""


@dataclass(frozen=True)
class Frame:
    """The bytes that a finding is about, for a hexdump."""

    title: str
    data: bytes
    marks: tuple[tuple[int, int], ...] = ()
    """(offset, length) of the wrong bytes, from the beginning of the frame."""
    truncated_from: int | None = None
    """The frame's length where ``data`` is only its beginning."""


@dataclass(frozen=True)
class Finding:
    """One rule that applied."""

    rule: Rule
    connection: int
    """From 1; 0 where it is about all of them."""
    at: float
    """Seconds from the start of the recording."""
    who: Side
    """Whose doing it is."""
    summary: str
    """What is wrong here, on one line; text of peers in it is as they sent it, so it is escaped where it is shown."""
    offset: int | None = None
    """The first wrong byte, counted from the beginning of what ``who`` sent on the connection; None: it is about no byte."""
    field: str = ""
    """The field that the byte belongs to."""
    expected: str = ""
    got: str = ""
    requirement: str | None = None
    """The requirement that is broken here, where the rule alone does not say."""
    frame: Frame | None = None
    exchange: int | None = None
    """The request on the connection that it is about, from 1."""

    @property
    def level(self) -> Level:
        """How bad it is."""
        return self.rule.level

    @property
    def cites(self) -> str | None:
        """The requirement that is broken."""
        return self.requirement or self.rule.requirement


def rules(*table: Rule) -> dict[str, Rule]:
    """The rules by name.

    Raises:
        ValueError: two have the same name.
    """
    found = {rule.name: rule for rule in table}
    if len(found) != len(table):
        raise ValueError("two rules have the same name")
    return found
