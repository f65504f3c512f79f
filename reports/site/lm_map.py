"""Who can talk to whom over ``lm://``: the map, and a page for each generation of clients with reasons and bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reports.compat.grouping import Group, Reason, client_groups, reasons, server_groups
from reports.compat.model import PARTS, Cell, CompatResult, Finding, Part
from reports.compat.outcome import MEANINGS, ORDER, WORDS, Grade, Outcome
from reports.compat.page import html as one_file
from reports.compat.wording import problem_words, struck_words, summary
from reports.site.citations import Citation, of_reason
from reports.site.links import lm_place
from reports.site.model import Content
from reports.site.overview import script_data
from reports.site.rendering import Renderer
from reports.site.sidebyside import Bytes, Pair, captured, headers, lines

TONES: Mapping[Outcome, str] = {
    Outcome.OK: "good",
    Outcome.MISSES: "warn",
    Outcome.REFUSED: "bad",
    Outcome.HANGS: "odd",
    Outcome.WRONG: "bad wrong",
    Outcome.UNKNOWN: "none",
    Outcome.NOT_RUN: "none",
}
"""The classes of the theme."""
QUESTIONS: Mapping[Part, str] = {"talk": "can it be served?", "share": "is found what it stored?"}


def pages(content: Content, renderer: Renderer) -> Iterator[tuple[str, bytes]]:
    """``lm.html``, its data, the matrix as one file, and ``lm/client-RELEASE.html``."""
    result = content.compat
    view = _View.of(result)
    present = {cell.grade for cell in result.cells.values()}
    yield (
        "lm.html",
        renderer.page(
            "lm.html",
            "lm.html.j2",
            title="Who can talk to whom over lm://",
            section="lm",
            result=result,
            summary=summary(result),
            view=view,
            tone=tone,
            place=lm_place,
            legend=[(grade, WORDS[grade.outcome], MEANINGS[grade.outcome]) for grade in ORDER if grade in present],
        ),
    )
    yield "lm/map.js", _script(result, view).encode()
    yield "lm/matrix.html", one_file(result).encode()
    for group in view.clients:
        path = lm_place(group.releases[0])
        yield (
            path,
            renderer.page(
                path,
                "lm_client.html.j2",
                title=f"lm:// clients of {span(group)}",
                section="lm",
                result=result,
                group=group,
                span=span,
                tone=tone,
                place=lm_place,
                questions=QUESTIONS,
                meetings=[_meeting(result, group, other) for other in view.servers],
            ),
        )


def tone(grade: Grade) -> str:
    """Classes of a cell: its colour, and that it strikes only some keys or values."""
    return TONES[grade.outcome] + ("" if grade.plain else " part")


def span(group: Group) -> str:
    """Its first and last release."""
    return group.releases[0] if len(group.releases) == 1 else f"{group.releases[0]} to {group.releases[-1]}"


@dataclass(frozen=True)
class _View:
    """Generations, and which release belongs to which."""

    clients: Sequence[Group]
    servers: Sequence[Group]
    client_first: Mapping[str, str]
    server_first: Mapping[str, str]
    reasons: Sequence[Reason]

    @classmethod
    def of(cls, result: CompatResult) -> _View:
        clients, servers = client_groups(result), server_groups(result)
        return cls(clients, servers, _firsts(clients), _firsts(servers), reasons(result))


def _firsts(groups: Sequence[Group]) -> dict[str, str]:
    return {release: group.releases[0] for group in groups for release in group.releases}


def _script(result: CompatResult, view: _View) -> str:
    """Letters and reasons of every pair of generations, for what is shown below the map."""
    numbers = {(reason.part, reason.grade, reason.text): reason.number for reason in view.reasons}
    cells = {}
    for one in view.clients:
        for other in view.servers:
            cell = result.cell(one.releases[0], other.releases[0])
            found = [numbers[finding.signature] for finding in cell.reasons]
            cells[f"{one.releases[0]} {other.releases[0]}"] = [
                [[part, cell.grade_of(part).letter, cell.grade_of(part).words, tone(cell.grade_of(part))] for part in PARTS],
                found,
                problem_words(cell.problem) if cell.problem else "",
            ]
    told = {reason.number: [f"{reason.part} {reason.grade.letter}", reason.text] for reason in view.reasons}
    return f"window.MAP = {script_data({'cells': cells, 'reasons': told})};\n"


@dataclass(frozen=True)
class Shown:
    """A finding with all that shows it."""

    finding: Finding
    struck: str
    citation: Citation
    bytes: Sequence[Bytes]
    captured: Sequence[Pair]
    lines: Sequence[str]


@dataclass(frozen=True)
class Meeting:
    """A generation of clients at a generation of servers."""

    servers: Group
    cell: Cell
    """One that was played, if one was."""
    played: str
    shown: Sequence[Shown]
    problem: str


def _meeting(result: CompatResult, clients: Group, servers: Group) -> Meeting:
    cells = [result.cell(one, other) for one in clients.releases for other in servers.releases]
    cell = next((cell for cell in cells if cell.state == "run"), cells[0])
    return Meeting(
        servers=servers,
        cell=cell,
        played=f"client {cell.client}, server {cell.server}",
        shown=[_shown(finding, cell) for finding in cell.reasons],
        problem=problem_words(cell.problem) if cell.problem else "",
    )


def _shown(finding: Finding, cell: Cell) -> Shown:
    evidence = finding.evidence
    return Shown(
        finding=finding,
        struck=struck_words(finding.struck),
        citation=of_reason(finding.reason),
        bytes=[found for exchange in evidence.exchanges[-1:] for found in headers(exchange, cell.client, cell.server)],
        captured=list(captured(evidence)),
        lines=lines(evidence),
    )
