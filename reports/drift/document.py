"""Drift as JSON; ``reports/schemas/drift-v1.schema.json`` is its schema."""

from __future__ import annotations

import json
from typing import Any, Final

from reports.drift.claims import Concern
from reports.drift.history import History
from reports.drift.model import Change, Drift, Levels, Role, Side
from reports.schema import schema_file

VERSION: Final = 1


def drift_document(drift: Drift, concern: Concern | None = None) -> dict[str, Any]:
    """The drift between two releases."""
    return {"document": "drift", "version": VERSION, **_drift(drift), "claims": _concern(concern)}


def history_document(history: History, concern: Concern | None = None) -> dict[str, Any]:
    """All captured releases."""
    return {
        "document": "history",
        "version": VERSION,
        "worst": history.worst.word,
        "releases": list(history.releases),
        "groups": [list(group.releases) for group in history.groups],
        "generations": [
            {
                "aspect": generation.aspect.value,
                "label": generation.label,
                "groups": list(generation.groups),
                "level": None if generation.level is None else generation.level.word,
            }
            for generation in history.generations
        ],
        "drifts": [_drift(drift) for drift in history.drifts],
        "claims": _concern(concern),
    }


def document_text(document: dict[str, Any]) -> str:
    """The document as a file's text."""
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def drift_schema() -> dict[str, Any]:
    """The JSON Schema of both documents."""
    return schema_file("drift", VERSION)


def _drift(drift: Drift) -> dict[str, Any]:
    return {
        "old": drift.old,
        "new": drift.new,
        "worst": drift.worst.word,
        "levels": _levels(drift.levels),
        "compared": drift.compared,
        "only_old": drift.only_old,
        "only_new": drift.only_new,
        "changes": [_change(change) for change in drift.changes],
        "notes": list(drift.notes),
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "aspect": change.aspect.value,
        "title": change.title,
        "levels": _levels(change.levels),
        "must": change.must,
        "detail": list(change.detail),
        "table": None
        if change.table is None
        else {"headings": list(change.table.headings), "rows": [list(row) for row in change.table.rows]},
        "evidence": change.evidence,
        "examples": [
            {"id": example.id, "before": _side(example.before), "after": _side(example.after)} for example in change.examples
        ],
    }


def _levels(levels: Levels) -> dict[str, str]:
    return {role.value: levels[role].word for role in Role}


def _side(side: Side | None) -> dict[str, Any] | None:
    return None if side is None else {"text": side.text, "hex": None if side.data is None else side.data.hex()}


def _concern(concern: Concern | None) -> dict[str, Any] | None:
    return None if concern is None else {"sentence": concern.sentence, "level": concern.level.word}
