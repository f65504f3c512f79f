"""The words of a requirement, as reports quote them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reports.record import CaseRecord


@dataclass(frozen=True)
class RequirementText:
    """What a requirement says, how binding it is and why it matters."""

    level: str
    statement: str
    why: str
    url: str | None = None
    """Where it stands in the published specification; None where that is not known."""


def quoted(cases: Iterable[CaseRecord]) -> dict[str, RequirementText]:
    """The requirements that failures quote, by id: all that a results file alone tells."""
    found: dict[str, RequirementText] = {}
    for case in cases:
        told = case.diagnosis
        if told is not None and told.requirement and told.requirement not in found and told.statement:
            found[told.requirement] = RequirementText(told.level or "", told.statement, told.why_it_matters or "")
    return found
