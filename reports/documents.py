"""Documents from templates: those of a package, as Markdown or as HTML."""

from __future__ import annotations

import functools

from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined

from reports.escape import escape_markdown, visible


@functools.cache
def templates(package: str, *, html: bool) -> Environment:
    """The templates in the folder of a package; in HTML every value is escaped, in Markdown those with the filter ``md``.

    The filter ``visible`` shows text from outside so that nothing in it acts, on as many lines as it has.
    Pages extend ``theme/base.html.j2``, which gives them one look; it is beside ``theme/theme.css`` in ``reports/theme``.
    """
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package), PrefixLoader({"theme": PackageLoader("reports", "theme")})]),
        autoescape=html,  # noqa: S701  # on for HTML; Markdown has a filter of its own
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(md=escape_markdown, visible=visible)
    return made
