"""The collisions as a Markdown document and as one HTML file that needs nothing else."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from reports.collisions.harm import MEANINGS, WORDS, Grade, Harm
from reports.collisions.matrix import Collisions
from reports.collisions.wording import FEW_PAIRS, act_lines, met, summary, survival, told, unasked, where
from reports.escape import escape_markdown


def html(result: Collisions) -> str:
    """One HTML file."""
    return _environment(autoescape=True).get_template("collisions.html.j2").render(_view(result))


def markdown(result: Collisions) -> str:
    """A Markdown document."""
    return _environment(autoescape=False).get_template("collisions.md.j2").render(_view(result))


@functools.cache
def _environment(*, autoescape: bool) -> Environment:
    made = Environment(
        loader=PackageLoader("reports.collisions"),
        autoescape=autoescape,  # noqa: S701  # on for HTML; Markdown has a filter of its own
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["md"] = escape_markdown
    return made


def _view(result: Collisions) -> Mapping[str, Any]:
    present = {fate.grade for pair in result.pairs for fate in pair.fates}
    return {
        "result": result,
        "summary": summary(result),
        "pair_of": lambda client, server: result.played[client.newest, server.newest],
        "legend": [
            (Grade(harm, plain), WORDS[harm], MEANINGS[harm])
            for harm in Harm
            for plain in ((True, False) if harm is not Harm.SAME else (True,))
            if Grade(harm, plain) in present
        ],
        "collisions": [
            (found.fate, where(found, result)) for found in result.collisions if found.fate.grade.harm is not Harm.HANGS
        ],
        "told_pairs": [pair for pair in result.pairs if pair.troubles] if len(result.pairs) <= FEW_PAIRS else [],
        "met": met,
        "told": told,
        "unasked": unasked,
        "survival": survival,
        "act_lines": act_lines,
    }
