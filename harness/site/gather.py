"""Everything that the site shows, from where it is: captures, specification, cases, lists, results files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fixturegen.corpus import captured_releases, load_corpus
from harness.compat.collide import collisions_of
from harness.mutants.mutant import (
    Defect,
    load_all_mutants,
)
from harness.patterns import matches
from harness.requirements import load_requirements, specification
from harness.site.catalogue import all_cases
from harness.site.known import known_lists
from harness.site.measured import compatibility
from harness.usage import UsageError
from harness.version import TOOL_VERSION
from reports.drift.history import history
from reports.drift.observe.observed import Observed, observe
from reports.results import Results, ResultsError, load_results
from reports.site.markdown import title_of
from reports.site.model import Case, Content, Document, Mutant, Requirement
from wire.mp.operations import FIRST_RELEASE
from wire.release import Release


@dataclass(frozen=True)
class Wanted:
    """What the site is to show."""

    releases: Sequence[Release]
    results: Sequence[Path] = ()
    compat: Path | None = None
