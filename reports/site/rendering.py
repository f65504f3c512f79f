"""Renders the pages of the site: templates that know on which page they are, so that every link is relative."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Final

from jinja2 import Environment
from markupsafe import Markup

from reports.documents import templates
from reports.escape import escape
from reports.site.links import Places, relative
from reports.site.markdown import inline, linked_words
from reports.words import count

POLICY: Final = "default-src 'none'; style-src 'self' file: 'unsafe-inline'; script-src 'self' file:; img-src 'self' file: data:"
"""What a page may load: files beside it, also where it is read from disk; pictures inside it bring styles of their own."""

SECTIONS: Final = (
    ("overview", "Overview", "index.html"),
    ("history", "History", "history.html"),
    ("lm", "lm:// map", "lm.html"),
    ("mp", "Multiprocess map", "mp.html"),
    ("spec", "Specification", "spec/index.html"),
    ("requirements", "Requirements", "requirements/index.html"),
    ("cases", "Cases", "cases/index.html"),
    ("coverage", "Coverage", "coverage.html"),
    ("findings", "Findings", "findings/index.html"),
)
"""What stands at the top of every page: key, words, page."""


@dataclass(frozen=True)
class Renderer:
    """Makes pages of templates."""

    places: Places
    tool_version: str

    def page(self, path: str, template: str, *, title: str, section: str, **values: Any) -> bytes:
        """One page. ``section`` is the key of what is marked at its top."""

        def to(place: str) -> str:
            return relative(place, path)

        def words(text: str) -> Markup:
            return Markup(linked_words(escape(text), path, self.places))  # noqa: S704  # it escapes all but its own links

        def line(text: str) -> Markup:
            return Markup(inline(text, path, self.places))  # noqa: S704  # HTML in Markdown is off

        text = (
            _environment()
            .get_template(template)
            .render(
                policy=POLICY,
                title=title,
                section=section,
                sections=SECTIONS,
                tool_version=self.tool_version,
                path=path,
                to=to,
                words=words,
                line=line,
                places=self.places,
                **values,
            )
        )
        return _tidy(text).encode()


def _tidy(text: str) -> str:
    """Without blank lines and blanks at the ends of lines, as far as no text is concerned: blocks of code keep theirs."""
    kept: list[str] = []
    in_code = False
    for line in text.split("\n"):
        if in_code or line.strip():
            kept.append(line if in_code else line.rstrip())
        in_code = (in_code or "<pre" in line) and "</pre>" not in line.rpartition("<pre")[2]
    return "\n".join(kept) + "\n"


@functools.cache
def _environment() -> Environment:
    made = templates("reports.site", html=True)
    made.filters.update(visible=escape, counted=count)
    return made
