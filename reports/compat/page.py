"""The matrix as a Markdown document and as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.compat.grouping import Reason, blocks, client_groups, reasons, server_groups, spans
from reports.compat.model import PARTS, Cell, CompatResult
from reports.compat.outcome import MEANINGS, ORDER, WORDS
from reports.compat.wording import derived_lines, evidence_lines, problem_words, struck_words, summary, where
from reports.documents import templates
from reports.escape import escape


def html(result: CompatResult) -> str:
    """One HTML file."""
    environment = templates("reports.compat", html=True)
    environment.filters["visible"] = escape
    return environment.get_template("matrix.html.j2").render(_view(result))


def markdown(result: CompatResult) -> str:
    """A Markdown document."""
    return templates("reports.compat", html=False).get_template("matrix.md.j2").render(_view(result))


def _view(result: CompatResult) -> Mapping[str, Any]:
    clients, servers, known = client_groups(result), server_groups(result), reasons(result)
    labels = [group.label for group in clients], [group.label for group in servers]
    numbers = {(reason.part, reason.grade, reason.text): reason.number for reason in known}
    cells = list(result.cells.values())
    present = {cell.grade for cell in cells} | {finding.grade for cell in cells for finding in cell.findings}
    return {
        "result": result,
        "summary": summary(result),
        "clients": clients,
        "servers": servers,
        "label_of": {release: group.label for group in servers for release in group.releases},
        "title_of": lambda cell: _title(cell, numbers),
        "letter_of": lambda cell: cell.grade.letter + ("'" if cell.state == "derived" else ""),
        "legend": [
            (grade.letter, str(grade.outcome), WORDS[grade.outcome], MEANINGS[grade.outcome], grade.plain)
            for grade in ORDER
            if grade in present
        ],
        "derived": derived_lines(result),
        "reasons": [(reason, where(reason, clients, servers), *_shown(reason)) for reason in known],
        "blocks": [(block, spans(block.clients, labels[0]), spans(block.servers, labels[1])) for block in blocks(result, known)],
        "problems": {cell.server: problem_words(cell.problem) for cell in cells if cell.problem is not None},
        "words": struck_words,
        "parts": PARTS,
    }


def _shown(reason: Reason) -> tuple[str, list[str]]:
    example = reason.example
    return f"{example.client} -> {example.server}, {reason.shown.struck[0]}", evidence_lines(reason.shown.evidence)


def _title(cell: Cell, numbers: Mapping[Any, int]) -> str:
    parts = [f"client {cell.client}, server {cell.server}: {cell.grade.words}"]
    if cell.derived_from is not None:
        parts.append("derived from {} against {}".format(*cell.derived_from))
    if cell.problem is not None:
        parts.append(problem_words(cell.problem))
    parts += [f"{numbers[finding.signature]}: {escape(finding.reason)}" for finding in cell.reasons]
    return "\n".join(parts)
