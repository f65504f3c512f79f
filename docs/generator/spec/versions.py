"""Versions of the specification: what the last one held, and what was added, changed or withdrawn since.

``docs/spec/published.json`` holds, for the last version, a digest of each requirement (level, releases and sentence).
``python -m docs.generator.spec.versions VERSION`` makes what stands now a version.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from docs.generator.links import ROOT
from docs.generator.spec.words import spanned
from docs.generator.table import marked_up, table
from harness.requirements import Requirement, load_requirements

PUBLISHED: Final = ROOT / "docs" / "spec" / "published.json"

WITHDRAWN: Final[Mapping[str, str]] = {}
"""Ids that are given to no requirement any more, with the reason; they are never given again."""


@dataclass(frozen=True)
class Published:
    """The last version."""

    version: str
    requirements: Mapping[str, str]
    """Id to digest."""


def published() -> Published:
    """The last version, as it was written down."""
    held = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    return Published(held["version"], held["requirements"])


def digest(requirement: Requirement) -> str:
    """What a requirement demands, in 16 hexadecimal digits; its reason is no demand."""
    demand = [requirement.level, str(requirement.releases), requirement.statement]
    return hashlib.sha256(json.dumps(demand).encode()).hexdigest()[:16]


def since() -> str:
    """What was added, changed and withdrawn since the last version."""
    return table(("what", "requirement", "level", "releases", "sentence"), _since()) if list(_since()) else "Nothing."


def _since() -> Iterator[tuple[str, ...]]:
    before, now = published().requirements, load_requirements()
    for one in now.values():
        change = "new" if one.id not in before else "changed" if before[one.id] != digest(one) else None
        if change is not None:
            yield change, one.id, one.level, spanned(one.releases), marked_up(one.statement)
    for gone in before:
        if gone not in now:
            yield "withdrawn", gone, "", "", WITHDRAWN.get(gone, "")


def withdrawn() -> str:
    """The ids that are given to nothing any more."""
    return table(("id", "why"), WITHDRAWN.items()) if WITHDRAWN else "None so far."


def version() -> str:
    """The last version and how many requirements it has, in a sentence."""
    held = published()
    return f"The last version is **{held.version}**, of {len(held.requirements)} requirements."


def publish(text: str) -> None:
    """Write down what stands now as a version."""
    held = {"version": text, "requirements": {one.id: digest(one) for one in load_requirements().values()}}
    PUBLISHED.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    publish(sys.argv[1])
