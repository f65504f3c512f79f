"""Releases with identical rows or columns together, and the reasons of all cells, each once."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reports.compat.model import PARTS, Cell, CompatResult, Finding, Part
from reports.compat.outcome import Grade


@dataclass(frozen=True)
class Group:
    """Releases whose rows (as clients) or columns (as servers) are the same in every cell and every reason."""

    label: str
    """A letter for clients, a number for servers."""
    releases: tuple[str, ...]


@dataclass(frozen=True)
class Reason:
    """One trouble, wherever it occurs."""

    number: int
    part: Part
    grade: Grade
    text: str
    struck: tuple[str, ...]
    """Everything that ended so in some cell."""
    cells: frozenset[tuple[str, str]]
    """Client and server of each."""
    example: Cell
    """A cell that was played, if one was."""
    shown: Finding
    """The finding in that cell."""


@dataclass(frozen=True)
class Block:
    """Cells of a group of clients against groups of servers that all say the same."""

    clients: tuple[str, ...]
    """Labels."""
    servers: tuple[str, ...]
    cell: Cell
    """One of them."""
    numbers: Mapping[Part, tuple[int, ...]]
    """Numbers of the reasons of each answer, the worst first."""


def client_groups(result: CompatResult) -> list[Group]:
    """Clients with the same row."""
    rows = {client: tuple(result.cell(client, server).signature for server in result.servers) for client in result.clients}
    return _groups(rows, [_letters(index) for index in range(len(rows))])


def server_groups(result: CompatResult) -> list[Group]:
    """Servers with the same column."""
    columns = {server: tuple(result.cell(client, server).signature for client in result.clients) for server in result.servers}
    return _groups(columns, [str(index + 1) for index in range(len(columns))])


def reasons(result: CompatResult) -> list[Reason]:
    """Every reason, the worst first, with where it holds and a finding that shows it."""
    found: dict[tuple[Part, Grade, str], list[tuple[Cell, Finding]]] = {}
    for client in result.clients:
        for server in result.servers:
            cell = result.cell(client, server)
            for finding in cell.findings:
                found.setdefault(finding.signature, []).append((cell, finding))
    ordered = sorted(found.items(), key=lambda item: (item[0][1].rank, item[0][0] != "talk", -len(item[1]), item[0][2]))
    return [_reason(number, signature, places) for number, (signature, places) in enumerate(ordered, 1)]


def blocks(result: CompatResult, known: Sequence[Reason]) -> list[Block]:
    """The groups against each other, cells that say the same together."""
    numbers = {(reason.part, reason.grade, reason.text): reason.number for reason in known}
    rows: dict[tuple[object, ...], tuple[list[str], list[tuple[tuple[str, ...], Cell]]]] = {}
    servers = server_groups(result)
    for group in client_groups(result):
        same: dict[object, tuple[list[str], Cell]] = {}
        for other in servers:
            cell = result.cell(group.releases[-1], other.releases[-1])
            same.setdefault(cell.signature, ([], cell))[0].append(other.label)
        row = [(tuple(labels), cell) for labels, cell in same.values()]
        signature = tuple((labels, cell.signature) for labels, cell in row)
        rows.setdefault(signature, ([], row))[0].append(group.label)
    return [
        Block(tuple(clients), labels, cell, {part: _numbers(cell, part, numbers) for part in PARTS})
        for clients, row in rows.values()
        for labels, cell in row
    ]


def _numbers(cell: Cell, part: Part, numbers: Mapping[tuple[Part, Grade, str], int]) -> tuple[int, ...]:
    return tuple(sorted(numbers[finding.signature] for finding in cell.findings if finding.part == part))


def spans(labels: Iterable[str], all_labels: Sequence[str]) -> str:
    """Labels as spans: ``a-c e``."""
    wanted = set(labels)
    runs: list[list[str]] = []
    previous = False
    for label in all_labels:
        if label in wanted:
            if previous:
                runs[-1].append(label)
            else:
                runs.append([label])
        previous = label in wanted
    return " ".join(run[0] if len(run) == 1 else f"{run[0]} {run[1]}" if len(run) == 2 else f"{run[0]}-{run[-1]}" for run in runs)


def _groups(signatures: Mapping[str, tuple[object, ...]], labels: Sequence[str]) -> list[Group]:
    found: dict[tuple[object, ...], list[str]] = {}
    for release, signature in signatures.items():
        found.setdefault(signature, []).append(release)
    return [Group(label, tuple(releases)) for label, releases in zip(labels, found.values(), strict=False)]


def _letters(index: int) -> str:
    letters = string.ascii_lowercase
    return letters[index] if index < len(letters) else letters[index // len(letters) - 1] + letters[index % len(letters)]


def _reason(number: int, signature: tuple[Part, Grade, str], places: Sequence[tuple[Cell, Finding]]) -> Reason:
    part, grade, text = signature
    example, shown = next(((cell, finding) for cell, finding in places if cell.state == "run"), places[0])
    struck = dict.fromkeys(name for _, finding in places for name in finding.struck)
    cells = frozenset((cell.client, cell.server) for cell, _ in places)
    return Reason(number, part, grade, text, tuple(struck), cells, example, shown)
