"""What a format may need beside the results themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reports.bench.model import Bench
from reports.requirement_text import RequirementText


@dataclass(frozen=True)
class Place:
    """A line of a file, which is named as seen from the root of the tree that findings are about."""

    file: str
    line: int = 1


@dataclass(frozen=True)
class Context:
    """Where the results lie, and what the user chose."""

    records: str = "results.jsonl"
    """The results file, as seen from the root of the tree."""
    requirements: Mapping[str, RequirementText] = field(default_factory=dict)
    """Requirements by id; of one that is not here, only what the diagnosis of a case says is known."""
    place: Place | None = None
    """Where findings are to be shown; None for their records."""
    label: str | None = None
    """The left side of a badge."""
    bench: Bench | None = None
    """How fast the client is, for the page."""
