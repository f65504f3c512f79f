"""The record of ``lmconform keys`` for a terminal or a log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from rich.text import Text

from reports.escape import escape
from reports.keys.record import Cause, Comparison, Explanation, KeyRow, KeysReport, NamedChunk, PartRow
from reports.layout import columns, fit, indent, labelled, paragraph
from wire.keys import ChunkHash
from wire.portability import AXES
from wire.reach import Reach

FEW: Final = 6
"""Keys that are shown where the question is about another one."""
LABEL: Final = 16
"""Cell at which the text beside a label begins."""


def keys_lines(report: KeysReport, width: int = 100) -> list[Text]:
    """The report as lines; only keys may be longer than ``width``: they must survive being copied."""
    width = fit(width)
    compared = report.comparison is not None
    sections = [
        _deployment(report, width),
        _keys(report, width, FEW if compared else len(report.rows)),
        _reach(report, width),
        _findings(report, width, brief=compared),
        _verdict(report.comparison, width) if report.comparison else [],
    ]
    lines: list[Text] = []
    for section in filter(None, sections):
        lines += [*([Text()] if lines else []), *section]
    return lines


def _head(text: str) -> Text:
    return Text(text, style="bold")


def _deployment(report: KeysReport, width: int) -> list[Text]:
    lines = []
    for name, value in report.settings:
        lines += labelled(name, Text(escape(value)), width, by=0, column=LABEL, style="dim")
    function = Text.assemble((report.function, "bold"), f"  {escape(report.function_note)}")
    lines += labelled("hash function", function, width, by=0, column=LABEL, style="dim")
    start = "random" if report.none_hash is None else hash_text(report.none_hash) or "''"
    lines += labelled("NONE_HASH", Text(start, style="bold"), width, by=0, column=LABEL, style="dim")
    lines += paragraph(escape(report.none_hash_note), width, LABEL)
    return lines


def hash_text(value: ChunkHash) -> str:
    """An integer in decimal, a digest in hexadecimal."""
    return str(value) if isinstance(value, int) else value.hex() if isinstance(value, bytes) else value


def _keys(report: KeysReport, width: int, most: int) -> list[Text]:
    count = len(report.rows)
    head = f"{count} {'key' if count == 1 else 'keys'} for {report.tokens} {'token' if report.tokens == 1 else 'tokens'}"
    lines = [_head(head if report.no_keys is None else f"No keys for {report.tokens} tokens")]
    if report.no_keys is not None:
        lines += paragraph(Text(escape(report.no_keys), style="red"), width, 2)
    if not count:
        return lines if report.no_keys is not None else [*lines, *paragraph(_no_chunk(report), width, 2)]
    lines += _key_table(report.rows[:most])
    if count > most:
        lines.append(Text(f"  and {count - most} more", style="dim"))
    return lines


def _no_chunk(report: KeysReport) -> str:
    skipped = f" behind the {report.deployment['skip']} that are skipped" if report.deployment["skip"] else ""
    return f"There is no full chunk of {report.deployment['chunk_size']} tokens{skipped}."


def _key_table(rows: Sequence[KeyRow]) -> list[Text]:
    """Plain lines, not cells: there may be a hundred thousand."""
    spans = [f"{row.start} to {row.end}" for row in rows]
    hashes = [hash_text(row.chunk_hash) for row in rows]
    left, right = max(map(len, [*spans, "tokens"])), max(map(len, [*hashes, "hash"]))
    head = Text(f"  {'tokens':>{left}}  {'hash':>{right}}  key", style="dim")
    keys = ("-" if row.key is None else escape(row.key) for row in rows)
    return [
        head,
        *(Text(f"  {span:>{left}}  {hash_:>{right}}  {key}") for span, hash_, key in zip(spans, hashes, keys, strict=True)),
    ]


def _reach(report: KeysReport, width: int) -> list[Text]:
    lines = [_head("Do these hashes hold for others?")]
    if len({(reach.carries, reach.where, reach.because) for reach in report.reach}) == 1:
        return [*lines, *_answer(report.reach[0], report.reach[0].where, width)]
    for reach in report.reach:
        where = reach.where if reach.carries else f"only {reach.where}"
        lines += _answer(reach, f"{AXES[reach.axis]}: {where}", width)
    return lines


def _answer(reach: Reach, words: str, width: int) -> list[Text]:
    because = (f"  ({', '.join(reach.because)})" if reach.because else "", "dim")
    label, style = ("yes", "green") if reach.carries else ("no", "red")
    return labelled(label, Text.assemble(words, because), width, by=2, column=7, style=style)


def _findings(report: KeysReport, width: int, *, brief: bool) -> list[Text]:
    if not report.findings:
        return []
    lines = [_head("What to know")]
    for finding in report.findings:
        style = "bold red" if "processes" in finding.breaks else "bold"
        lines += paragraph(Text.assemble((finding.title, style), (f"  [{finding.id}]", "dim")), width, 2)
        if not brief:
            lines += paragraph(Text(finding.explanation), width, 6)
            lines += labelled("do", Text(finding.action), width, by=6, column=10, style="green")
    return lines


def _verdict(found: Comparison, width: int) -> list[Text]:
    several = len(found.expected) > 1
    keys = "keys are keys" if several else "key is a key"
    if found.matches:
        lines = labelled("MATCH", Text(f"The expected {keys} of this deployment."), width, by=0, column=10, style="bold green")
        return [*lines, *paragraph(_chunks(found.explanations[0].chunks), width, 10)]
    what = f"The expected {'keys are not those' if several else 'key is not one'} of this deployment."
    lines = labelled("MISMATCH", Text(what, style="bold"), width, by=0, column=10, style="bold red")
    for text in found.expected[:FEW]:
        lines.append(Text(f"          expected  {escape(text)}"))
    if len(found.expected) > FEW:
        lines.append(Text(f"          and {len(found.expected) - FEW} more", style="dim"))
    if any(part.verdict != "same" for part in found.parts):
        lines += [Text(), *_parts(found.parts)]
    lines += [Text(), *_explanations(found, width)]
    return [*lines, Text(), *_tried(found, width)]


def _chunks(chunks: Sequence[NamedChunk]) -> str:
    named = [f"chunk {chunk.index} (tokens {chunk.start} to {chunk.end})" for chunk in chunks[:FEW]]
    more = [f"{len(chunks) - FEW} more"] if len(chunks) > FEW else []
    return f"It is of {named[0]}." if len(chunks) == 1 else f"They are of {', '.join([*named, *more])}."


def _parts(parts: Iterable[PartRow]) -> list[Text]:
    heads = [Text(name, style="dim") for name in ("part", "here", "expected", "")]
    rows = [
        [
            Text(part.name),
            Text(escape(part.here or "-")),
            Text(escape(part.there or "-")),
            Text(part.verdict, style="red" if part.verdict == "differs" else "dim"),
        ]
        for part in parts
    ]
    return indent(columns([heads, *rows], ("left",) * 4), 10)


def _explanations(found: Comparison, width: int) -> list[Text]:
    lines: list[Text] = []
    count = len(found.explanations)
    if count > 1:
        lines += paragraph(f"{count} explanations that the expected keys cannot tell apart:", width, 10)
    for number, explanation in enumerate(found.explanations, 1):
        lines += _explanation(explanation, str(number) if count > 1 else "", width)
    if not count:
        lines += paragraph(Text("No known cause explains the hash.", style="bold"), width, 10)
        for cause in found.identity:
            lines += _cause(cause, "differs", width)
    return lines


def _explanation(explanation: Explanation, number: str, width: int) -> list[Text]:
    lines: list[Text] = []
    for index, cause in enumerate(explanation.causes):
        label = "because" if index == 0 else "and"
        lines += _cause(cause, f"{number}  {label}" if number and index == 0 else label, width)
    for causes in explanation.also:
        words = " ".join(escape(cause.sentence) for cause in causes)
        lines += labelled("or", Text(words + _ids(causes), style="dim"), width, by=10, column=22)
    return lines


def _cause(cause: Cause, label: str, width: int) -> list[Text]:
    text = Text.assemble((escape(cause.sentence), "bold"), (_ids([cause]), "dim"))
    return [
        *labelled(label, text, width, by=10, column=22, style="red"),
        *labelled("do", Text(escape(cause.action)), width, by=10, column=22, style="green"),
    ]


def _ids(causes: Sequence[Cause]) -> str:
    return f"  [{', '.join(cause.id for cause in causes)}]"


def _tried(found: Comparison, width: int) -> list[Text]:
    names = ("as it is", "with one cause", "with two", "with three")
    sets = ", ".join(f"{count:,} {name}" for name, count in zip(names, found.tried, strict=False))
    lines = labelled("tried", Text(f"{sets}; {found.chains:,} chains", style="dim"), width, by=10, column=22, style="dim")
    for limit in found.limits:
        lines += paragraph(Text(limit, style="dim"), width, 22)
    for index, words in enumerate(found.ruled_out):
        lines += labelled("ruled out" if index == 0 else "", Text(escape(words)), width, by=10, column=22, style="dim")
    for index, words in enumerate(found.check_next):
        lines += labelled("check next" if index == 0 else "", Text(escape(words)), width, by=10, column=22, style="green")
    return lines
