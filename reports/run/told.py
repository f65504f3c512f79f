"""Everything that is known of one case that did not pass, ready to be laid out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from reports.diagnosis import Diagnosis, FieldDifference, ValueDifference
from reports.explain import label_of
from reports.plain import JsonValue, clip, whole_lines
from reports.record import CaseRecord
from reports.run.bytes import Dump, dumps
from reports.run.links import view_link
from reports.run.strip import Box, strip
from reports.run.timeline import Timeline, timeline, why_none
from reports.run.tones import TONES
from reports.verdict import Verdict

TEXT: Final = 800
"""Characters of one text shown at most; the results file has the rest."""
LONG: Final = 2000
"""The same for a command, which has to be copied whole, and for what must be kept."""
STDERR: Final = 6000
ROWS: Final = 20
"""Fields and places shown at most."""


@dataclass(frozen=True)
class FieldRow:
    """A field whose value is wrong."""

    offset: str
    size: int
    name: str
    expected: str
    got: str
    note: str


@dataclass(frozen=True)
class ValueRow:
    """A place in an answer whose value is wrong; a side is empty where there is nothing to show."""

    path: str
    expected: str
    got: str
    note: str


@dataclass(frozen=True)
class Told:
    """A case. Texts are as they came: whoever shows them escapes them."""

    id: str
    name: str
    where: str
    """Release, target and variant."""
    link: str
    verdict: str
    tone: str
    title: str
    requirement: str
    level: str
    requirement_link: str
    also: str
    """Other requirements that the case is about."""
    statement: str
    why: str
    summary: str
    place: str
    """Where in the conversation, and how the bytes were served."""
    listed: str
    fields: tuple[FieldRow, ...]
    more_fields: int
    values: tuple[ValueRow, ...]
    more_values: int
    answers: tuple[tuple[str, str, str], ...]
    """What was answered and what should have been: label, text and tone."""
    strip: tuple[Box, ...]
    dumps: tuple[Dump, ...]
    timeline: Timeline | None
    no_timeline: str
    stderr: str
    counterexample: str
    provenance: str
    rerun: str
    short: bool = False
    """Long parts are left out to keep the page small."""


def told(case: CaseRecord, *, full: bool = True) -> Told:
    """What is known of a case; not ``full`` without bytes, conversation and what was written to standard error."""
    diagnosis = case.diagnosis or Diagnosis(summary=case.reason or "no explanation was recorded")
    if not full:
        diagnosis = replace(diagnosis, frames=(), conversation=None, client_stderr=None, counterexample=None)
    cited = diagnosis.requirement or next(iter(case.requirements), "")
    talk = diagnosis.conversation
    return Told(
        id=clip(case.id, TEXT),
        name=clip(case.name, TEXT),
        where=clip(case.id.removeprefix(case.name).strip("[]"), TEXT),
        link=view_link(case=case.id),
        verdict=label_of(case.verdict),
        tone=TONES[case.verdict],
        title=clip(case.title, TEXT),
        requirement=clip(cited, TEXT),
        level=diagnosis.level or "",
        requirement_link=view_link(requirement=cited) if cited else "",
        also=", ".join(clip(other, TEXT) for other in case.requirements if other != cited),
        statement=clip(diagnosis.statement or "", TEXT),
        why=clip(diagnosis.why_it_matters or "", TEXT),
        summary=clip(diagnosis.summary, TEXT),
        place=clip("; ".join(filter(None, (diagnosis.exchange, diagnosis.delivery))), TEXT),
        listed=clip(case.reason, TEXT) if case.expectation is not None and case.diagnosis is not None and case.reason else "",
        fields=tuple(map(_field, diagnosis.fields[:ROWS])),
        more_fields=max(0, len(diagnosis.fields) - ROWS),
        values=tuple(_values(diagnosis)),
        more_values=max(0, len(diagnosis.values) - ROWS),
        answers=tuple(_answers(case, diagnosis)),
        strip=strip(diagnosis, case.release),
        dumps=dumps(diagnosis.frames),
        timeline=timeline(talk) if talk is not None else None,
        no_timeline="" if talk is not None or case.verdict is Verdict.UNEXPECTED_PASS else why_none(case),
        stderr=_middle_left_out(diagnosis.client_stderr or ""),
        counterexample=clip(diagnosis.counterexample or "", LONG),
        provenance=clip(diagnosis.provenance or "", TEXT),
        rerun=clip(diagnosis.rerun or "", LONG),
        short=not full,
    )


def _field(field: FieldDifference) -> FieldRow:
    expected, got = ("-" if side is None else clip(side, TEXT) for side in (field.expected, field.got))
    return FieldRow(f"0x{field.offset:02x}", field.size, clip(field.name, TEXT), expected, got, clip(field.note, TEXT))


def _values(diagnosis: Diagnosis) -> Iterator[ValueRow]:
    for value in diagnosis.values[:ROWS]:
        yield _value(value)
    if not diagnosis.values and (diagnosis.expected is not None or diagnosis.got is not None):
        yield ValueRow("the answer", _json(diagnosis.expected), _json(diagnosis.got), "")


def _value(value: ValueDifference) -> ValueRow:
    path = clip(value.path or "the answer", TEXT)
    nothing = value.expected is None and value.got is None and value.note not in {"missing", "not expected"}
    expected = "" if nothing or value.note == "not expected" else _json(value.expected)
    got = "" if nothing or value.note == "missing" else _json(value.got)
    return ValueRow(path, expected, got, clip(value.note, TEXT))


def _json(value: JsonValue) -> str:
    return clip(json.dumps(value, ensure_ascii=False), TEXT)


def _answers(case: CaseRecord, diagnosis: Diagnosis) -> Iterator[tuple[str, str, str]]:
    if diagnosis.conformant_answer:
        yield "a conformant answer", clip(diagnosis.conformant_answer, TEXT), "good"
    if diagnosis.client_answered:
        yield f"the {case.judges} answered", clip(diagnosis.client_answered, TEXT), "bad"


def _middle_left_out(text: str) -> str:
    """The begin and the end, where a panic and a traceback say what they are about, in whole lines where they have an end."""
    if len(text) <= STDERR:
        return text
    third = STDERR // 3
    begin = text[: text.rfind("\n", 0, third) + 1 or third].removesuffix("\n")
    end = whole_lines(text, 2 * third)
    return f"{begin}\n... {len(text) - len(begin) - len(end)} characters left out ...\n{end}"
