"""Drift as one HTML page that needs nothing else."""

from __future__ import annotations

from typing import Any

import jinja2

from reports.drift.history import Generation, History
from reports.drift.model import Drift, Level, Role
from reports.drift.text import MARKS, ROLE_WORDS, hit, level_counts, nothing_words, shown_bytes, side_words
from reports.escape import escape


def drift_page(drift: Drift, concern: str = "") -> str:
    """The drift between two releases."""
    return _render(
        title=f"lmcache {drift.old} -> {drift.new}",
        worst=drift.worst,
        concern=concern,
        drift=drift,
        history=None,
        role_rows=[(ROLE_WORDS[role], drift.levels[role], level_counts(drift, role)) for role in Role],
        nothing=nothing_words(drift),
    )


def history_page(history: History, concern: str = "") -> str:
    """All captured releases."""
    return _render(
        title=f"lmcache {history.releases[0]} to {history.releases[-1]}",
        worst=history.worst,
        concern=concern,
        drift=None,
        history=history,
        marks=_marks,
    )


def _render(**values: Any) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("reports", "templates"), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.filters.update(visible=escape, shown=shown_bytes, side=side_words)
    return environment.get_template("drift.html.j2").render(roles=list(Role), hit=hit, **values)


def _marks(generation: Generation, groups: int) -> list[tuple[str, str]]:
    """The mark and the style of each cell of a row."""
    found = []
    for index in range(groups):
        if index not in generation.groups:
            found.append(("", "absent"))
        elif index != generation.groups[0]:
            found.append(("=", "same"))
        elif generation.level is None:
            found.append(("o", "same"))
        else:
            found.append((MARKS[generation.level], Level(generation.level).word))
    return found
