"""The summary at the end of a run, for a terminal or a log."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

from rich.console import Console
from rich.text import Text

from reports.escape import escape
from reports.explain import STYLES, explain_lines, verdict_text
from reports.headline import Tone, headline
from reports.layout import columns, fit, indent, labelled, paragraph, wrap
from reports.plain import clip
from reports.record import RunHeader
from reports.results import Results, count_of_cases
from reports.tally import (
    LETTERS,
    Cell,
    Column,
    FailureGroup,
    Matrix,
    SkipGroup,
    failure_groups,
    flaky_passes,
    list_faults,
    matrix,
    skip_groups,
    skipped_subjects,
)
from reports.verdict import Outcome, Verdict, count_outcomes
from reports.words import count as count_of
from reports.words import span

LIMIT: Final = 10
"""Groups of failures explained unless the caller asks for more."""
NAMED: Final = 6
"""Other cases of a group that are named."""
REASONS: Final = 12
"""Subjects of skipped cases that are listed."""
LONGEST_NAME: Final = 200
LONGEST_REASON: Final = 120
FAULTS: Final = 20
"""Faults of the list of known failures that are listed."""

_TONES: Final = {
    Tone.GOOD: "bold green",
    Tone.BAD: "bold red",
    Tone.USAGE: "bold yellow",
    Tone.UNDECIDED: "bold magenta",
}


def make_console(file: IO[str] | None = None, *, width: int | None = None) -> Console:
    """A console for reports: neither markup nor emoji nor highlighting, and no character that its encoding lacks.

    Colours follow rich: none outside a terminal or with ``NO_COLOR``; ``FORCE_COLOR`` brings them back.
    """
    stream = sys.stdout if file is None else file
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)


def show(console: Console, lines: Sequence[Text]) -> None:
    """Print lines that are laid out already; a longer one is left to the terminal, so that it can be copied whole."""
    for line in lines:
        console.print(line, soft_wrap=True)


def print_summary(console: Console, results: Results, path: Path | None = None, *, limit: int = LIMIT) -> None:
    """Print :func:`summary_lines` for the width of the console."""
    show(console, summary_lines(results, path, width=console.width, limit=limit))


def summary_lines(results: Results, path: Path | None = None, *, width: int = 100, limit: int = LIMIT) -> list[Text]:
    """The summary: verdict, failures explained, matrix, what was skipped and why, verdict again, a line for CI.

    ``limit`` is the number of failure groups to explain. The last line is ``N passed, N failed, N skipped``, with
    errors of harness and environment among the failed; for an incomplete run it has another form on purpose.
    """
    width = fit(width)
    blocks = [
        _about(results.header, width),
        _verdict(results, width),
        *_failures(results, width, limit),
        _matrix(matrix(results.cases, results.header.releases, results.header.side), width),
        _skipped("Short of a SHOULD", skip_groups(results.cases, Verdict.SHORTFALL), width),
        _skipped(f"Unsupported, as the {results.header.side} declared", skip_groups(results.cases, Verdict.UNSUPPORTED), width),
        _skipped("Known failures", skip_groups(results.cases, Verdict.KNOWN_FAILURE), width),
        _skipped("Flaky, as listed, but passed this time", flaky_passes(results.cases), width),
        _out_of_date(results, width),
        [*_verdict(results, width), *_records(path)],
    ]
    lines: list[Text] = []
    for block in filter(None, blocks):
        lines += [*block, Text()]
    return [*lines, last_line(results)]


def last_line(results: Results) -> Text:
    """The machine-readable line: ``12 passed, 1 failed, 3 skipped``."""
    if results.incomplete:
        return Text(f"incomplete after {count_of_cases(len(results.cases))}: no verdict")
    totals = count_outcomes(results.counts)
    failed = totals[Outcome.FAILED] + totals[Outcome.ERROR]
    return Text(f"{totals[Outcome.PASSED]} passed, {failed} failed, {totals[Outcome.SKIPPED]} skipped")


def _about(header: RunHeader, width: int) -> list[Text]:
    client = header.client
    name = Text.assemble(
        (escape(clip(client.called, LONGEST_NAME)), "bold"),
        escape(clip(client.written_in, LONGEST_NAME)),
    )
    against = f"lmcache {span(header.releases)} on {', '.join(header.targets)}"
    rows = [
        (header.side, name),
        ("", Text(escape(clip(client.spec, LONGEST_NAME)), style="dim")),
        ("against", Text(escape(against))),
        *_list_of_known_failures(header),
        *_parts(header),
        *_left_out(header),
        ("run", Text(escape(f"{header.started}, seed {header.seed}, corpus {header.corpus[:19]}"), style="dim")),
        ("", Text(escape(f"lmconform {header.tool_version}, {header.python}, {header.platform}"), style="dim")),
    ]
    column = 2 + max(len(label) for label, _ in rows)
    return [line for label, text in rows for line in labelled(label, text, width, by=0, column=column, style="dim")]


def _list_of_known_failures(header: RunHeader) -> list[tuple[str, Text]]:
    listed = header.expectations
    if listed is None:
        return []
    about = f"{clip(listed.file, LONGEST_NAME)} ({count_of(listed.entries, 'entry', 'entries')}, sha256 {listed.sha256[:12]})"
    return [("known", Text(escape(about)))]


def _parts(header: RunHeader) -> list[tuple[str, Text]]:
    """The part of the run that this is, or the parts that it was made of."""
    if header.shard is not None:
        of = f" of a selection of {count_of_cases(header.selection.cases)}" if header.selection is not None else ""
        return [("shard", Text(f"{header.shard.index} of {header.shard.count}{of}"))]
    if header.merged is not None:
        return [("merged", Text(f"{len(header.merged.parts)} of {count_of(header.merged.count, 'shard')}"))]
    return []


def _left_out(header: RunHeader) -> list[tuple[str, Text]]:
    """The wires of which the client declares nothing."""
    return [("without", Text(escape(header.without)))] if header.left_out else []


def _verdict(results: Results, width: int) -> list[Text]:
    found = headline(results)
    return wrap(Text.assemble((found.word, _TONES[found.tone]), "  ", escape(found.because)), width)


def _failures(results: Results, width: int, limit: int) -> list[list[Text]]:
    groups = failure_groups(results.cases)
    blocks = []
    for group in groups[:limit]:
        rule = Text("-" * width, style="dim")
        blocks.append([rule, *explain_lines(group.first, width), *_others(group, width)])
    if len(groups) > limit:
        rest = groups[limit:]
        title = f"{len(rest)} more not explained here:" if limit else "Not explained here:"
        blocks.append([Text("-" * width, style="dim"), *_briefly(title, rest, width)])
    elif blocks:
        blocks[-1].append(Text("-" * width, style="dim"))
    return blocks


def _others(group: FailureGroup, width: int) -> list[Text]:
    if not group.others:
        return []
    names = [case.id.removeprefix(case.name).strip("[]") for case in group.others]
    more = f", and {len(names) - NAMED} more" if len(names) > NAMED else ""
    text = f"The same in {len(names)} more: {', '.join(names[:NAMED])}{more}"
    return [Text(), *paragraph(Text(escape(text), style="bold"), width, 6)]


def _briefly(title: str, groups: Sequence[FailureGroup], width: int) -> list[Text]:
    lines = [Text(title)]
    for group in groups:
        case = group.first
        times = f" and {len(group.others)} more" if group.others else ""
        line = Text.assemble(verdict_text(case.verdict), "  ", (escape(case.id), "bold"), times)
        lines += [*paragraph(line, width, 2), *paragraph(Text(escape(clip(case.why, 160)), style="dim"), width, 6)]
    return lines


def _matrix(table: Matrix, width: int) -> list[Text]:
    if not table.columns:
        return []
    lines: list[Text] = []
    topics = [Text("topic", style="dim"), Text(), *(Text(escape(topic)) for topic in table.topics)]
    room = width - max(topic.cell_len for topic in topics)
    for block in _blocks([_column(column, table.topics) for column in table.columns], room):
        rows = [list(row) for row in zip(topics, *block, strict=True)]
        lines += [*([Text()] if lines else []), *columns(rows, ["left"] * (1 + len(block)), gap=3)]
    return [*lines, *wrap(Text(table.legend, style="dim"), width)]


def _column(column: Column, topics: Sequence[str]) -> list[Text]:
    head = [Text(escape(span(column.releases)), style="bold"), Text(escape(column.target), style="dim")]
    return [*head, *(_cell(column.cells.get(topic, ())) for topic in topics)]


def _cell(cell: Cell) -> Text:
    if not cell:
        return Text(".", style="dim")
    return Text(" ").join(Text(f"{count}{LETTERS[outcome]}", style=STYLES[outcome]) for outcome, count in cell)


def _blocks(all_columns: list[list[Text]], room: int) -> list[list[list[Text]]]:
    blocks: list[list[list[Text]]] = []
    used = room + 1
    for column in all_columns:
        wide = 3 + max(cell.cell_len for cell in column)
        if used + wide > room:
            blocks.append([])
            used = 0
        blocks[-1].append(column)
        used += wide
    return blocks


def _skipped(title: str, groups: Sequence[SkipGroup], width: int) -> list[Text]:
    if not groups:
        return []
    subjects = skipped_subjects(groups)
    column = min(2 + max(len(escape(one.subject)) for one in subjects) + 2, width // 2)
    lines = [Text(f"{title}:", style="yellow")]
    for one in subjects[:REASONS]:
        said = one.said(LONGEST_REASON)
        text = f"{count_of_cases(one.count)}: {said}" if said else count_of_cases(one.count)
        lines += labelled(escape(one.subject), Text(escape(text)), width, by=2, column=column)
    if len(subjects) > REASONS:
        lines += indent([Text(f"and {len(subjects) - REASONS} more", style="dim")], 2)
    return lines


def _out_of_date(results: Results, width: int) -> list[Text]:
    faults = list_faults(results.cases)
    if not faults:
        return []
    name = escape(results.header.expectations.file) if results.header.expectations else "the list of known failures"
    lines = [Text(f"{name} must be edited:", style="bold red")]
    for fault in faults[:FAULTS]:
        text = f"{fault.said}: {count_of_cases(fault.count)}, such as {fault.first}"
        lines += labelled(f"entry {fault.entry}", Text(escape(text)), width, by=2, column=13)
    if len(faults) > FAULTS:
        lines += indent([Text(f"and {len(faults) - FAULTS} more", style="dim")], 2)
    return lines


def _records(path: Path | None) -> list[Text]:
    if path is None:
        return []
    return [Text.assemble(("every case: ", "dim"), (escape(shlex.quote(str(path))), "cyan"))]
