"""A run as Markdown of bounded size; the other page, one HTML file, is made by :mod:`reports.run.page`."""

from __future__ import annotations

import functools
from typing import Final

from jinja2 import Environment

from reports.documents import templates
from reports.markdown_code import code_block, code_cell, code_span
from reports.results import Results
from reports.run.page import html
from reports.run.view import Failure, run_view

LARGEST: Final = 500_000
"""Bytes of the Markdown; GitHub shows no job summary of more than 1 MiB, and a job may have several."""
EXPLAINED: Final = (20, 5, 0)
"""Failures explained in Markdown: the first number that fits."""


def markdown(results: Results) -> str:
    """A Markdown document of at most :data:`LARGEST` bytes, for instance for a job summary."""
    for explained in EXPLAINED:
        text = _templates().get_template("run.md.j2").render(run=run_view(results, explained=explained))
        if len(text.encode()) <= LARGEST:
            return text
    return _cut(text)


def _cut(text: str) -> str:
    """As many whole blocks as fit, for a run with more topics and releases than there are."""
    kept: list[str] = []
    room = LARGEST - 100
    for line in text.split("\n"):
        room -= len(line.encode()) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join([*kept, "", "The rest is left out: the page is too long.", ""])


def _told(failure: Failure) -> str:
    """The essence of a failure in a few lines: what went wrong, the first difference, the command to run it again."""
    lines = [failure.summary]
    if failure.listed:
        lines += ["", f"list of known failures: {failure.listed}"]
    if failure.difference is not None:
        lines += ["", f"first difference: {failure.difference.place}"]
        lines += [f"  expected  {failure.difference.expected}", f"  got       {failure.difference.got}"]
    if failure.rerun:
        lines += ["", "run it again:", f"  {failure.rerun}"]
    return "\n".join(line.replace("\n", "\\n") for line in lines)


@functools.cache
def _templates() -> Environment:
    made = templates("reports.run", html=False)
    made.filters.update(code=code_span, cell=code_cell, block=code_block, told=_told)
    return made


__all__ = ["LARGEST", "html", "markdown"]
