"""The collisions as JSON; ``reports/schemas/compat-mp-v1.schema.json`` describes it."""

from __future__ import annotations

from typing import Any, Final

from reports.collisions.demonstration import Demonstration
from reports.collisions.fates import Fate, Pair
from reports.collisions.harm import Grade
from reports.collisions.matrix import Collisions
from reports.schema import schema_file

SCHEMA_VERSION: Final = 1


def collisions_schema() -> dict[str, Any]:
    """The JSON Schema of the document."""
    return schema_file("compat-mp", SCHEMA_VERSION)


def to_json(result: Collisions) -> dict[str, Any]:
    """The document: one pair for each two generations, with every operation."""
    return {
        "version": SCHEMA_VERSION,
        "tool_version": result.tool_version,
        "protocol": "mp",
        "clients": list(result.clients),
        "servers": list(result.servers),
        "tables": dict(result.sources),
        "generations": [{"label": found.label, "releases": list(found.releases)} for found in result.generations],
        "pairs": [_pair(pair, result) for pair in result.pairs],
        "steps": [
            {
                "old": step.old.label,
                "new": step.new.label,
                "server_first": _survival(step.server_first),
                "clients_first": _survival(step.clients_first),
            }
            for step in result.steps
        ],
        "demonstrations": [_demonstration(found) for found in result.demonstrations],
    }


def _grade(grade: Grade) -> dict[str, Any]:
    return {"harm": str(grade.harm), "plain": grade.plain}


def _pair(pair: Pair, result: Collisions) -> dict[str, Any]:
    return {
        "client": result.generation(pair.client).label,
        "server": result.generation(pair.server).label,
        **_grade(pair.grade),
        "operations": [_fate(fate) for fate in pair.fates],
    }


def _fate(fate: Fate) -> dict[str, Any]:
    return {
        "operation": fate.operation,
        "number": fate.number,
        "meets": fate.meets,
        "executed": fate.executed,
        **_grade(fate.grade),
        "what": fate.what,
        "detail": fate.detail or None,
        "only_with": fate.odd or None,
    }


def _survival(pair: Pair) -> dict[str, Any]:
    return {**_grade(pair.grade), "works": pair.survivors, "broken": pair.casualties}


def _demonstration(found: Demonstration) -> dict[str, Any]:
    return {
        "title": found.title,
        "client": found.client,
        "server": found.server,
        "target": found.target,
        "acts": [{"did": act.did, "sent": [frame.hex() for frame in act.sent], "came": act.came} for act in found.acts],
        "shown": found.shown,
        "verdict": found.verdict,
        "problem": found.problem,
    }
