"""What servers answer: conversations that both releases were held in the same way, compared step by step."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fixturegen.mp.transcript import MpStep, MpTranscript
from reports.drift.model import Aspect, Change, Example, Findings, Level, Levels, Side
from reports.drift.mp.frames import Explained, explain
from reports.drift.mp.observed import MpObserved
from reports.drift.words import LONGEST_VALUE, alike
from reports.plain import clip
from reports.words import count, listing
from wire.errors import WireError
from wire.mp.values import to_json, unpack

HEARD: Final = ("receive", "poll", "shm-read", "status")
"""Steps that show something of the server."""
NAMED: Final = 4
SILENCE: Final = "silence"


@dataclass(frozen=True)
class Moment:
    """One step, in terms that do not depend on numbers."""

    do: str
    connection: str | None
    operation: str
    """What was asked last on the connection, by its newest name; empty for what is no message, or a malformed one."""
    payloads: Any = None
    heard: Any = None
    """What came: ``silence``, a result, bytes of shared memory, counts."""


@dataclass(frozen=True)
class Difference:
    """The first step at which a conversation goes another way."""

    id: str
    operation: str
    odd: bool
    """Whether something malformed was sent before."""
    before: str
    after: str
    kind: str


def compare(old: MpObserved, new: MpObserved) -> Findings:
    """Conversations by their first difference, those together that differ in the same operation and kind."""
    found = Findings()
    explained = explain(old, new)
    consequences: list[str] = []
    groups: dict[tuple[str, str, bool], list[Difference]] = {}
    former, latter = transcripts(old), transcripts(new)
    for id_, transcript in latter.items():
        if id_ not in former:
            continue
        difference = _first(_moments(old, former[id_]), _moments(new, transcript), id_)
        if difference is None:
            continue
        if difference.kind == "asked" or _is_explained(difference, explained):
            consequences.append(id_)
        else:
            groups.setdefault((difference.operation, difference.kind, difference.odd), []).append(difference)
    found.add([_change(new, members) for members in groups.values()])
    if consequences:
        found.notes.append(
            f"answers of {count(len(consequences), 'conversation')} cannot be compared, for something else is asked, or "
            f"something that the changes above concern: {listing(consequences, NAMED)}."
        )
    return found


def transcripts(observed: MpObserved) -> Mapping[str, MpTranscript]:
    """The conversations of a capture by their id."""
    return {transcript.id: transcript for transcript in observed.evidence.corpus.mp_transcripts}


def _moments(observed: MpObserved, transcript: MpTranscript) -> list[Moment]:
    asked: dict[str | None, tuple[str, Any]] = {}
    found = []
    for step in transcript.steps:
        if step.do in {"send", "poll"}:
            asked[step.connection] = _asked(observed, step.values["frames"])
        operation, payloads = asked.get(step.connection, ("", None))
        if step.do == "status" and "got" not in step.values:
            continue
        heard = _heard(step) if step.do in HEARD else None
        found.append(Moment(step.do, step.connection, operation, payloads if step.do in {"send", "poll"} else None, heard))
    return found


def _asked(observed: MpObserved, frames: Sequence[Any]) -> tuple[str, Any]:
    """The operation of a message and its payloads; a message that names none has an empty name and all its frames."""
    values = [_value(frame) for frame in frames]
    number = values[1] if len(values) > 1 else None
    operation = observed.by_number.get(number) if isinstance(number, int | str) and not isinstance(number, bool) else None
    if operation is None:
        return "", values[1:]
    return observed.aliases.get(operation.name, operation.name), values[2:]


def _heard(step: MpStep) -> Any:
    got = step.values["got"]
    if "frames" not in got:
        return SILENCE if got.get("silence") else got
    return [_value(frame) for frame in got["frames"][2:]]


def _value(frame: Any) -> Any:
    """A frame as a value of the contract; one that is none stays as it is."""
    if isinstance(frame, Mapping):
        return frame.get("msgpack", frame)
    try:
        return to_json(unpack(bytes.fromhex(frame)))
    except (WireError, ValueError, TypeError):
        return frame


def _first(before: Sequence[Moment], after: Sequence[Moment], id_: str) -> Difference | None:
    odd = False
    for one, other in zip(before, after, strict=False):
        odd = odd or (one.do == "send" and not one.operation)
        if (one.do, one.connection, one.operation) != (other.do, other.connection, other.operation):
            return Difference(id_, other.operation, odd, _words(one), _words(other), "asked")
        if not alike(one.heard, other.heard):
            return Difference(id_, other.operation, odd, _words(one), _words(other), _kind(one, other))
    return None


def _kind(before: Moment, after: Moment) -> str:
    if SILENCE in (before.heard, after.heard):
        return "no answer any more" if after.heard == SILENCE else "answered now"
    return {"shm-read": "other bytes in shared memory", "status": "other counts of objects, locks or sessions"}.get(
        after.do, "another answer"
    )


def _words(moment: Moment) -> str:
    if moment.heard is None:
        return f"{moment.do} {moment.operation}".strip()
    text = SILENCE if moment.heard == SILENCE else clip(json.dumps(moment.heard, ensure_ascii=False), LONGEST_VALUE)
    return f"{moment.operation or 'a malformed message'}: {text}" if moment.do in {"receive", "poll"} else f"{moment.do}: {text}"


def _is_explained(difference: Difference, explained: Explained) -> bool:
    return difference.operation in explained.requests or difference.operation in explained.replies


def _change(new: MpObserved, members: Sequence[Difference]) -> Change:
    first = members[0]
    counts = first.kind.startswith("other counts")
    gentle = first.odd or counts or first.kind == "answered now"
    level = Level.BEHAVIOURAL if gentle else Level.BREAKING
    levels = Levels(server=level) if counts or first.odd else Levels.all(level)
    what = "" if counts else f"{first.operation or 'a message that names no operation'}, "
    return Change(
        Aspect.MP_ANSWERS,
        f"{count(len(members), 'conversation')}: {what}{first.kind}",
        levels,
        f"Answer, and expect, what {new.release} does: {listing((one.id for one in members), NAMED)}.",
        (Example(first.id, Side(first.before), Side(first.after)),),
        evidence=len(members),
    )
