"""A bench for programs: JSON of the schema ``bench-v1``, written and read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from reports.bench.model import Bench, Conditions, Figures, Measure, Subject
from reports.results import ResultsError
from reports.schema import fault_of_document, schema_file

SCHEMA_VERSION: Final = 1


def to_json(bench: Bench) -> dict[str, Any]:
    """The whole bench."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool_version": bench.tool_version,
        "started": bench.started,
        "took": bench.took,
        "client": asdict(bench.subject),
        "conditions": asdict(bench.conditions),
        "empty_call": None if bench.empty_call is None else asdict(bench.empty_call),
        "idle_bytes": bench.idle_bytes,
        "peak_bytes": bench.peak_bytes,
        "measures": [{**asdict(measure), "pipe": measure.pipe} for measure in bench.measures],
    }


def to_bytes(bench: Bench) -> bytes:
    """The same as a file."""
    return (json.dumps(to_json(bench), indent=2) + "\n").encode()


def read_bench(path: Path) -> Bench:
    """The bench in a file.

    Raises:
        ResultsError: it holds none.
    """
    try:
        document: Any = json.loads(path.read_bytes())
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read: {error.strerror}; name the bench.json of an 'lmconform bench'") from None
    except (ValueError, RecursionError):
        raise ResultsError(f"{path}: is no JSON; name the bench.json of an 'lmconform bench'") from None
    fault = fault_of_document(document, schema_file("bench", SCHEMA_VERSION))
    if fault is not None:
        raise ResultsError(f"{path}: is no bench.json of version {SCHEMA_VERSION}: {fault}")
    return Bench(
        tool_version=document["tool_version"],
        started=document["started"],
        took=document["took"],
        subject=Subject(**document["client"]),
        conditions=Conditions(**document["conditions"]),
        empty_call=_figures(document["empty_call"]),
        idle_bytes=document["idle_bytes"],
        measures=tuple(map(_measure, document["measures"])),
    )


def _measure(members: Mapping[str, Any]) -> Measure:
    sides = {side: _figures(members[side]) for side in ("client", "floor", "whole")}
    return Measure(**{**{name: value for name, value in members.items() if name != "pipe"}, **sides})


def _figures(members: Mapping[str, Any] | None) -> Figures | None:
    return None if members is None else Figures(**members)
