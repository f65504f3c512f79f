"""Pages that are documents of the tree."""

from __future__ import annotations

from markupsafe import Markup

from reports.site.markdown import Section, Sources, rendered, sections
from reports.site.model import Document
from reports.site.rendering import Renderer


def document_page(
    document: Document, path: str, renderer: Renderer, sources: Sources, *, section: str, above: tuple[str, str]
) -> tuple[str, bytes]:
    """The page of a document at a path; ``above`` is the title and the path of what leads to it."""
    page = renderer.page(
        path,
        "document.html.j2",
        title=document.title,
        section=section,
        crumb=above,
        body=Markup(rendered(document, path, sources)),  # noqa: S704  # HTML in Markdown is off
        contents=headings(document),
    )
    return path, page


def headings(document: Document) -> list[Section]:
    """What the page of a document lists at its beginning."""
    return [found for found in sections(document) if found.level == 2]
