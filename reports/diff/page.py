"""A comparison as Markdown for a comment on a pull request, and as one HTML file that needs nothing else."""

from __future__ import annotations

import functools
import re
from typing import Final

from jinja2 import Environment

from reports.diff.model import Comparison
from reports.diff.view import diff_view, tone_class
from reports.documents import templates
from reports.escape import escape, escape_markdown
from reports.markdown_code import code_cell, code_span

LARGEST: Final = 60_000
"""Characters of the Markdown: a comment on GitHub may have 65,536, and GitLab allows more."""
IN_MARKDOWN: Final = (20, 8, 3, 1, 0)
"""Causes of each kind in Markdown: the first number that fits."""
IN_HTML: Final = 100
TITLE: Final = "Conformance"
MARKER: Final = "lmconform diff"
"""What the marker of a comment begins with."""

_NOT_IN_MARKERS: Final = re.compile(r"[^A-Za-z0-9 ._/+-]|-{2,}")


def html(found: Comparison, title: str = TITLE) -> str:
    """One HTML file."""
    view = diff_view(found, groups=IN_HTML)
    return _templates(html=True).get_template("diff.html.j2").render(view=view, title=title, tone=tone_class(view.headline.tone))


def markdown(found: Comparison, title: str = TITLE) -> str:
    """A Markdown document of at most :data:`LARGEST` characters, which begins with :func:`marker`."""
    template = _templates(html=False).get_template("diff.md.j2")
    text = ""
    for groups in IN_MARKDOWN:
        text = template.render(view=diff_view(found, groups=groups, details=False), title=title, marker=marker(title))
        if len(text) <= LARGEST:
            return text
    return text[: LARGEST - 100] + "\n\nThe rest is left out: the comment is too long.\n"


def marker(title: str = TITLE) -> str:
    """The first line of the Markdown: whoever writes comments finds by it the one to replace."""
    return f"<!-- {MARKER}: {_NOT_IN_MARKERS.sub('_', escape(title))[:100]} -->"


@functools.cache
def _templates(*, html: bool) -> Environment:
    made = templates("reports.diff", html=html)
    made.filters["told"] = lambda text: escape_markdown(text).replace("@", "@<!-- -->")  # which mentions nobody
    made.filters.update(code=code_span, cell=code_cell, words=lambda kind: str(kind).replace("-", " "))
    return made
