"""Makes a conversation for a report of what was on a tape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Protocol

from harness.tape.lm_labels import LmLabels
from harness.tape.mp_labels import MpLabels
from harness.tape.tapes import Seen
from mockserver.tape import Moment
from reports.conversation import BYTES, EVENTS, Conversation, ConversationEvent
from wire.lm.profile import lm_profile
from wire.mp.operations import operation_table
from wire.release import Release

SILENCE: Final = 0.4
"""Seconds without a word that are told as silence."""


LONGEST: Final = 192
"""Bytes of one segment that are shown: a whole request header."""


class Labels(Protocol):
    """Names what was sent."""

    def lose(self) -> None:
        """Something is missing here."""

    def label(self, moment: Moment) -> str:
        """What the bytes are; empty where that is not known."""


def conversation(seen: Seen, release: Release, *, protocol: str) -> Conversation:
    """What was seen, with names of the release, within the bounds of a report."""
    labels: Labels = MpLabels(operation_table(release)) if protocol == "mp" else LmLabels(lm_profile(release))
    began = seen.first[0].at
    first = list(_events(seen.first, labels, began))
    if seen.left_out:
        labels.lose()
    last = list(_events(seen.last, labels, began))
    if seen.left_out:
        before, after = _with_silences(first, None), _with_silences(last, seen.until - began)
    else:
        before, after = [], _with_silences([*first, *last], seen.until - began)
    gap, left_out = len(before), seen.left_out
    surplus = len(before) + len(after) - EVENTS
    if surplus > 0:
        gap, left_out = gap or EVENTS // 3, left_out + surplus
    events = [*before, *after]
    events = [*events[:gap], *events[gap + max(0, surplus) :]]
    share = min(LONGEST, BYTES // max(1, sum(event.what == "data" for event in events)))
    return Conversation(seen.by, tuple(_clipped(event, share) for event in events), left_out, gap)


def _events(moments: tuple[Moment, ...], labels: Labels, began: float) -> Iterator[ConversationEvent]:
    for one in sorted(moments, key=lambda moment: moment.at):
        label = labels.label(one) if one.did == "data" else one.note
        at = max(0.0, one.at - began)
        yield ConversationEvent(at, one.connection, one.sender, one.did, one.length, one.head, label)


def _with_silences(events: list[ConversationEvent], until: float | None) -> list[ConversationEvent]:
    """The events, and between them where nobody said anything for long; ``until`` is when it was looked at."""
    found: list[ConversationEvent] = []
    ends = [*(event.at for event in events[1:]), until]
    for event, end in zip(events, ends, strict=True):
        found.append(event)
        if end is not None and end - event.at >= SILENCE:
            words = f"{end - event.at:.1f} s without a word"
            last = ", until the case ended" if event is events[-1] else ""
            found.append(ConversationEvent(event.at, 0, None, "silence", label=words + last))
    return found


def _clipped(event: ConversationEvent, share: int) -> ConversationEvent:
    return ConversationEvent(event.at, event.connection, event.sender, event.what, event.length, event.data[:share], event.label)
