"""All files of the site, as bytes by path."""

from __future__ import annotations

import functools
import itertools
from importlib import resources
from typing import Final

from reports.drift.page import style as drift_style
from reports.pictures.gallery import GALLERY
from reports.site import catalogue, changes, lm_map, mp_map, norms, notes, overview, searching
from reports.site.judged import all_judged
from reports.site.links import Places, picture_place, spec_file, spec_page
from reports.site.markdown import Sources
from reports.site.model import Content
from reports.site.notes import Citing, finding_page, label_places
from reports.site.rendering import Renderer

_OWN: Final = resources.files("reports")


def build(content: Content) -> dict[str, bytes]:
    """The files; the same content gives the same bytes."""
    places = Places(content.requirements, content.cases, label_places(content.findings))
    renderer = Renderer(places, content.tool_version)
    pages = {document.source: spec_page(document.name) for document in content.specification}
    pages |= {document.source: finding_page(document.name) for document in content.findings}
    pages |= {source: spec_file(source) for source in content.files}
    pages |= {f"docs/pictures/{name}.svg": picture_place(name) for name in GALLERY}
    sources = Sources(pages, places)
    judged = all_judged(content)
    files = {"site.css": _style().encode(), "site.js": _text("site/templates/site.js").encode()}
    files |= {spec_file(source): data for source, data in content.files.items()}
    made = itertools.chain(
        overview.pages(content, renderer),
        changes.pages(content, renderer),
        lm_map.pages(content, renderer),
        mp_map.pages(content, renderer),
        norms.pages(content, renderer, sources, judged, Citing.read(content)),
        catalogue.pages(content, renderer, judged),
        notes.pages(content, renderer, sources),
        searching.pages(content, renderer),
    )
    for path, data in made:
        if path in files:
            raise ValueError(f"two pages are called {path}")
        files[path] = data
    return files


def _style() -> str:
    return "\n".join((_text("theme/theme.css"), drift_style(), _text("site/templates/site.css")))


@functools.cache
def _text(path: str) -> str:
    return _OWN.joinpath(path).read_text("utf-8")
