"""``docs/spec/requirements.json``: all requirements for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from docs.generator.links import ROOT, slug
from docs.generator.requirements import citing_cases
from docs.generator.spec.versions import published
from harness.requirements import Requirement, load_requirements
from wire.release import KNOWN_RELEASES, Release

SCHEMA: Final = "reports/schemas/requirements-v1.schema.json"
_HEADING: Final = re.compile(r"^### (\S+)(.*)$", re.MULTILINE)


def document() -> str:
    """The whole file."""
    requirements = load_requirements()
    citing = citing_cases()
    headings: dict[str, str] = {}
    for page in dict.fromkeys(one.document for one in requirements.values()):
        headings |= dict(_HEADING.findall((ROOT / "docs" / "spec" / page).read_text(encoding="utf-8")))
    held = {
        "schema_version": 1,
        "specification": published().version,
        "known_releases": list(KNOWN_RELEASES),
        "requirements": [_entry(one, headings[one.id], citing.get(one.id, ())) for one in requirements.values()],
    }
    return json.dumps(held, indent=1, ensure_ascii=False) + "\n"


def _entry(one: Requirement, heading: str, cases: Sequence[str]) -> Mapping[str, Any]:
    return {
        "id": one.id,
        "level": one.level,
        "role": one.role,
        "releases": heading.rpartition(" · ")[2],
        "first": str(one.releases.first),
        "last": None if one.releases.last is None else str(one.releases.last),
        "known": list(_known(one)),
        "sentence": one.statement,
        "reason": one.why,
        "untestable": one.untestable,
        "page": one.document,
        "anchor": slug(one.id + heading),
        "stable_anchor": one.id.lower(),
        "cases": list(cases),
    }


def _known(one: Requirement) -> Iterator[str]:
    """The known releases that a requirement holds for."""
    return (text for text in KNOWN_RELEASES if Release.parse(text) in one.releases)
