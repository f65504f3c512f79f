"""The kill matrix for programs; schema ``reports/schemas/mutants-v1.schema.json``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from reports.mutants.model import ExecutionColumn, KillMatrix, Meeting, MutantRow

SCHEMA_VERSION: Final = 1


def to_json(matrix: KillMatrix) -> dict[str, Any]:
    """The whole matrix: ``meetings`` holds every execution that met a mutant, also those that let it pass."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool_version": matrix.tool_version,
        "mode": matrix.mode,
        "releases": list(matrix.releases),
        "targets": list(matrix.targets),
        "all_mutants": matrix.all_mutants,
        "all_cases": matrix.all_cases,
        "seconds": matrix.seconds,
        "jobs": matrix.jobs,
        "shown": matrix.shown,
        "extra_releases": list(matrix.extra_releases),
        "mutants": [_mutant(row) for row in matrix.mutants],
        "executions": [_execution(column) for column in matrix.executions],
        "meetings": [_meeting(meeting) for meeting in matrix.meetings],
        "survivors": [
            {
                "mutant": survivor.mutant,
                "release": survivor.release,
                "met": survivor.met,
                "noises": [_meeting(noise) for noise in survivor.noises],
            }
            for survivor in matrix.survivors
        ],
        "idle": [
            {"case": case.case, "release": case.release, "executions": list(case.executions), "of": case.of}
            for case in matrix.idle
        ],
        "unmet": [{"mutant": row.name, "where": row.where} for row in matrix.unmet],
        "missed": [asdict(missed) for missed in matrix.missed],
        "excused": dict(matrix.excused),
    }


def _mutant(row: MutantRow) -> dict[str, Any]:
    return {name: value for name, value in asdict(row).items() if name != "where"} | {"releases": list(row.releases)}


def _execution(column: ExecutionColumn) -> dict[str, Any]:
    return {name: value for name, value in asdict(column).items() if name != "title"}


def _meeting(meeting: Meeting) -> dict[str, Any]:
    return {**asdict(meeting), "verdict": meeting.verdict.value}
