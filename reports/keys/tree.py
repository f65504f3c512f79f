"""The record of ``lmconform keys`` as JSON."""

from __future__ import annotations

from typing import Any, Final

from reports.keys.record import Cause, Comparison, Explanation, KeysReport
from wire.keys import ChunkHash

VERSION: Final = 1
"""Raised when a member changes its meaning or goes away."""

JsonObject = dict[str, Any]


def keys_tree(report: KeysReport) -> JsonObject:
    """The report as a JSON object; hashes are texts, because not every reader holds 64-bit integers."""
    return {
        "version": VERSION,
        "deployment": dict(report.deployment),
        "assumptions": list(report.assumptions),
        "hash_function": report.function,
        "hash_function_note": report.function_note,
        "none_hash": None if report.none_hash is None else hash_tree(report.none_hash),
        "none_hash_note": report.none_hash_note,
        "tokens": report.tokens,
        "chunks": [
            {"start": row.start, "end": row.end, "hash": hash_tree(row.chunk_hash), "key": row.key} for row in report.rows
        ],
        "no_keys": report.no_keys,
        "portability": [
            {"axis": reach.axis, "carries": reach.carries, "where": reach.where, "because": list(reach.because)}
            for reach in report.reach
        ],
        "findings": [
            {
                "id": finding.id,
                "title": finding.title,
                "explanation": finding.explanation,
                "action": finding.action,
                "breaks": list(finding.breaks),
            }
            for finding in report.findings
        ],
        "comparison": None if report.comparison is None else _comparison(report.comparison),
    }


def hash_tree(value: ChunkHash) -> JsonObject:
    """A hash in the form of the client protocol: one member, ``int``, ``bytes`` or ``text``."""
    if isinstance(value, int):
        return {"int": str(value)}
    return {"bytes": value.hex()} if isinstance(value, bytes) else {"text": value}


def _comparison(found: Comparison) -> JsonObject:
    return {
        "expected": list(found.expected),
        "matches": found.matches,
        "explains": found.covers,
        "explanations": [_explanation(explanation) for explanation in found.explanations],
        "parts": [{"name": part.name, "here": part.here, "there": part.there, "verdict": part.verdict} for part in found.parts],
        "identity": [_cause(cause) for cause in found.identity],
        "tried": {"sets": list(found.tried), "chains": found.chains, "limits": list(found.limits)},
        "ruled_out": list(found.ruled_out),
        "check_next": list(found.check_next),
    }


def _explanation(explanation: Explanation) -> JsonObject:
    return {
        "causes": [_cause(cause) for cause in explanation.causes],
        "also": [[_cause(cause) for cause in causes] for causes in explanation.also],
        "chunks": [{"index": chunk.index, "start": chunk.start, "end": chunk.end} for chunk in explanation.chunks],
    }


def _cause(cause: Cause) -> JsonObject:
    return {"id": cause.id, "value": cause.value, "sentence": cause.sentence, "action": cause.action}
