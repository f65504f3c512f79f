"""What is right: the specification, and a page for each requirement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reports.site.documents import document_page
from reports.site.judged import Judged, Mark
from reports.site.links import requirement_page, spec_file, spec_page
from reports.site.markdown import Sources
from reports.site.model import Case, Content, Document, Known, KnownList, Mutant, Requirement
from reports.site.notes import Citing
from reports.site.rendering import Renderer


@dataclass(frozen=True)
class Listed:
    """A known failure of a requirement's case."""

    known: KnownList
    entry: Known


def pages(
    content: Content, renderer: Renderer, sources: Sources, judged: Sequence[Judged], citing: Citing
) -> Iterator[tuple[str, bytes]]:
    """``spec/``, ``requirements/index.html`` and ``requirements/ID.html``."""
    yield from _specification(content, renderer, sources)
    ordered = list(content.requirements.values())
    yield (
        "requirements/index.html",
        renderer.page(
            "requirements/index.html",
            "requirements.html.j2",
            title="Requirements",
            section="requirements",
            requirements=ordered,
            citing=content.citing,
            documents=list(dict.fromkeys(one.document for one in ordered)),
            requirement_page=requirement_page,
        ),
    )
    for place, one in enumerate(ordered):
        yield requirement_page(one.id), _requirement(content, renderer, judged, citing, ordered, place)


def _specification(content: Content, renderer: Renderer, sources: Sources) -> Iterator[tuple[str, bytes]]:
    of = {document.name: _of(content, document) for document in content.specification}
    yield (
        "spec/index.html",
        renderer.page(
            "spec/index.html",
            "spec_index.html.j2",
            title="Specification",
            section="spec",
            documents=content.specification,
            has_reading=any(document.name == "index" for document in content.specification),
            files=list(map(spec_file, content.files)),
            of=of,
            spec_page=spec_page,
        ),
    )
    for document in content.specification:
        path = spec_page(document.name)
        yield document_page(document, path, renderer, sources, section="spec", above=("Specification", "spec/index.html"))


def _of(content: Content, document: Document) -> list[Requirement]:
    return [one for one in content.requirements.values() if one.document == document.name]


def _requirement(
    content: Content,
    renderer: Renderer,
    judged: Sequence[Judged],
    citing: Citing,
    ordered: Sequence[Requirement],
    place: int,
) -> bytes:
    one = ordered[place]
    cases = content.citing.get(one.id, ())
    path = requirement_page(one.id)
    concerned = [(who, who.of(cases, one.id)) for who in judged]
    concerned = [(who, mark) for who, mark in concerned if mark.letter]
    return renderer.page(
        path,
        "requirement.html.j2",
        title=one.id,
        section="requirements",
        one=one,
        cases=cases,
        concerned=concerned,
        marks=_marks(cases, concerned, one.id),
        listed=_listed(content, cases),
        mutants=_mutants(content, cases),
        findings=citing.of(one.id),
        before=ordered[place - 1].id if place else None,
        after=ordered[place + 1].id if place + 1 < len(ordered) else None,
        requirement_page=requirement_page,
    )


def _marks(cases: Sequence[Case], concerned: Sequence[tuple[Judged, Mark]], requirement: str) -> dict[str, list[Mark]]:
    """Rows of cases, columns of those that were judged."""
    return {case.name: [who.of([case], requirement) for who, _ in concerned] for case in cases}


def _listed(content: Content, cases: Sequence[Case]) -> list[Listed]:
    found: dict[tuple[str, int], Listed] = {}
    for known in content.known:
        for case in cases:
            if known.side in case.runs:
                for entry in known.by_case.get(case.name, ()):
                    found.setdefault((known.name, entry.number), Listed(known, entry))
    return list(found.values())


def _mutants(content: Content, cases: Sequence[Case]) -> list[Mutant]:
    names = {case.name for case in cases}
    return [mutant for mutant in content.mutants if names.intersection(mutant.cases)]
