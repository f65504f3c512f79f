"""All cases of a run as compact JSON, from which the page lists them: what many cases share is written once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from markupsafe import Markup

from reports.escape import escape
from reports.plain import clip
from reports.record import CaseRecord
from reports.requirement_text import RequirementText
from reports.results import Results
from reports.run.tones import TONES
from reports.verdict import SKIPPED, Verdict

TEXT: Final = 240
"""Characters of a reason."""
STATEMENT: Final = 600


@dataclass
class _Table:
    """Things that many cases share, each once, by its place."""

    places: dict[Any, int] = field(default_factory=dict)

    def place(self, thing: Any) -> int:
        return self.places.setdefault(thing, len(self.places))

    def rows(self) -> list[Any]:
        return list(self.places)


def case_data(results: Results, causes: Mapping[str, int], texts: Mapping[str, RequirementText]) -> dict[str, Any]:
    """Every case, and the tables that its numbers point into; ``causes`` is the group of failures of a case by its id.

    A case is ``[name, column, variant, verdict, milliseconds, reason, cause]``, with -1 for what it does not have.
    """
    names, columns, variants, reasons, requirements = (_Table() for _ in range(5))
    rows: list[list[int]] = []
    odd: dict[str, str] = {}
    for case in results.cases:
        cited = tuple(requirements.place(name) for name in case.requirements)
        variant = case.variant
        why = _why(case)
        rows.append(
            [
                names.place((case.topic, case.case, case.title, cited, case.judges)),
                columns.place((case.release, case.target)),
                -1 if variant is None else variants.place(variant),
                _VERDICTS[case.verdict],
                round(case.seconds * 1000),
                reasons.place(why) if why else -1,
                causes.get(case.id, -1),
            ]
        )
        if case.id != f"{case.name}[{case.column}{'' if variant is None else f'-{variant}'}]":
            odd[str(len(rows) - 1)] = escape(case.id)
    return {
        "side": results.header.side,
        "releases": [escape(release) for release in results.header.releases],
        "verdicts": [[verdict.value, TONES[verdict], _needs_a_look(verdict)] for verdict in Verdict],
        "names": [
            [escape(topic), escape(name), escape(clip(title, TEXT)), list(cited), judges]
            for topic, name, title, cited, judges in names.rows()
        ],
        "columns": [[escape(release), escape(target)] for release, target in columns.rows()],
        "variants": [escape(variant) for variant in variants.rows()],
        "reasons": [escape(reason) for reason in reasons.rows()],
        "requirements": [_requirement(name, texts.get(name)) for name in requirements.rows()],
        "cases": rows,
        "ids": odd,
    }


def script_json(data: object) -> Markup:
    """The data as JSON in which no reader of HTML finds the begin or the end of anything: no ``<``, and ASCII alone."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return Markup(text)  # noqa: S704  # nothing in it can end the element that holds it


def _needs_a_look(verdict: Verdict) -> int:
    return int(verdict is not Verdict.PASS and verdict not in SKIPPED)


def _why(case: CaseRecord) -> str:
    if case.verdict is Verdict.PASS:
        return clip(case.reason or "", TEXT)
    operation = f"{case.operation}: " if case.operation and case.verdict is Verdict.UNSUPPORTED else ""
    return operation + clip(case.why, TEXT)


def _requirement(name: str, text: RequirementText | None) -> list[str]:
    if text is None:
        return [escape(name)]
    return [escape(name), text.level, escape(clip(text.statement, STATEMENT)), escape(clip(text.why, STATEMENT))]


_VERDICTS: Final = {verdict: place for place, verdict in enumerate(Verdict)}
