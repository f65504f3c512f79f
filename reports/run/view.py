"""What the pages of a run show, in the order in which they show it; made once, laid out by a template each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from reports.diagnosis import Diagnosis
from reports.explain import explain_text, label_of
from reports.headline import Headline, headline
from reports.plain import clip
from reports.record import CaseRecord, RunHeader
from reports.results import Results, count_of_cases
from reports.tally import (
    LETTERS,
    Cell,
    FailureGroup,
    ListFault,
    SkipGroup,
    failure_groups,
    flaky_passes,
    list_faults,
    matrix,
    skip_groups,
    skipped_subjects,
)
from reports.verdict import Outcome, Verdict
from reports.words import count, span

TEXT: Final = 300
"""Characters of one text shown at most; the results file has the rest."""
LONG: Final = 2000
"""The same for a command, which has to be copied whole."""
OTHERS: Final = 6
"""Other cases of a group that are named."""
BRIEF: Final = 50
"""Failures beyond those that are explained which are named."""
ROWS: Final = 30
"""Reasons for skipped cases, and faults of the list of known failures."""

_GRAVITY: Final = (Outcome.SKIPPED, Outcome.PASSED, Outcome.FAILED, Outcome.ERROR)


@dataclass(frozen=True)
class Difference:
    """The first thing in which what came is not what was expected."""

    place: str
    expected: str
    got: str


@dataclass(frozen=True)
class Failure:
    """Cases of one name that failed for one reason, by their first."""

    verdict: str
    """As it stands before a case: ``FAIL``."""
    id: str
    title: str
    requirements: str
    """With their level, such as ``LM-GET-004 MUST``."""
    statement: str
    why: str
    """Why the requirement matters."""
    summary: str
    listed: str
    """What the list of known failures has to say."""
    difference: Difference | None
    details: str
    """Everything that is known, as lines of text."""
    others: str
    rerun: str


@dataclass(frozen=True)
class Brief:
    """A failure that is only named."""

    verdict: str
    id: str
    more: int
    summary: str


@dataclass(frozen=True)
class Column:
    """A column of the table: releases and a target, and a text and an outcome for each topic."""

    releases: str
    target: str
    cells: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Row:
    """A line of a list of things that did not fail the run."""

    subject: str
    cases: str
    said: str


@dataclass(frozen=True)
class RunView:
    """A run as pages show it. Texts are as they came: whoever shows them escapes them."""

    headline: Headline
    counts: tuple[tuple[str, int], ...]
    """Verdicts that occur."""
    facts: tuple[tuple[str, str], ...]
    topics: tuple[str, ...]
    columns: tuple[Column, ...]
    legend: str
    failures: tuple[Failure, ...]
    brief: tuple[Brief, ...]
    left_out: int
    """Failures that are not even named."""
    unexpected: tuple[Brief, ...]
    """Cases that pass although the list of known failures says that they fail."""
    out_of_date: tuple[Row, ...]
    """What must be edited in the list of known failures."""
    known: tuple[Row, ...]
    flaky: tuple[Row, ...]
    unsupported: tuple[Row, ...]
    shortfalls: tuple[Row, ...]
    """What a SHOULD asks for and was not there."""
    side: str
    """What was judged."""


def run_view(results: Results, *, explained: int, room: int = TEXT // 2) -> RunView:
    """The view of a run in which so many groups of failures are explained, and a reason takes so many characters."""
    found = failure_groups(results.cases)
    passes = [group for group in found if group.first.verdict is Verdict.UNEXPECTED_PASS]
    groups = [group for group in found if group.first.verdict is not Verdict.UNEXPECTED_PASS]
    rest = groups[explained:]
    table = matrix(results.cases, results.header.releases, results.header.side)
    counts = results.counts
    return RunView(
        headline=headline(results),
        counts=tuple((verdict.value, counts[verdict]) for verdict in Verdict if counts[verdict]),
        facts=tuple(_facts(results.header)),
        topics=table.topics,
        columns=tuple(
            Column(span(column.releases), column.target, tuple(_cell(column.cells.get(topic, ())) for topic in table.topics))
            for column in table.columns
        ),
        legend=f"{table.legend}.",
        failures=tuple(map(_failure, groups[:explained])),
        brief=tuple(map(_brief, rest[:BRIEF])),
        left_out=max(0, len(rest) - BRIEF),
        unexpected=tuple(map(_brief, passes[:ROWS])),
        out_of_date=tuple(_faults(list_faults(results.cases))),
        known=tuple(_rows(skip_groups(results.cases, Verdict.KNOWN_FAILURE), room)),
        flaky=tuple(_rows(flaky_passes(results.cases), room)),
        unsupported=tuple(_rows(skip_groups(results.cases, Verdict.UNSUPPORTED), room)),
        shortfalls=tuple(_rows(skip_groups(results.cases, Verdict.SHORTFALL), room)),
        side=results.header.side,
    )


def _facts(header: RunHeader) -> Iterator[tuple[str, str]]:
    client = header.client
    yield header.side, f"{clip(client.called, TEXT)}{clip(client.written_in, TEXT)}"
    yield "started as", clip(client.spec, LONG)
    yield "against", f"lmcache {span(header.releases)} on {', '.join(header.targets)}"
    if header.expectations is not None:
        listed = header.expectations
        yield "known failures", f"{clip(listed.file, TEXT)}, {count(listed.entries, 'entry', 'entries')}"
    if header.shard is not None:
        yield "shard", f"{header.shard.index} of {header.shard.count}"
    if header.merged is not None:
        yield "merged", f"{len(header.merged.parts)} of {count(header.merged.count, 'shard')}"
    if header.left_out:
        yield "without", header.without
    yield "run", f"{header.started}, seed {header.seed}, corpus {header.corpus[:19]}"
    yield "with", f"lmconform {header.tool_version}, {clip(header.python, TEXT)}, {clip(header.platform, TEXT)}"


def _cell(cell: Cell) -> tuple[str, str]:
    worst = max((outcome for outcome, _ in cell), key=_GRAVITY.index, default=None)
    text = " ".join(f"{number}{LETTERS[outcome]}" for outcome, number in cell)
    return text or ".", str(worst) if worst is not None else "none"


def _failure(group: FailureGroup) -> Failure:
    case = group.first
    diagnosis = case.diagnosis or Diagnosis(summary=case.reason or "no explanation was recorded")
    cited = [diagnosis.requirement] if diagnosis.requirement else list(case.requirements)
    return Failure(
        verdict=label_of(case.verdict),
        id=clip(case.id, TEXT),
        title=clip(case.title, TEXT),
        requirements=" ".join([*cited, *([diagnosis.level] if diagnosis.level else [])]),
        statement=clip(diagnosis.statement or "", TEXT),
        why=clip(diagnosis.why_it_matters or "", TEXT),
        summary=clip(diagnosis.summary, TEXT),
        listed=clip(case.reason, TEXT) if case.expectation is not None and case.diagnosis is not None and case.reason else "",
        difference=_difference(diagnosis),
        details=explain_text(case),
        others=_others(group.others),
        rerun=clip(diagnosis.rerun or "", LONG),
    )


def _difference(diagnosis: Diagnosis) -> Difference | None:
    if diagnosis.fields:
        field = diagnosis.fields[0]
        return Difference(f"{field.name} at 0x{field.offset:x}", _side(field.expected), _side(field.got))
    if diagnosis.values:
        value = diagnosis.values[0]
        place = value.path or "the answer"
        return Difference(f"{place} ({value.note})" if value.note else place, _json(value.expected), _json(value.got))
    if diagnosis.expected is not None or diagnosis.got is not None:
        return Difference("the answer", _json(diagnosis.expected), _json(diagnosis.got))
    if diagnosis.conformant_answer or diagnosis.client_answered:
        return Difference("the answer", _side(diagnosis.conformant_answer), _side(diagnosis.client_answered))
    return None


def _side(text: str | None) -> str:
    return "-" if text is None else clip(text, TEXT)


def _json(value: object) -> str:
    return clip(json.dumps(value, ensure_ascii=False), TEXT)


def _others(cases: Sequence[CaseRecord]) -> str:
    if not cases:
        return ""
    names = [clip(case.id.removeprefix(case.name).strip("[]"), TEXT) for case in cases]
    more = f" and {len(names) - OTHERS} more" if len(names) > OTHERS else ""
    return f"{count(len(names), 'more case')}: {', '.join(names[:OTHERS])}{more}"


def _brief(group: FailureGroup) -> Brief:
    case = group.first
    return Brief(label_of(case.verdict), clip(case.id, TEXT), len(group.others), clip(case.why, TEXT // 2))


def _rows(groups: Sequence[SkipGroup], room: int) -> Iterator[Row]:
    subjects = skipped_subjects(groups)
    for one in subjects[:ROWS]:
        yield Row(clip(one.subject, TEXT), count_of_cases(one.count), one.said(room))
    if len(subjects) > ROWS:
        yield Row(f"and {len(subjects) - ROWS} more", "", "")


def _faults(faults: Sequence[ListFault]) -> Iterator[Row]:
    for fault in faults[:ROWS]:
        yield Row(f"entry {fault.entry}", count_of_cases(fault.count), f"{fault.said}, such as {clip(fault.first, TEXT)}")
    if len(faults) > ROWS:
        yield Row(f"and {len(faults) - ROWS} more", "", "")
