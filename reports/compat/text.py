"""The matrix for a terminal or a log."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from reports.compat.grouping import Block, Group, Reason, blocks, client_groups, reasons, server_groups, spans
from reports.compat.model import PARTS, Cell, CompatResult
from reports.compat.outcome import MEANINGS, ORDER, STYLES, WORDS
from reports.compat.wording import derived_lines, evidence_lines, problem_words, struck_words, summary, where
from reports.escape import escape
from reports.layout import fit, labelled, paragraph, wrap

_FEW = 3
"""Servers whose releases are written from left to right."""
DERIVED = "'"
"""Stands before the letter of a cell that was not played itself."""


def text_lines(result: CompatResult, *, width: int = 100) -> list[Text]:
    """The matrix, what its letters mean, which releases are the same, every reason with bytes, and the reasons of every cell."""
    width = fit(width)
    clients, servers, known = client_groups(result), server_groups(result), reasons(result)
    parts = [
        wrap(Text.assemble(("Who can talk to whom", "bold"), f"  {summary(result)}"), width),
        _matrix(result, clients, servers),
        _legend(result, width),
        _groups(clients, servers, width),
        _derived(result, width),
        *[_reason(reason, clients, servers, width) for reason in known],
        _blocks(blocks(result, known), clients, servers, width),
        _not_run(result, width),
    ]
    lines: list[Text] = []
    for part in filter(None, parts):
        lines += [*part, Text()]
    return lines[:-1]


def _matrix(result: CompatResult, clients: Sequence[Group], servers: Sequence[Group]) -> list[Text]:
    longest, widest = max(map(len, result.clients)), max(len(group.label) for group in clients)
    margin = longest + 1 + widest
    labels = {release: group.label for group in servers for release in group.releases}
    across = 1 + max(map(len, result.servers))
    flat = len(result.servers) <= _FEW
    heads = [(list(result.servers), ""), ([labels[release] for release in result.servers], "bold")]
    lines = [Text(" " * margin + " servers", style="dim")]
    for names, style in heads:
        lines += [_across(names, margin, across, style)] if flat else _upright(names, margin, style)
    for group in clients:
        for release in group.releases:
            line = Text.assemble(f"{release:>{longest}} ", (f"{group.label:<{widest}}", "bold"))
            for server in result.servers:
                line.append(" " * (across - 2 if flat else 0)).append_text(_letter(result.cell(release, server)))
            lines.append(line)
    return lines


def _across(names: Sequence[str], margin: int, across: int, style: str) -> Text:
    """Column heads of a few servers, each written as one reads."""
    return Text(" " * margin + "".join(f"{name:>{across}}" for name in names), style=style)


def _upright(names: Sequence[str], margin: int, style: str = "") -> list[Text]:
    """Column heads, written from top to bottom."""
    height = max(map(len, names))
    rows = ("".join(" " + f"{name:>{height}}"[row] for name in names) for row in range(height))
    return [Text((" " * margin + row).rstrip(), style=style) for row in rows]


def _letter(cell: Cell) -> Text:
    return Text.assemble((DERIVED if cell.state == "derived" else " ", "dim"), (cell.grade.letter, STYLES[cell.grade.outcome]))


def _legend(result: CompatResult, width: int) -> list[Text]:
    present = {cell.grade for cell in result.cells.values()} | {
        finding.grade for cell in result.cells.values() for finding in cell.findings
    }
    lines = []
    for outcome in dict.fromkeys(grade.outcome for grade in ORDER):
        letters = dict.fromkeys(grade.letter for grade in ORDER if grade.outcome == outcome and grade in present)
        if letters:
            words = Text.assemble((WORDS[outcome], STYLES[outcome]), f": {MEANINGS[outcome]}")
            lines += labelled(" ".join(letters), words, width, by=2, column=7)
    lines += labelled(
        "Aa", "a capital strikes plain use, a small letter only some keys, values or settings", width, by=2, column=7
    )
    if result.count("derived"):
        lines += labelled(
            f" {DERIVED}", "derived from a pair of releases whose captures are byte-identical", width, by=2, column=7
        )
    lines += labelled("", "a cell shows the worst of all that was found; rows are clients", width, by=2, column=7)
    return lines


def _groups(clients: Sequence[Group], servers: Sequence[Group], width: int) -> list[Text]:
    if [group.releases for group in clients] == [group.releases for group in servers]:
        lines = [Text.assemble(("Generations", "bold"), ": the same in every cell as clients (letters) and as servers (numbers)")]
        for one, other in zip(clients, servers, strict=True):
            lines += labelled(f"{one.label} {other.label}", ", ".join(one.releases), width, by=2, column=8, style="bold")
        return lines
    lines = [Text.assemble(("Generations", "bold"), ": clients that are the same in every cell, then servers")]
    for group in (*clients, *servers):
        lines += labelled(group.label, ", ".join(group.releases), width, by=2, column=8, style="bold")
    return lines


def _derived(result: CompatResult, width: int) -> list[Text]:
    found = derived_lines(result)
    if not found:
        return []
    return [Text("Derived", style="bold"), *(line for words in found for line in paragraph(words, width, 2))]


def _reason(reason: Reason, clients: Sequence[Group], servers: Sequence[Group], width: int) -> list[Text]:
    grade = reason.grade
    lines = wrap(
        Text.assemble(
            (f"{reason.number:>3} ", "bold"), (f"{grade.letter} {grade.words}", STYLES[grade.outcome]), f" ({reason.part})  ",
            escape(reason.text),
        ), width,
    )  # fmt: skip
    lines[1:] = [Text("      ") + line for line in lines[1:]]
    lines += labelled("where", where(reason, clients, servers), width, by=6, column=13, style="dim")
    lines += labelled("strikes", escape(struck_words(reason.struck)), width, by=6, column=13, style="dim")
    shown = evidence_lines(reason.shown.evidence)
    if shown:
        pair = f"{reason.example.client} -> {reason.example.server}, {escape(reason.shown.struck[0])}"
        lines += labelled("shown by", pair, width, by=6, column=16, style="dim")
        lines += [Text(f"        {words}", style="dim") for words in shown]
    return lines


def _blocks(found: Sequence[Block], clients: Sequence[Group], servers: Sequence[Group], width: int) -> list[Text]:
    known = [group.label for group in clients], [group.label for group in servers]
    lines = [Text.assemble(("Both answers of every cell", "bold"), ", with the numbers of their reasons")]
    for block in found:
        grade = block.cell.grade
        pair = f"{spans(block.clients, known[0])} -> {spans(block.servers, known[1])}"
        words = Text.assemble((grade.letter, STYLES[grade.outcome]), "" if block.cell.problem is None else "  not run")
        if block.cell.problem is None:
            for part in PARTS:
                own = block.cell.grade_of(part)
                numbers = " ".join(map(str, block.numbers[part]))
                words = Text.assemble(words, f"  {part} ", (own.letter, STYLES[own.outcome]), f" {numbers}" if numbers else "")
        lines += labelled(pair, words, width, by=2, column=16)
    return lines


def _not_run(result: CompatResult, width: int) -> list[Text]:
    problems: dict[str, dict[str, None]] = {}
    for cell in result.cells.values():
        if cell.problem is not None:
            problems.setdefault(cell.problem, {})[cell.server] = None
    lines = []
    for problem, names in problems.items():
        lines += labelled(
            f"not run: {', '.join(names)}", Text(problem_words(problem)), width, by=2, column=24, style="bold magenta"
        )
    return lines
