"""Explains one case that did not pass, so that its reader can begin to repair without opening anything else."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from rich.text import Text

from reports.conversation import Conversation
from reports.diagnosis import Diagnosis, FieldDifference, ValueDifference
from reports.escape import escape, escape_lines
from reports.hexdump import caption, hexdump, hexdump_pair
from reports.layout import beside, columns, ends, fit, indent, labelled, paragraph, wrap
from reports.plain import JsonValue, clip
from reports.record import CaseRecord
from reports.verdict import OUTCOMES, Outcome, Verdict
from reports.words import count

MARGIN: Final = 6
LABEL: Final = 28
"""Cell at which the text beside a label begins."""
ROWS: Final = 20
"""Fields and paths shown at most."""
STDERR_HEAD: Final = 3
"""Lines shown from the start of stderr, where a panic says what it is about."""
STDERR_TAIL: Final = 7
"""Lines shown from its end, where a traceback does."""
TEXT: Final = 800
"""Characters of one value shown at most."""

STYLES: Final = {
    Outcome.PASSED: "green",
    Outcome.FAILED: "bold red",
    Outcome.ERROR: "bold magenta",
    Outcome.SKIPPED: "yellow",
}


def label_of(verdict: Verdict) -> str:
    """The verdict as it stands before a case: ``FAIL``, ``MOCK DRIFT``."""
    return verdict.value.replace("-", " ").upper()


def verdict_text(verdict: Verdict) -> Text:
    """The verdict's label in its colour."""
    return Text(label_of(verdict), style=STYLES[OUTCOMES[verdict]])


def explain_text(record: CaseRecord, width: int = 100) -> str:
    """The explanation without colours."""
    return "\n".join(line.plain for line in explain_lines(record, width))


def explain_lines(record: CaseRecord, width: int = 100) -> list[Text]:
    """The explanation as lines for a terminal of this width.

    Everything is escaped. Only the command that runs the case again may be longer than ``width``: it must survive
    being copied.
    """
    width = fit(width)
    diagnosis = record.diagnosis or Diagnosis(summary=record.reason or "no explanation was recorded")
    sections = [section(record, diagnosis, width) for section in _SECTIONS]
    lines = _head(record, diagnosis, width)
    for section in filter(None, sections):
        lines += [Text(), *section]
    return lines


def _head(record: CaseRecord, diagnosis: Diagnosis, width: int) -> list[Text]:
    left = Text.assemble(verdict_text(record.verdict), "  ", (escape(record.id), "bold"))
    cited = [diagnosis.requirement] if diagnosis.requirement else list(record.requirements)
    right = Text(escape("  ".join([*cited, *([diagnosis.level] if diagnosis.level else [])])), style="cyan")
    lines = ends(left, right, width, by=MARGIN)
    lines += paragraph(escape(record.title), width, MARGIN)
    if diagnosis.statement and diagnosis.statement.strip(". ") != record.title.strip(". "):
        lines += paragraph(f"{escape(diagnosis.requirement or 'Requirement')}: {escape(diagnosis.statement)}", width, MARGIN)
    if diagnosis.why_it_matters:
        why = Text(f"Why it matters: {escape(diagnosis.why_it_matters)}", style="dim")
        lines += paragraph(why, width, MARGIN)
    return lines


def _what(_record: CaseRecord, diagnosis: Diagnosis, width: int) -> list[Text]:
    lines = paragraph(Text(escape(clip(diagnosis.summary, TEXT)), style="bold"), width, MARGIN)
    if diagnosis.exchange or diagnosis.delivery:
        place = Text(" " * MARGIN + escape(diagnosis.exchange or ""))
        lines += ends(place, Text(escape(diagnosis.delivery or "")), width, by=MARGIN)
    return lines


def _listed(record: CaseRecord, _diagnosis: Diagnosis, width: int) -> list[Text]:
    if record.expectation is None or record.diagnosis is None or not record.reason:
        return []
    said = Text(escape(clip(record.reason, TEXT)))
    return labelled("list of known failures", said, width, by=MARGIN, column=LABEL + 2, style="dim")


def _fields(_record: CaseRecord, diagnosis: Diagnosis, width: int) -> list[Text]:
    if not diagnosis.fields:
        return []
    shown = diagnosis.fields[:ROWS]
    rows = [_field_cells(field) for field in shown]
    heads = [Text(head, style="dim") for head in ("offset", "field", "expected", "got", "")]
    room = width - MARGIN - 2
    table = columns([heads, *rows], ("left",) * 5)
    if any(line.cell_len > room for line in table):
        table = [line for field in shown for line in _stacked_field(field, room)]
    return indent([*table, *_more(len(diagnosis.fields) - len(shown), "fields")], MARGIN + 2)


def _field_cells(field: FieldDifference) -> list[Text]:
    return [
        Text(f"{field.offset:04x}"),
        Text(escape(field.name)),
        _side(field.expected, "green"),
        _side(field.got, "red"),
        Text(escape(field.note), style="dim"),
    ]


def _stacked_field(field: FieldDifference, width: int) -> list[Text]:
    head = Text.assemble(f"{field.offset:04x}  ", (escape(field.name), "bold"), (f"  {escape(field.note)}", "dim"))
    return [*wrap(head, width), *_two_sides(_side(field.expected, "green"), _side(field.got, "red"), width)]


def _side(value: str | None, style: str) -> Text:
    return Text("-", style="dim") if value is None else Text(escape(clip(value, TEXT)), style=style)


def _two_sides(expected: Text, got: Text, width: int) -> list[Text]:
    return [
        *labelled("expected", expected, width, by=2, column=12, style="dim"),
        *labelled("got", got, width, by=2, column=12, style="dim"),
    ]


def _values(_record: CaseRecord, diagnosis: Diagnosis, width: int) -> list[Text]:
    room = width - MARGIN - 2
    lines: list[Text] = []
    for value in diagnosis.values[:ROWS]:
        lines += _value(value, room)
    lines += _more(len(diagnosis.values) - ROWS, "places")
    if not diagnosis.values and (diagnosis.expected is not None or diagnosis.got is not None):
        lines += _two_sides(_json(diagnosis.expected, "green"), _json(diagnosis.got, "red"), room)
    return indent(lines, MARGIN + 2)


def _value(value: ValueDifference, width: int) -> list[Text]:
    head = Text.assemble((escape(value.path or "the answer"), "bold"), (f"  {escape(value.note)}", "dim"))
    if value.expected is None and value.got is None:
        return wrap(head, width)
    if value.note == "missing":
        return [*wrap(head, width), *labelled("expected", _json(value.expected, "green"), width, by=2, column=12, style="dim")]
    if value.note == "not expected":
        return [*wrap(head, width), *labelled("got", _json(value.got, "red"), width, by=2, column=12, style="dim")]
    return [*wrap(head, width), *_two_sides(_json(value.expected, "green"), _json(value.got, "red"), width)]


def _json(value: JsonValue, style: str) -> Text:
    return Text(escape(clip(json.dumps(value, ensure_ascii=False), TEXT)), style=style)


def _frames(_record: CaseRecord, diagnosis: Diagnosis, width: int) -> list[Text]:
    match diagnosis.frames:
        case (expected, got) if expected.marks or got.marks:
            titles = [*_caption(f"- {caption(expected)}", width), *_caption(f"+ {caption(got)}", width)]
            return indent([*titles, *hexdump_pair(expected, got)], MARGIN)
    lines: list[Text] = []
    for frame in diagnosis.frames:
        lines += [*_caption(caption(frame), width), *hexdump(frame)]
    return indent(lines, MARGIN + 2)


def _caption(text: str, width: int) -> list[Text]:
    return wrap(Text(escape(clip(text, TEXT)), style="dim"), width - MARGIN - 2)


def _answers(record: CaseRecord, diagnosis: Diagnosis, width: int) -> list[Text]:
    talk = diagnosis.conversation
    rows = [
        (f"the {record.judges} answered", diagnosis.client_answered, "red"),
        ("a conformant answer", diagnosis.conformant_answer, "green"),
        ("expected value from", diagnosis.provenance, ""),
        ("the conversation", talk and _where_the_conversation_is(talk), ""),
    ]
    lines: list[Text] = []
    for label, text, style in rows:
        if text:
            lines += labelled(label, Text(escape(clip(text, TEXT)), style=style), width, by=MARGIN, column=LABEL, style="dim")
    if diagnosis.counterexample:
        lines += indent([Text("to keep this example, put it into a file of cases/lm/counterexamples", style="dim")], MARGIN)
        lines += indent([Text(escape(diagnosis.counterexample))], MARGIN + 2)
    if diagnosis.rerun:
        lines += _command(Text(escape(diagnosis.rerun), style="cyan"), width)
    return lines


def _command(command: Text, width: int) -> list[Text]:
    if command.cell_len <= width - LABEL:
        return beside("run it again", [command], by=MARGIN, column=LABEL, style="dim")
    return indent([Text("run it again", style="dim"), Text("  ") + command], MARGIN)


def _stderr(_record: CaseRecord, diagnosis: Diagnosis, width: int) -> list[Text]:
    said = escape_lines(diagnosis.client_stderr or "")
    if not said:
        return []
    left_out = len(said) - STDERR_HEAD - STDERR_TAIL
    shown = [*said[:STDERR_HEAD], f"... {left_out} lines left out ...", *said[-STDERR_TAIL:]] if left_out > 1 else said
    room = width - MARGIN - 2
    lines = [line for text in shown for line in wrap(Text(clip(text, TEXT), style="dim"), room)]
    return [*indent([Text("what it wrote itself", style="dim")], MARGIN), *indent(lines, MARGIN + 2)]


def _where_the_conversation_is(told: Conversation) -> str:
    """It has lanes, for which a terminal has no room."""
    return f"{count(len(told.events) + told.left_out, 'event')} seen by {told.seen_by}: see report.html"


def _more(number: int, what: str) -> list[Text]:
    return [Text(f"and {number} more {what}", style="dim")] if number > 0 else []


_SECTIONS: Final[tuple[Callable[[CaseRecord, Diagnosis, int], list[Text]], ...]] = (
    _what,
    _listed,
    _fields,
    _values,
    _frames,
    _answers,
    _stderr,
)
