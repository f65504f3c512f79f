"""A bench as one HTML file that needs nothing else, and its plots as a part of another page."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Final

from jinja2 import Environment
from markupsafe import Markup

from reports.bench import numbers, plot
from reports.bench.model import FLOORS, Bench
from reports.bench.text import LOW, foot
from reports.documents import templates
from reports.words import count

RATIO_END: Final = 1.25
"""Where the bars of ratios end; what is faster than that reaches the end."""


def html(bench: Bench) -> str:
    """The page."""
    return _templates().get_template("bench.html.j2").render(**_view(bench), style=style())


def section(bench: Bench) -> Markup:
    """Plots and ratios, for a page that has :func:`style` among its own."""
    return Markup(_templates().get_template("section.html.j2").render(**_view(bench)))  # noqa: S704  # made by a template


@functools.cache
def style() -> Markup:
    """The rules for what :func:`section` writes."""
    return Markup((resources.files("reports.bench") / "templates" / "bench.css").read_text("utf-8"))  # noqa: S704  # ours


def _view(bench: Bench) -> dict[str, object]:
    conditions = bench.conditions
    return {
        "bench": bench,
        "measured": bench.of("measured"),
        "others": [one for one in bench.measures if one.state != "measured"],
        "panels": plot.panels(bench),
        "plot": plot,
        "floors": FLOORS,
        "low": LOW,
        "end": RATIO_END,
        "notes": list(foot(bench)),
        "rounds": count(conditions.rounds, "round"),
        "processors": count(conditions.processors, "processor"),
    }


@functools.cache
def _templates() -> Environment:
    made = templates("reports.bench", html=True)
    made.filters.update(
        rate=numbers.rate, duration=numbers.duration, memory=numbers.memory, ratio=numbers.ratio, size=numbers.size
    )
    return made
