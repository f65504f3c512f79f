"""Everything that the site shows, from where it is: captures, specification, cases, lists, results files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import resources
from pathlib import Path
from typing import Final

from fixturegen.corpus import captured_releases, load_corpus
from harness.compat.collide import collisions_of
from harness.mutants.mutant import load_all_mutants
from harness.patterns import literal_start, matches
from harness.requirements import load_requirements
from harness.site.catalogue import all_cases
from harness.site.known import known_lists
from harness.site.measured import compatibility
from harness.usage import UsageError
from harness.version import TOOL_VERSION
from reports.drift.history import history
from reports.drift.observe.observed import Observed, observe
from reports.results import Results, ResultsError, read_results
from reports.site.markdown import title_of
from reports.site.model import Content, Document, Mutant, Requirement
from wire.mp.operations import FIRST_RELEASE
from wire.release import Release

_PACKAGE: Final = Path(__file__).resolve().parents[1]
_FOR_PROGRAMS: Final = ("requirements.json", "machine/*.ksy", "machine/*.lua")
"""Files of the specification that the site hands on as they are."""
_SCHEMA: Final = "schemas/requirements-v1.schema.json"


@dataclass(frozen=True)
class Wanted:
    """What the site is to show."""

    releases: Sequence[Release]
    results: Sequence[Path] = ()
    compat: Path | None = None


def gather(wanted: Wanted, progress: Callable[[str], None] = lambda _: None) -> Content:
    """All of it.

    Raises:
        UsageError: fewer than two releases, or a file that cannot be read.
        CorpusError: captures of a selected release are missing or damaged.
    """
    releases = sorted(wanted.releases)
    if len(releases) < 2:
        raise UsageError("the site compares releases: select two or more with --releases, or 'all'")
    runs = [_results(path) for path in wanted.results]
    compat = compatibility(releases, wanted.compat, progress)
    cases = {case.name: case for case in all_cases()}
    with_mp = [release for release in releases if release >= FIRST_RELEASE]
    return Content(
        tool_version=TOOL_VERSION,
        releases=tuple(map(str, releases)),
        captured=sum(_captured(release) for release in releases),
        compat=compat,
        collisions=collisions_of(with_mp, with_mp),
        history=history([_observed(release) for release in releases]),
        requirements={
            one.id: Requirement(
                id=one.id,
                level=one.level,
                releases=str(one.releases),
                statement=one.statement,
                why=one.why,
                role=one.role,
                untestable=one.untestable,
                document=one.document.removesuffix(".md"),
            )
            for one in load_requirements().values()
        },
        cases=cases,
        mutants=list(_mutants(cases)),
        specification=_documents("spec"),
        files=dict(_for_programs()),
        findings=_documents("findings"),
        known=known_lists(list(cases.values())),
        runs=runs,
    )


def _results(path: Path) -> Results:
    try:
        return read_results(path)
    except ResultsError as error:
        raise UsageError(str(error)) from None


def _observed(release: Release) -> Observed:
    has_mp = release in captured_releases(protocol="mp")
    return observe(load_corpus(release), load_corpus(release, protocol="mp") if has_mp else None)


def _captured(release: Release) -> int:
    """Inputs and conversations of both wires."""
    lm = load_corpus(release)
    found = sum(map(len, lm.vectors.values())) + len(lm.transcripts)
    if release in captured_releases(protocol="mp"):
        mp = load_corpus(release, protocol="mp")
        found += sum(map(len, mp.vectors.values())) + len(mp.mp_transcripts)
    return found


def _mutants(cases: Collection[str]) -> Iterator[Mutant]:
    means: dict[str, set[str]] = {}
    for mutant in sorted(load_all_mutants(), key=lambda one: (one.side, one.name)):
        found: set[str] = set()
        for pattern in {pattern.partition("[")[0] for pattern in mutant.found_by}:
            if pattern not in means:
                start = literal_start(pattern)
                means[pattern] = {name for name in cases if name.startswith(start) and matches(pattern, name)}
            found |= means[pattern]
        yield Mutant(mutant.name, mutant.side, mutant.defect, mutant.stands_for, tuple(name for name in cases if name in found))


def _documents(folder: str) -> list[Document]:
    """The pages of a folder of ``docs``."""
    found = []
    for place, path in _files(folder):
        if path.suffix == ".md":
            text = path.read_text(encoding="utf-8")
            found.append(Document(place.removesuffix(".md"), title_of(text, path.stem), text, f"docs/{folder}/{place}"))
    return found


def _for_programs() -> Iterator[tuple[str, bytes]]:
    """Files that are no pages, by their places in the source tree."""
    for name, path in _files("spec"):
        if any(fnmatch(name, pattern) for pattern in _FOR_PROGRAMS):
            yield f"docs/spec/{name}", path.read_bytes()
    yield f"reports/{_SCHEMA}", resources.files("reports").joinpath(_SCHEMA).read_bytes()


def _files(folder: str) -> list[tuple[str, Path]]:
    """A folder of ``docs``, by names below it: beside this package in the source tree, inside it where it is installed."""
    beside = _PACKAGE.parent / "docs" / folder
    home = beside if beside.is_dir() else _PACKAGE / folder
    return sorted((path.relative_to(home).as_posix(), path) for path in home.rglob("*") if path.is_file())
