"""What a format may need beside the results themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Rule:
    """A requirement of the specification, as far as a reader of findings wants to know it."""

    id: str
    level: str
    """MUST, SHOULD or MAY."""
    statement: str
    why: str
    url: str | None = None
    """Where it stands in the published specification; None where that is not known."""


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
    rules: Mapping[str, Rule] = field(default_factory=dict)
    """Requirements by id; of one that is not here, only what the diagnosis of a case says is known."""
    place: Place | None = None
    """Where findings are to be shown; None for their records."""
    label: str | None = None
    """The left side of a badge."""
