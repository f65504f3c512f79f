"""The collisions as a Markdown document and as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.collisions.harm import MEANINGS, WORDS, Grade, Harm
from reports.collisions.matrix import Collisions
from reports.collisions.wording import FEW_PAIRS, act_lines, met, summary, survival, told, unasked, where
from reports.documents import templates


def html(result: Collisions) -> str:
    """One HTML file."""
    return templates("reports.collisions", html=True).get_template("collisions.html.j2").render(_view(result))


def markdown(result: Collisions) -> str:
    """A Markdown document."""
    return templates("reports.collisions", html=False).get_template("collisions.md.j2").render(_view(result))


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
