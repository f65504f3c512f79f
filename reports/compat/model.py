"""The result of playing clients of some releases against servers of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from reports.compat.outcome import Grade, Outcome, worst

Part = Literal["talk", "share"]
"""The two questions: can a client be served, and does an engine of the server's release find what the client stored."""
PARTS: Final[tuple[Part, ...]] = ("talk", "share")

KEPT: Final = 256
"""Bytes kept of what was sent or came; real headers are shorter."""


@dataclass(frozen=True)
class Exchange:
    """One request and what came back, as the side that asked saw it."""

    by: Literal["client", "engine"]
    """``client`` speaks the client's release; ``engine``, in the question of sharing, the server's own."""
    request: str
    """Such as ``PUT`` or ``GET``."""
    sent: bytes
    """The request header, without the payload of a PUT."""
    payload: int
    """Bytes that followed the header."""
    wanted: int
    """Bytes of reply that the side that asked waited for; more where a header promised them."""
    got: bytes
    """The first bytes that came."""
    received: int
    """How many came."""
    ending: Literal["answered", "silence", "closed"]


@dataclass(frozen=True)
class Evidence:
    """What shows a finding: the conversation up to where it went wrong, and captures that say the same without a server."""

    exchanges: tuple[Exchange, ...] = ()
    captured: tuple[tuple[str, str], ...] = ()
    """What a capture is about, and what it says."""


@dataclass(frozen=True)
class Finding:
    """One way in which a cell is not ok, and all that it strikes."""

    part: Part
    grade: Grade
    reason: str
    """A sentence that names no release and no key of its own, so that equal reasons of many cells are equal texts."""
    struck: tuple[str, ...]
    """The questions that ended so, such as ``value KV_2LTD float16`` or ``key layer-0``."""
    evidence: Evidence

    @property
    def signature(self) -> tuple[Part, Grade, str]:
        """What two findings have in common that are the same trouble."""
        return self.part, self.grade, self.reason


@dataclass(frozen=True)
class Cell:
    """A client of one release against a server of another."""

    client: str
    server: str
    findings: tuple[Finding, ...] = ()
    questions: int = 0
    """How many were asked."""
    derived_from: tuple[str, str] | None = None
    """Client and server that were played in their place; None: played themselves."""
    problem: str | None = None
    """Why it was not run."""

    @property
    def state(self) -> Literal["run", "derived", "not-run"]:
        """How the answer was found."""
        if self.problem is not None:
            return "not-run"
        return "run" if self.derived_from is None else "derived"

    @property
    def grade(self) -> Grade:
        """The worse of the two answers."""
        if self.problem is not None:
            return Grade(Outcome.NOT_RUN)
        return worst(finding.grade for finding in self.findings)

    def grade_of(self, part: Part) -> Grade:
        """One of the two answers."""
        if self.problem is not None:
            return Grade(Outcome.NOT_RUN)
        return worst(finding.grade for finding in self.findings if finding.part == part)

    @property
    def signature(self) -> tuple[object, ...]:
        """Equal for cells that say the same, however they came to be."""
        if self.problem is not None:
            return ("not-run", self.problem)
        return tuple(sorted((finding.part, finding.grade.rank, finding.reason) for finding in self.findings))

    @property
    def reasons(self) -> list[Finding]:
        """The findings, worst first."""
        return sorted(self.findings, key=lambda finding: (finding.grade.rank, finding.part != "talk", finding.reason))


@dataclass(frozen=True)
class CompatResult:
    """The whole matrix. Every client has a cell with every server."""

    tool_version: str
    started: str
    seconds: float
    target: str
    """``live``, the real servers, or ``mock``."""
    runtime: str | None
    """Where the real servers ran; None for mocks."""
    corpus: str
    """One hash over the captures."""
    clients: tuple[str, ...]
    servers: tuple[str, ...]
    cells: Mapping[tuple[str, str], Cell]
    same_client: Sequence[Sequence[str]] = field(default_factory=tuple)
    """Releases whose captured frames and keys are byte-identical."""
    same_server: Sequence[Sequence[str]] = field(default_factory=tuple)
    """Releases whose captured conversations are byte-identical, and whose frames and keys are."""

    def cell(self, client: str, server: str) -> Cell:
        """One cell."""
        return self.cells[client, server]

    def count(self, state: Literal["run", "derived", "not-run"]) -> int:
        """How many cells were found in a way."""
        return sum(cell.state == state for cell in self.cells.values())
