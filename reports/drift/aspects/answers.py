"""What servers answer: conversations that both releases were held in the same situation, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reports.drift.model import Aspect, Change, Example, Findings, Level, Levels, Side
from reports.drift.observe.conversations import Answer, Asked, Event, Reply
from reports.drift.observe.layout import Value
from reports.drift.observe.observed import Observed
from reports.drift.words import name
from reports.words import count, listing

Moment = Asked | Event | Answer
STORING: Final = frozenset({"PUT"})
NAMED: Final = 6
"""Conversations that a change names."""


@dataclass(frozen=True)
class Difference:
    """The first answer of a conversation that differs."""

    id: str
    title: str
    asked: Asked | None
    """The last request on that connection before it."""
    ordinary: bool
    """Everything before it was written as the older release writes it, and nothing stopped short."""
    before: Answer
    after: Answer
    causes: frozenset[Aspect]
    """What makes the situation another one; none where it is the same."""


def compare(old: Observed, new: Observed) -> tuple[Findings, list[Difference]]:
    """Changes of answers in the same situation; and the conversations whose situation is another one, with the causes."""
    found = Findings()
    differences = []
    for id_ in new.conversations:
        if id_ in old.conversations:
            difference = _first_difference(old, new, id_)
            if difference:
                differences.append(difference)
    same = [difference for difference in differences if not difference.causes]
    groups: dict[tuple[str, bool, str, str], list[Difference]] = {}
    for difference in same:
        command = difference.asked.command if difference.asked else ""
        groups.setdefault((command, difference.ordinary, *_pair(difference.before, difference.after)), []).append(difference)
    found.add([_change(new, key, members) for key, members in groups.items()])
    found.accounted |= {difference.id for difference in same}
    return found, [difference for difference in differences if difference.causes]


def _first_difference(old: Observed, new: Observed, id_: str) -> Difference | None:
    left, right = old.conversations[id_], new.conversations[id_]
    one, other = _answers(left), _answers(right)
    common = _common_fields(old, new)
    for index, (before, after) in enumerate(zip(one, other, strict=False)):
        if _alike(before, after, common):
            continue
        heard = _until(left, index), _until(right, index)
        causes = frozenset(_causes(old, new, *heard))
        return Difference(
            id_,
            new.evidence.transcripts[id_].title,
            next(
                (moment for moment in reversed(heard[0]) if isinstance(moment, Asked) and moment.connection == before.connection),
                None,
            ),
            _ordinary(heard[0]),
            before,
            after,
            causes,
        )
    return None


def _answers(moments: Sequence[Moment]) -> list[Answer]:
    return [moment for moment in moments if isinstance(moment, Answer)]


def _until(moments: Sequence[Moment], index: int) -> list[Moment]:
    """The conversation up to an answer."""
    seen = 0
    for place, moment in enumerate(moments):
        if isinstance(moment, Answer):
            if seen == index:
                return list(moments[:place])
            seen += 1
    return list(moments)


def _ordinary(moments: Sequence[Moment]) -> bool:
    return all(moment.ordinary for moment in moments if isinstance(moment, Asked)) and not any(
        isinstance(moment, Event) and "stops short" in moment.what for moment in moments
    )


def _common_fields(old: Observed, new: Observed) -> frozenset[str]:
    """Fields that reply headers of both releases carry."""
    if not (old.reply and new.reply):
        return frozenset()
    return frozenset(place.name for place in old.reply.layout.fields if place.name in new.reply.layout)


def _alike(one: Answer, other: Answer, common: frozenset[str]) -> bool:
    if (one.closed, one.rest, len(one.replies)) != (other.closed, other.rest, len(other.replies)):
        return False
    return all(
        a.payload == b.payload and all(a.fields[field] == b.fields[field] for field in common)
        for a, b in zip(one.replies, other.replies, strict=True)
    )


def _causes(old: Observed, new: Observed, left: Sequence[Moment], right: Sequence[Moment]) -> set[Aspect]:
    """Why the two servers were in different situations; nothing if they were in the same."""
    common = None
    if old.request and new.request:
        common = {place.name for place in old.request.layout.fields if place.name in new.request.layout}
    causes: set[Aspect] = set()
    if [_shape(moment) for moment in left] != [_shape(moment) for moment in right]:
        causes.add(Aspect.REQUEST_HEADER)
    for one, other in zip(left, right, strict=False):
        if not (isinstance(one, Asked) and isinstance(other, Asked)):
            continue
        if one.key != other.key:
            causes |= {Aspect.KEY_READING, Aspect.KEY_STRING}
        if one.command != other.command or any(
            one.about[f] != other.about[f] for f in (common or ()) if f in one.about and f in other.about
        ):
            causes |= {Aspect.NUMBERS, Aspect.REQUEST_HEADER}
    return causes


def _shape(moment: Moment) -> tuple[str, str]:
    return (type(moment).__name__, moment.what if isinstance(moment, Event) else "")


def _change(new: Observed, key: tuple[str, bool, str, str], members: Sequence[Difference]) -> Change:
    command, ordinary, before, after = key
    first = members[0]
    subject = command or "A connection without a request"
    odd = "" if ordinary else " after odd input"
    return Change(
        Aspect.ANSWERS,
        f"{subject}{odd}: {after}, not {before}",
        _levels(command, ordinary=ordinary),
        f"Expect from {new.release}: {after}."
        if ordinary
        else f"Nothing, if requests are written as lmcache writes them; otherwise expect from {new.release}: {after}.",
        (Example(first.id, Side(answer_words(first.before)), Side(answer_words(first.after))),),
        detail=(f"Seen in {count(len(members), 'conversation')}: {listing((f'{m.id} ({m.title})' for m in members), NAMED)}",),
        evidence=len(members),
    )


def _levels(command: str, *, ordinary: bool) -> Levels:
    level = Level.BREAKING if ordinary else Level.BEHAVIOURAL
    stores = command in STORING
    return Levels(level if stores else Level.NONE, Level.NONE if stores else level, level)


def _pair(before: Answer, after: Answer) -> tuple[str, str]:
    """Two answers in words that differ: by their code, or by the fields in which they differ."""
    one, other = _summary(before), _summary(after)
    if one != other:
        return one, other
    for a, b in zip(before.replies, after.replies, strict=False):
        differing = [field for field in a.fields if field in b.fields and a.fields[field] != b.fields[field]]
        if differing:
            return (_fields(a.fields, differing), _fields(b.fields, differing))
        if a.payload != b.payload:
            return f"{one} with the payload as it was stored", f"{other} with another payload"
    return f"{one} and {before.rest or 'no'} further bytes", f"{other} and {after.rest or 'no'} further bytes"


def _fields(fields: Mapping[str, Value], wanted: Sequence[str]) -> str:
    return f"a reply with {listing(f'{field} {name(fields[field])}' for field in wanted)}"


def _summary(answer: Answer) -> str:
    replies = " and ".join(_reply_words(reply) for reply in answer.replies)
    if not replies:
        return (
            "the connection ends without an answer"
            if answer.closed
            else ("silence" if not answer.rest else "bytes that are no reply")
        )
    return f"{replies}, then the end of the connection" if answer.closed else replies


def _reply_words(reply: Reply) -> str:
    code = str(reply.fields.get("code", "a reply"))
    return f"{code} with a payload" if reply.payload else code


def answer_words(answer: Answer) -> str:
    """An answer in full."""
    words = []
    for reply in answer.replies:
        fields = ", ".join(f"{field} {name(found)}" for field, found in reply.fields.items())
        size = f" and {len(reply.payload)} bytes" if isinstance(reply.payload, bytes) and reply.payload else ""
        words.append(f"{fields}{size}")
    if answer.rest:
        words.append(answer.rest)
    if answer.closed:
        words.append("the connection ends")
    return "; ".join(words) or "silence"
