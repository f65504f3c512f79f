"""The search: one index of everything that has a name, read by a few lines of script."""

from __future__ import annotations

from collections.abc import Iterator

from reports.site.judged import known_page
from reports.site.links import case_place, drift_page, requirement_page, spec_page
from reports.site.markdown import sections
from reports.site.model import Content
from reports.site.notes import finding_page
from reports.site.overview import script_data
from reports.site.rendering import Renderer

_TEXT = 240
"""Characters of a section that are searched and shown."""


def pages(content: Content, renderer: Renderer) -> Iterator[tuple[str, bytes]]:
    """``search.html`` and its index."""
    entries = list(_entries(content))
    kinds = list(dict.fromkeys(kind for kind, *_ in entries))
    yield (
        "search.html",
        renderer.page("search.html", "search.html.j2", title="Search", section="search", kinds=kinds, number=len(entries)),
    )
    yield "search.js", f"window.INDEX = {script_data(entries)};\n".encode()


def _entries(content: Content) -> Iterator[tuple[str, str, str, str]]:
    """Kind, name, words, place."""
    for one in content.requirements.values():
        yield "requirement", one.id, _plain(f"{one.level}. {one.statement}"), requirement_page(one.id)
    for case in content.cases.values():
        yield "case", case.name, _plain(case.title), case_place(case.name)
    for document in content.specification:
        for section in sections(document):
            if section.title.partition(" ")[0] not in content.requirements:
                anchor = f"#{section.anchor}" if section.anchor else ""
                yield "specification", section.title, _start(section.text), spec_page(document.name) + anchor
    for document in content.findings:
        for section in sections(document):
            place = finding_page(document.name) + (f"#{section.anchor}" if section.anchor else "")
            yield "finding", section.title, _start(section.text), place
    for known in content.known:
        for entry in known.entries:
            yield "known failure", known.about, entry.reason, f"{known_page(known.name)}#entry-{entry.number}"
    for drift in content.history.boundaries:
        for change in drift.changes:
            yield "change", f"{drift.old} to {drift.new}", change.title, drift_page(drift.new)


def _plain(text: str) -> str:
    """Without the marks of code."""
    return text.replace("`", "")


def _start(text: str) -> str:
    """Whole words from the beginning."""
    return text if len(text) <= _TEXT else f"{text[:_TEXT].rpartition(' ')[0]} ..."
