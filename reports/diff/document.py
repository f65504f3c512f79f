"""A comparison for programs: JSON of the schema ``diff-v1``."""

from __future__ import annotations

import json
from collections.abc import Set as AbstractSet
from typing import Any, Final

from reports.diff.kinds import Kind
from reports.diff.model import Change, Comparison, Run
from reports.diff.verdict import exit_code, headline_of
from reports.plain import JsonObject
from reports.record import CaseRecord
from reports.schema import schema_file

SCHEMA_VERSION: Final = 1


def to_json(found: Comparison, fail_on: AbstractSet[Kind]) -> JsonObject:
    """Everything that changed, one by one."""
    return {
        "schema_version": SCHEMA_VERSION,
        "old": _run(found.old),
        "new": _run(found.new),
        "releases": None if found.releases is None else {"old": found.releases.old, "new": found.releases.new},
        "verdict": headline_of(found).word.lower().replace(" ", "-"),
        "exit_code": int(exit_code(found, fail_on)),
        "fail_on": sorted(fail_on),
        "notes": list(found.notes),
        "faults": list(found.faults),
        "counts": {str(kind): number for kind, number in found.counts.items()},
        "unchanged": {str(state): number for state, number in found.same.items()},
        "changes": [_change(change) for change in found.changes],
    }


def dumps(found: Comparison, fail_on: AbstractSet[Kind]) -> str:
    """The document as text in ASCII."""
    return json.dumps(to_json(found, fail_on), indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def diff_schema() -> dict[str, Any]:
    """Its JSON schema."""
    return schema_file("diff", SCHEMA_VERSION)


def _run(run: Run) -> JsonObject:
    results = run.results
    return {
        "name": run.name,
        "side": results.header.side,
        "client": results.header.client.to_json(),
        "releases": list(results.header.releases),
        "targets": list(results.header.targets),
        "started": results.header.started,
        "tool_version": results.header.tool_version,
        "cases": len(results.cases),
        "incomplete": results.incomplete,
    }


def _change(change: Change) -> JsonObject:
    case = change.case
    return {
        "kind": str(change.kind),
        "id": case.id,
        "case": case.name,
        "release": case.release,
        "target": case.target,
        "variant": case.variant,
        "note": change.note,
        "old": _record(change.old),
        "new": _record(change.new),
    }


def _record(case: CaseRecord | None) -> JsonObject | None:
    if case is None:
        return None
    diagnosis = case.diagnosis
    return {
        "id": case.id,
        "verdict": case.verdict.value,
        "message": diagnosis.summary if diagnosis is not None else case.reason,
        "requirement": diagnosis.requirement if diagnosis is not None else None,
        "level": diagnosis.level if diagnosis is not None else None,
        "rerun": diagnosis.rerun if diagnosis is not None else None,
    }
