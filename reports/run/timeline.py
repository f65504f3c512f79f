"""A conversation as lanes between client and server: what stands on each line, and which lines are folded away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from reports.conversation import Conversation, ConversationEvent
from reports.record import CaseRecord
from reports.verdict import Verdict
from reports.words import count

SHOWN: Final = 36
"""Bytes of a segment that are shown: a whole reply header."""
BEGIN: Final = 4
END: Final = 10
"""Lines before and behind those that are folded away."""
LABEL: Final = 260
_MARKS: Final = {"open": "connects", "half-close": "ends its stream", "close": "closes", "reset": "resets the connection"}


@dataclass(frozen=True)
class Line:
    """One line; ``lane`` is who acts: ``client``, ``server`` or ``nobody``."""

    lane: str
    time: str
    connection: str
    what: str
    """Such as ``186 bytes``; what it did, where it sent nothing."""
    label: str
    data: str
    sends: bool


@dataclass(frozen=True)
class Timeline:
    """The lines of a conversation in three stretches, of which the middle one is folded away."""

    seen_by: str
    begin: tuple[Line, ...]
    middle: tuple[Line, ...]
    end: tuple[Line, ...]


def timeline(conversation: Conversation) -> Timeline:
    """A conversation as lines."""
    several = conversation.connections > 1
    lines = [_line(event, several=several) for event in conversation.events]
    if conversation.left_out:
        words = f"{count(conversation.left_out, 'event')} left out"
        lines.insert(conversation.gap, Line("nobody", "", "", words, "", "", sends=False))
    if len(lines) <= BEGIN + END + 4:
        return Timeline(conversation.seen_by, tuple(lines), (), ())
    return Timeline(conversation.seen_by, tuple(lines[:BEGIN]), tuple(lines[BEGIN:-END]), tuple(lines[-END:]))


def why_none(case: CaseRecord) -> str:
    """Why a case has no conversation."""
    if case.judges in {"plugin", "connector"}:
        return f"The case calls the {case.judges} as a class; nothing that the harness sees crosses a wire."
    if case.verdict is Verdict.KNOWN_FAILURE:
        return "A known failure keeps none. The command below, which has no list of known failures, shows it."
    if case.not_run:
        return f"The {case.judges} was not asked any more."
    if case.target == "fixtures":
        return "On the target fixtures nothing crosses a wire: what the client makes or reads is held against captures."
    if case.target == "live" and case.judges == "client":
        return (
            "The client spoke with the real server, and nothing of the harness stood between them. On the target mock it is seen."
        )
    return "The harness saw nothing cross the wire before the case failed."


def _line(event: ConversationEvent, *, several: bool) -> Line:
    sends = event.what == "data"
    data = event.data[:SHOWN].hex(" ") + (" ..." if event.length > SHOWN else "") if sends else ""
    what = count(event.length, "byte") if sends else _MARKS.get(event.what, "")
    label = event.label if len(event.label) <= LABEL else f"{event.label[:LABEL]}..."
    return Line(
        lane=event.sender if event.sender is not None else "nobody",
        time=_time(event.at),
        connection=str(event.connection) if several and event.connection else "",
        what=what,
        label=label,
        data=data,
        sends=sends,
    )


def _time(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.1f} ms"
    return f"{seconds:.2f} s"
