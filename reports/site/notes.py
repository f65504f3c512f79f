"""What is wrong: findings, lists of known failures, and which of them are about a requirement or a case."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reports.site.documents import document_page, headings
from reports.site.judged import known_page
from reports.site.links import CASE, LABEL, REQUIREMENT, case_place
from reports.site.markdown import Section, Sources, labels, sections
from reports.site.model import Content, Document
from reports.site.rendering import Renderer


def finding_page(name: str) -> str:
    """The page of a document of findings."""
    return f"findings/{name}.html"


def label_places(documents: Sequence[Document]) -> dict[str, str]:
    """Where the numbers of findings are told of; a number that two documents give is nobody's."""
    found: dict[str, set[str]] = {}
    for document in documents:
        for label in labels(document):
            found.setdefault(label, set()).add(f"{finding_page(document.name)}#{label.lower()}")
    return {label: next(iter(places)) for label, places in found.items() if len(places) == 1}


@dataclass(frozen=True)
class Citation:
    """A section of a document of findings."""

    title: str
    document: str
    place: str


@dataclass(frozen=True)
class Citing:
    """Sections of findings by the requirements that they are about: named there, or by a known failure of a case of it."""

    found: Mapping[str, Sequence[Citation]]

    def of(self, requirement: str) -> Sequence[Citation]:
        """Those about a requirement."""
        return self.found.get(requirement, ())

    @classmethod
    def read(cls, content: Content) -> Citing:
        """From the texts of the findings, and from the lists of known failures that give their numbers as reasons."""
        found: dict[str, dict[str, Citation]] = {}
        by_label: dict[str, Citation] = {}
        places = label_places(content.findings)
        by_case = _requirements_of_labels(content)
        for document in content.findings:
            for section in sections(document):
                anchor = f"#{section.anchor}" if section.anchor else ""
                cited = Citation(section.title, document.title, finding_page(document.name) + anchor)
                for word in _named(section, content):
                    found.setdefault(word, {})[cited.place] = cited
                label = section.title.partition(":")[0]
                if label in places:
                    by_label[label] = cited
        for label, place in places.items():
            title = f"{label} of {place.partition('#')[0].removeprefix('findings/').removesuffix('.html')}"
            cited = by_label.get(label) or Citation(label, title, place)
            for requirement in by_case.get(label, ()):
                found.setdefault(requirement, {})[cited.place] = cited
        return cls({requirement: list(cited.values()) for requirement, cited in found.items()})


def _named(section: Section, content: Content) -> Iterator[str]:
    """Requirements that a section names, or whose only cases it names."""
    text = f"{section.title} {section.text}"
    yield from (word for word in REQUIREMENT.findall(text) if word in content.requirements)
    for name in CASE.findall(text):
        if name in content.cases:
            yield from content.cases[name].cites


def _requirements_of_labels(content: Content) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = {}
    for known in content.known:
        for entry in known.entries:
            for label in LABEL.findall(entry.reason.partition(":")[0]):
                for name in entry.cases:
                    found.setdefault(label, set()).update(content.cases[name].cites)
    return found


def pages(content: Content, renderer: Renderer, sources: Sources) -> Iterator[tuple[str, bytes]]:
    """``findings/`` and ``known/``."""
    yield (
        "findings/index.html",
        renderer.page(
            "findings/index.html",
            "findings_index.html.j2",
            title="Findings and known failures",
            section="findings",
            documents=[(document, headings(document)) for document in content.findings],
            known=content.known,
            finding_page=finding_page,
            known_page=known_page,
        ),
    )
    for document in content.findings:
        path = finding_page(document.name)
        yield document_page(document, path, renderer, sources, section="findings", above=("Findings", "findings/index.html"))
    for known in content.known:
        path = known_page(known.name)
        yield (
            path,
            renderer.page(
                path,
                "known.html.j2",
                title=f"Known failures: {known.about}",
                section="findings",
                known=known,
                case_place=case_place,
                is_address=_is_address,
            ),
        )


def _is_address(text: str) -> bool:
    return re.fullmatch(r"https?://[^\s\"<>]+", text) is not None
