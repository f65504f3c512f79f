"""Drift as one HTML page that needs nothing else, and as the body of a page of others."""

from __future__ import annotations

import functools
from typing import Any

from jinja2 import Environment

from reports.documents import templates
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
        **_of_drift(drift),
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
        hit=hit,
    )


def drift_body(drift: Drift) -> str:
    """What :func:`drift_page` has below its heading; its classes are those of ``templates/drift.css``."""
    return _environment().get_template("drift.html.j2").render(**_of_drift(drift))


def history_body(history: History) -> str:
    """What :func:`history_page` has below its heading."""
    return _environment().get_template("history.html.j2").render(history=history, marks=_marks, hit=hit)


def style() -> str:
    """The style sheet of both bodies, beside that of the theme."""
    return _environment().get_template("drift.css").render()


def _of_drift(drift: Drift) -> dict[str, Any]:
    return {
        "drift": drift,
        "roles": list(Role),
        "role_rows": [(ROLE_WORDS[role], drift.levels[role], level_counts(drift, role)) for role in Role],
        "nothing": nothing_words(drift),
    }


def _render(**values: Any) -> str:
    return _environment().get_template("page.html.j2").render(**values)


@functools.cache
def _environment() -> Environment:
    made = templates("reports.drift", html=True)
    made.filters.update(visible=escape, shown=shown_bytes, side=side_words)
    return made


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
