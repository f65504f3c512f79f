"""What a case is: a test function with a decorator that says what it cites, where it runs and what it needs.

A case module is named after its topic, and the case after its function: ``cases/lm/test_get.py`` and
``test_partial_header`` make ``lm.get.partial-header[0.5.6-mock]``. The docstring is the published description.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final, Literal, TypeVar

import pytest

from fixturegen.corpus import Corpus, captured_releases, load_corpus
from fixturegen.vector import Vector
from harness.l2.contract import KEYS
from harness.remote.contract import PARTS as REMOTE_PARTS
from reports.side import Side
from wire.lm.profile import lm_profile
from wire.release import RangeTable, Release, ReleaseRange

TargetName = Literal["fixtures", "mock", "live", "alone"]
TARGETS: Final[tuple[TargetName, ...]] = ("fixtures", "mock", "live", "alone")
"""What a case runs against. ``alone`` are plugins and connectors in a process of their own, without any server."""
FIXTURES: Final[tuple[TargetName, ...]] = ("fixtures",)
MOCK: Final[tuple[TargetName, ...]] = ("mock",)
SERVERS: Final[tuple[TargetName, ...]] = ("mock", "live")
ALONE: Final[tuple[TargetName, ...]] = ("alone",)
SPEC_ATTRIBUTE: Final = "lmconform_case"
MP_PREFIX: Final = "mp_"
"""Operations of the multiprocess server's wire begin with it, in the contract and in the corpus."""

OnceFor = Literal["release", "frames", "contract"]
CONTRACTS: Final[tuple[RangeTable[Any], ...]] = (KEYS, *REMOTE_PARTS)
"""What releases ask of plugins and connectors, as range tables."""

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Variant:
    """One of several values that a case runs over: a vector, or a parameter."""

    id: str
    value: Any


Variants = Callable[[Release], Sequence[Variant]]


@dataclass(frozen=True)
class CaseSpec:
    """What the decorator said."""

    cites: tuple[str, ...]
    targets: tuple[TargetName, ...]
    needs: tuple[str, ...]
    releases: ReleaseRange
    variants: Variants | None
    judges: Side
    """Who pays for a failure."""
    once_for: OnceFor = "release"
    own_server: bool = False
    """It does something to a server that the user of another one would not like."""
    runs: tuple[Side, ...] = ("client",)
    """The sides whose runs it is in."""
    ends_servers: bool = False
    """A server may not survive it, and is started again then."""

    @property
    def needs_own_server(self) -> bool:
        """Whether a live server must be one that we started: captured conversations store under keys of their own.

        Every other case stores under model names that begin with ``lmconform/``, so that it can run on a server of the user.
        """
        return self.own_server or self.variants in {transcripts, mp_transcripts}


@dataclass(frozen=True)
class Cell:
    """One execution of a case: a release, a target and perhaps a variant."""

    release: Release
    target: TargetName
    variant: Variant | None = None

    @property
    def id(self) -> str:
        """What stands in brackets behind the case's name."""
        base = f"{self.release}-{self.target}"
        return base if self.variant is None else f"{base}-{self.variant.id}"


def case(
    *cites: str,
    targets: tuple[TargetName, ...] = FIXTURES,
    needs: tuple[str, ...] = (),
    releases: str = "all",
    variants: Variants | None = None,
    judges: Side = "client",
    runs: tuple[Side, ...] | None = None,
    once_for: OnceFor = "release",
    own_server: bool = False,
    ends_servers: bool = False,
) -> Callable[[Function], Function]:
    """Make a test function a case.

    ``cites`` are requirement ids; one whose release range does not cover the release is left out of that record. ``needs`` are
    the client operations without which the case says nothing, and ``CONCURRENT`` where it has several under way at once.
    ``judges`` says who pays for a failure. ``runs`` names the sides whose runs have the case; without it a case that judges a
    server is in runs of clients, where it compares mock and live server with captures, and every other in those of its own side.
    A slow case may run ``once_for="frames"``: of the selected releases whose frames are the same, in the newest; or for
    ``"contract"``: likewise where what the release asks of plugins or connectors is the same. ``own_server`` keeps it from live
    servers of the user: it clears or restarts one. After one that ``ends_servers`` a live server may have to be started again.
    """
    if not cites:
        raise ValueError("a case cites at least one requirement")

    def decorate(function: Function) -> Function:
        if not inspect.getdoc(function):
            raise ValueError(f"case {function.__name__} has no docstring; it is the published description")
        sides = runs if runs is not None else ("client",) if judges == "server" else (judges,)
        spec = CaseSpec(
            cites, targets, needs, ReleaseRange.parse(releases), variants, judges, once_for, own_server, sides, ends_servers
        )
        setattr(function, SPEC_ATTRIBUTE, spec)
        marked: Function = pytest.mark.conformance(function)
        return marked

    return decorate


def spec_of(function: Any) -> CaseSpec | None:
    """The decorator's words, or None for a plain test."""
    found: CaseSpec | None = getattr(function, SPEC_ATTRIBUTE, None)
    return found


def cells(spec: CaseSpec, releases: Sequence[Release], targets: Sequence[TargetName]) -> Iterator[Cell]:
    """Every execution of a case under a selection."""
    covered = [release for release in releases if release in spec.releases]
    for release in _NEWEST_OF_EACH[spec.once_for](covered):
        variants: Sequence[Variant | None] = spec.variants(release) if spec.variants is not None else [None]
        for target in targets:
            if target in spec.targets:
                yield from (Cell(release, target, variant) for variant in variants)


def newest_of_each_frame(releases: Sequence[Release]) -> list[Release]:
    """Of releases with the same headers, read with the same rigour, the newest; in the order in which they were given."""
    return _newest_of_each(releases, lambda release: (lm_profile(release).header, lm_profile(release).strict_enums))


def newest_of_each_contract(releases: Sequence[Release]) -> list[Release]:
    """Of releases that ask the same of plugins and connectors, the newest; in the order in which they were given."""
    return _newest_of_each(releases, lambda release: tuple(table[release] for table in CONTRACTS))


def _newest_of_each(releases: Sequence[Release], what: Callable[[Release], object]) -> list[Release]:
    newest = {what(release): release for release in sorted(releases)}
    return [release for release in releases if release in newest.values()]


_NEWEST_OF_EACH: Final[dict[OnceFor, Callable[[Sequence[Release]], Sequence[Release]]]] = {
    "release": lambda releases: releases,
    "frames": newest_of_each_frame,
    "contract": newest_of_each_contract,
}


@functools.lru_cache(maxsize=256)
def topic_of(path: PurePath) -> str:
    """``lm.get`` for ``.../cases/lm/test_get.py``."""
    parts = path.with_suffix("").parts
    start = len(parts) - 1 - parts[::-1].index("cases") if "cases" in parts else len(parts) - 2
    return ".".join([*parts[start + 1 : -1], parts[-1].removeprefix("test_").replace("_", "-")])


@functools.lru_cache(maxsize=1024)
def case_name(function_name: str) -> str:
    """``partial-header`` for ``test_partial_header``."""
    return function_name.removeprefix("test_").replace("_", "-")


def vectors(op: str, where: Callable[[Vector], bool] = lambda _: True) -> Variants:
    """Variants: the corpus vectors of an operation that fulfil a condition; none where the operation is not captured."""

    def chosen(release: Release) -> list[Variant]:
        corpus = corpus_of(release, "mp" if op.startswith(MP_PREFIX) else "lm")
        found = corpus.vectors.get(op, ()) if corpus is not None else ()
        return [Variant(vector.id, vector) for vector in found if where(vector)]

    return chosen


def corpus_of(release: Release, protocol: Literal["lm", "mp"]) -> Corpus | None:
    """The captures of a wire; None where there are none of the multiprocess server's.

    Raises:
        CorpusError: they are damaged, or there are none of ``lm``.
    """
    if protocol == "mp" and release not in captured_releases(protocol="mp"):
        return None
    return load_corpus(release, protocol=protocol)


def answered(op: str, where: Callable[[Vector], bool] = lambda _: True) -> Variants:
    """Variants: the vectors that the real lmcache answered."""
    return vectors(op, lambda vector: vector.ok is not None and where(vector))


def refused(op: str, where: Callable[[Vector], bool] = lambda _: True) -> Variants:
    """Variants: the vectors that the real lmcache refused."""
    return vectors(op, lambda vector: vector.ok is None and where(vector))


def transcripts(release: Release) -> list[Variant]:
    """Variants: the conversations captured from the real server."""
    return [Variant(transcript.id, transcript) for transcript in load_corpus(release).transcripts]


def mp_transcripts(release: Release) -> list[Variant]:
    """Variants: the conversations captured from the real multiprocess server."""
    corpus = corpus_of(release, "mp")
    return [Variant(transcript.id, transcript) for transcript in corpus.mp_transcripts] if corpus is not None else []


def parameters(*values: Any, name: Callable[[Any], str] = str) -> Variants:
    """Variants: the same values for every release."""
    found = [Variant(name(value), value) for value in values]
    return lambda _: found
