"""What the site is made of: values that ``harness.site`` gathers and the pages show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from reports.collisions.matrix import Collisions
from reports.compat.model import CompatResult
from reports.drift.history import History
from reports.results import Results
from reports.side import Side


@dataclass(frozen=True)
class Requirement:
    """One numbered sentence of the specification."""

    id: str
    level: str
    releases: str
    """A range, in words."""
    statement: str
    why: str
    role: Side
    untestable: str | None
    document: str
    """The specification that holds it, such as ``lm``."""


@dataclass(frozen=True)
class Case:
    """One case, without its executions."""

    name: str
    """Such as ``lm.segments.split-header``."""
    title: str
    """Its first sentence."""
    cites: tuple[str, ...]
    runs: tuple[Side, ...]
    """The sides whose runs have it."""
    targets: tuple[str, ...]
    releases: str
    """The range that it is for, in words."""

    @property
    def group(self) -> str:
        """The first part of its name: the page that lists it."""
        return self.name.partition(".")[0]

    @property
    def topic(self) -> str:
        """All of its name but the last part."""
        return self.name.rpartition(".")[0]


@dataclass(frozen=True)
class Mutant:
    """An implementation with one deliberate defect."""

    name: str
    side: Side
    defect: str
    stands_for: str
    cases: tuple[str, ...]
    """Those that are said to find it; the kill matrix proves it."""


@dataclass(frozen=True)
class Document:
    """A page of Markdown."""

    name: str
    """Without ending, such as ``lmcache-client``."""
    title: str
    text: str
    source: str
    """Its place in the source tree, such as ``docs/findings/lmcache-client.md``: relative links start there."""


@dataclass(frozen=True)
class Known:
    """An entry of a list of known failures."""

    number: int
    patterns: tuple[str, ...]
    cases: tuple[str, ...]
    """Names of the cases that the patterns mean."""
    releases: str
    targets: str
    how: str
    """Such as ``fail`` or ``hang``."""
    error: str
    reason: str
    expires: str
    issue: str | None


@dataclass(frozen=True)
class KnownList:
    """What something of lmcache itself is known to fail."""

    name: str
    """As ``--expectations`` takes it."""
    about: str
    """What it is about, such as ``lmcache's own client, lm://``."""
    side: Side
    groups: tuple[str, ...]
    """Groups of the cases that it could fail."""
    entries: tuple[Known, ...]

    @cached_property
    def by_case(self) -> Mapping[str, Sequence[Known]]:
        """Entries by the names of their cases."""
        found: dict[str, list[Known]] = {}
        for entry in self.entries:
            for name in entry.cases:
                found.setdefault(name, []).append(entry)
        return found


@dataclass(frozen=True)
class Content:
    """Everything."""

    tool_version: str
    releases: tuple[str, ...]
    """Oldest first."""
    captured: int
    """How many inputs and conversations the captures hold."""
    compat: CompatResult
    collisions: Collisions
    """Of the releases that have the multiprocess server."""
    history: History
    requirements: Mapping[str, Requirement]
    cases: Mapping[str, Case]
    mutants: Sequence[Mutant]
    specification: Sequence[Document]
    findings: Sequence[Document]
    known: Sequence[KnownList]
    files: Mapping[str, bytes] = field(default_factory=dict)
    """What the specification has for programs, by its place in the source tree."""
    runs: Sequence[Results] = ()

    @cached_property
    def citing(self) -> Mapping[str, Sequence[Case]]:
        """Cases by the requirements that they cite."""
        found: dict[str, list[Case]] = {}
        for case in self.cases.values():
            for cited in case.cites:
                found.setdefault(cited, []).append(case)
        return found
