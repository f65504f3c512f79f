"""The page of all requirements with the cases that cite them."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Final

import cases
from docs.generator.links import ROOT, slug
from docs.generator.spec.versions import published
from docs.generator.table import cell, marked_up, table
from harness.case import case_name, spec_of, topic_of
from harness.requirements import Requirement, load_requirements

_INTRODUCTION: Final = """\
# Requirements and cases

Every numbered requirement of the specification, and the cases that cite it. A failure names the requirement that is
broken; `--only` takes the name of a case, as in `lmconform run --only lm.segments.split-header`, and `lmconform list`
says in a sentence what each case checks.

{count} requirements, {cases} cases. A requirement without a case says why none can check it. The last
[version of the specification](../spec/changes.md) is {version}."""

_HEADING: Final = re.compile(r"^### (\S+)(.*)$", re.MULTILINE)
_HEAD: Final = ("requirement", "level", "releases", "sentence", "cases")


def page() -> str:
    """The whole page."""
    requirements = load_requirements()
    citing = citing_cases()
    names = {name for found in citing.values() for name in found}
    parts = [_INTRODUCTION.format(count=len(requirements), cases=len(names), version=published().version)]
    for document in dict.fromkeys(one.document for one in requirements.values()):
        chosen = [one for one in requirements.values() if one.document == document]
        parts += [f"## {document.removesuffix('.md')}", table(_HEAD, _rows(chosen, citing))]
    return "\n\n".join(parts) + "\n"


def _rows(requirements: Sequence[Requirement], citing: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, ...]]:
    headings = dict(_HEADING.findall((ROOT / "docs" / "spec" / requirements[0].document).read_text(encoding="utf-8")))
    for one in requirements:
        level_and_releases = headings[one.id]
        where = ", ".join(f"`{name}`" for name in citing[one.id])
        yield (
            f'<a id="{one.id.lower()}"></a>[{one.id}](../spec/{one.document}#{slug(one.id + level_and_releases)})',
            one.level,
            level_and_releases.rpartition(" · ")[2],
            marked_up(one.statement),
            where or f"none: {cell(one.untestable or '')}",
        )


def citing_cases() -> Mapping[str, list[str]]:
    """The names of the cases that cite each requirement."""
    found: dict[str, list[str]] = defaultdict(list)
    for module in pkgutil.walk_packages(cases.__path__, "cases."):
        if module.name.rpartition(".")[2].startswith("test_"):
            loaded = importlib.import_module(module.name)
            for name, value in vars(loaded).items():
                spec = spec_of(value)
                if spec is not None and value.__module__ == module.name:
                    for cited in spec.cites:
                        found[cited].append(f"{topic_of(PurePath(loaded.__file__ or ''))}.{case_name(name)}")
    return found
