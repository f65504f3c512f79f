"""The record of ``lmconform keys``: the keys of a deployment, how far they carry, and why an expected key is none of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wire.keys import ChunkHash
from wire.portability import Finding
from wire.reach import Reach


@dataclass(frozen=True)
class KeyRow:
    """One chunk."""

    start: int
    end: int
    chunk_hash: ChunkHash
    key: str | None
    """None: the release cannot write it."""


@dataclass(frozen=True)
class Cause:
    """One thing in which the place that an expected key comes from differs from the deployment."""

    id: str
    sentence: str
    action: str
    value: str | None = None
    """What it is there: a seed, a chunk size, a range of releases."""


@dataclass(frozen=True)
class NamedChunk:
    """The chunk that an expected key names, and its tokens."""

    index: int
    start: int
    end: int


@dataclass(frozen=True)
class Explanation:
    """Causes that together turn a key of the deployment into the expected one."""

    causes: tuple[Cause, ...]
    also: tuple[tuple[Cause, ...], ...] = ()
    """Other causes that give the same keys, whatever the tokens."""
    chunks: tuple[NamedChunk, ...] = ()
    """One for each expected key."""


@dataclass(frozen=True)
class PartRow:
    """One part of the expected key that can be read, beside that of the deployment."""

    name: str
    here: str | None
    there: str | None
    verdict: str
    """``same``, ``differs`` or ``not given``."""


@dataclass(frozen=True)
class Comparison:
    """Expected keys, and why they are not those of the deployment."""

    expected: tuple[str, ...]
    explanations: tuple[Explanation, ...]
    """The smallest, all of one size. One without causes: the keys are those of the deployment."""
    parts: tuple[PartRow, ...]
    covers: int
    """How many of the expected keys the explanations explain."""
    identity: tuple[Cause, ...]
    """Differences that can be read in the key, whether the hash is explained or not."""
    tried: tuple[int, ...]
    """How many sets of no cause, of one, of two and of three were tried."""
    chains: int
    """How many different chains were computed for that."""
    limits: tuple[str, ...]
    ruled_out: tuple[str, ...]
    check_next: tuple[str, ...]

    @property
    def explained(self) -> bool:
        """Every expected key is."""
        return bool(self.explanations) and self.covers == len(self.expected)

    @property
    def matches(self) -> bool:
        """The expected keys are keys of the deployment."""
        return self.explained and not self.explanations[0].causes


@dataclass(frozen=True)
class KeysReport:
    """All that ``lmconform keys`` has to say."""

    deployment: Mapping[str, str | int | bool | None]
    """What was said about the deployment, and the defaults of the release for what was not."""
    settings: Sequence[tuple[str, str]]
    """The same in words."""
    assumptions: tuple[str, ...]
    """Versions of which nothing is known here, and what they are taken for."""
    function: str
    function_note: str
    none_hash: ChunkHash | None
    """None: random."""
    none_hash_note: str
    tokens: int
    rows: tuple[KeyRow, ...]
    no_keys: str | None
    """Why there are no keys, or none that can be given."""
    findings: tuple[Finding, ...]
    reach: tuple[Reach, ...]
    comparison: Comparison | None = None
