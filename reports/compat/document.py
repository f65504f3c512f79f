"""The matrix as JSON, and read back; ``reports/schemas/compat-v1.schema.json`` describes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from reports.compat.grouping import client_groups, reasons, server_groups
from reports.compat.model import PARTS, Cell, CompatResult, Evidence, Exchange, Finding
from reports.compat.outcome import Grade, Outcome
from reports.schema import fault_of_document, schema_file

SCHEMA_VERSION: Final = 1


def compat_schema() -> dict[str, Any]:
    """The JSON Schema of the document."""
    return schema_file("compat", SCHEMA_VERSION)


def to_json(result: CompatResult) -> dict[str, Any]:
    """The document. Bytes are hexadecimal; cells that are derived name their source and repeat no evidence."""
    known = reasons(result)
    numbers = {(reason.part, reason.grade, reason.text): reason.number for reason in known}
    return {
        "version": SCHEMA_VERSION,
        "tool_version": result.tool_version,
        "started": result.started,
        "seconds": result.seconds,
        "target": result.target,
        "runtime": result.runtime,
        "corpus": result.corpus,
        "clients": list(result.clients),
        "servers": list(result.servers),
        "counts": {"run": result.count("run"), "derived": result.count("derived"), "not-run": result.count("not-run")},
        "generations": {
            "clients": [{"label": group.label, "releases": list(group.releases)} for group in client_groups(result)],
            "servers": [{"label": group.label, "releases": list(group.releases)} for group in server_groups(result)],
        },
        "same_captures": {
            "clients": [list(group) for group in result.same_client],
            "servers": [list(group) for group in result.same_server],
        },
        "reasons": [
            {"number": reason.number, "part": reason.part, **_grade(reason.grade), "text": reason.text} for reason in known
        ],
        "cells": [_cell(result.cell(client, server), numbers) for client in result.clients for server in result.servers],
    }


def from_json(document: object) -> CompatResult:
    """The inverse of :func:`to_json`, but that derived cells have no evidence.

    Raises:
        ValueError: the document is another one, or lacks a cell; the message names what is wrong.
    """
    version = document.get("version") if isinstance(document, dict) else None
    if version != SCHEMA_VERSION:
        raise ValueError(f"not a matrix of version {SCHEMA_VERSION}, as 'lmconform compat --format json' writes it")
    fault = fault_of_document(document, compat_schema())
    if fault is not None:
        raise ValueError(fault)
    assert isinstance(document, dict)
    reasons_of = {reason["number"]: reason for reason in document["reasons"]}
    cells = {(data["client"], data["server"]): _cell_of(data, reasons_of) for data in document["cells"]}
    clients, servers = tuple(document["clients"]), tuple(document["servers"])
    missing = [f"{client} against {server}" for client in clients for server in servers if (client, server) not in cells]
    if missing:
        raise ValueError(f"there is no cell for {missing[0]}")
    return CompatResult(
        tool_version=document["tool_version"],
        started=document["started"],
        seconds=document["seconds"],
        target=document["target"],
        runtime=document["runtime"],
        corpus=document["corpus"],
        clients=clients,
        servers=servers,
        cells=cells,
        same_client=document["same_captures"]["clients"],
        same_server=document["same_captures"]["servers"],
    )


def _cell_of(data: Mapping[str, Any], known: Mapping[int, Mapping[str, Any]]) -> Cell:
    source = data["derived_from"]
    unknown = [found["reason"] for found in data["findings"] if found["reason"] not in known]
    if unknown:
        raise ValueError(f"{data['client']} against {data['server']}: there is no reason {unknown[0]}")
    return Cell(
        client=data["client"],
        server=data["server"],
        findings=tuple(_finding_of(found, known[found["reason"]]) for found in data["findings"]),
        questions=data["questions"],
        derived_from=None if source is None else (source["client"], source["server"]),
        problem=data["problem"],
    )


def _finding_of(data: Mapping[str, Any], reason: Mapping[str, Any]) -> Finding:
    evidence = data.get("evidence", {"exchanges": (), "captured": ()})
    return Finding(
        part=reason["part"],
        grade=Grade(Outcome(reason["outcome"]), reason["plain"]),
        reason=reason["text"],
        struck=tuple(data["struck"]),
        evidence=Evidence(
            exchanges=tuple(_exchange_of(one) for one in evidence["exchanges"]),
            captured=tuple((one["about"], one["text"]) for one in evidence["captured"]),
        ),
    )


def _exchange_of(data: Mapping[str, Any]) -> Exchange:
    return Exchange(**{**data, "sent": bytes.fromhex(data["sent"]), "got": bytes.fromhex(data["got"])})


def _grade(grade: Grade) -> dict[str, Any]:
    return {"outcome": str(grade.outcome), "plain": grade.plain}


def _cell(cell: Cell, numbers: dict[tuple[Any, ...], int]) -> dict[str, Any]:
    source = cell.derived_from
    return {
        "client": cell.client,
        "server": cell.server,
        "state": cell.state,
        **_grade(cell.grade),
        **{part: _grade(cell.grade_of(part)) for part in PARTS},
        "derived_from": None if source is None else {"client": source[0], "server": source[1]},
        "problem": cell.problem,
        "questions": cell.questions,
        "findings": [_finding(found, numbers[found.signature], shown=source is None) for found in cell.reasons],
    }


def _finding(finding: Finding, number: int, *, shown: bool) -> dict[str, Any]:
    made: dict[str, Any] = {"reason": number, "struck": list(finding.struck)}
    return {**made, "evidence": _evidence(finding.evidence)} if shown else made


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {
        "exchanges": [_exchange(exchange) for exchange in evidence.exchanges],
        "captured": [{"about": about, "text": text} for about, text in evidence.captured],
    }


def _exchange(exchange: Exchange) -> dict[str, Any]:
    return {
        "by": exchange.by,
        "request": exchange.request,
        "sent": exchange.sent.hex(),
        "payload": exchange.payload,
        "wanted": exchange.wanted,
        "got": exchange.got.hex(),
        "received": exchange.received,
        "ending": exchange.ending,
    }
