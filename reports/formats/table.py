"""The formats that a run can be written in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from reports.formats.badge import badge_json, badge_svg
from reports.formats.context import Context
from reports.formats.ctrf import ctrf
from reports.formats.junit import junit_xml
from reports.formats.sarif import sarif
from reports.results import Results
from reports.run.pages import html, markdown
from reports.terminal import summary_lines

TEXT_WIDTH: Final = 100
"""Columns of text that is written to a file."""


@dataclass(frozen=True)
class Format:
    """One of them."""

    name: str
    """As users write it."""
    file: str
    """The name of the file, where the user gives none."""
    about: str
    """Who reads it."""
    write: Callable[[Results, Context], bytes]


def _html(results: Results, about: Context) -> bytes:
    return html(results, about.requirements, about.bench).encode(errors="backslashreplace")


def _markdown(results: Results, _context: Context) -> bytes:
    return markdown(results).encode(errors="backslashreplace")


def _text(results: Results, _context: Context) -> bytes:
    return "".join(f"{line.plain}\n" for line in summary_lines(results, width=TEXT_WIDTH)).encode(errors="backslashreplace")


FORMATS: Final = {
    one.name: one
    for one in (
        Format("html", "report.html", "people: one page that needs nothing else", _html),
        Format("markdown", "summary.md", "job summaries and comments, bounded", _markdown),
        Format("text", "report.txt", "logs: what a run prints at its end", _text),
        Format("junit", "junit.xml", "CI servers: Jenkins, GitLab, Azure and most others", junit_xml),
        Format("ctrf", "ctrf.json", "tools of ctrf.io", ctrf),
        Format("sarif", "results.sarif", "code scanning, as GitHub has it", sarif),
        Format("badge-json", "badge.json", "the endpoint badge of shields.io", badge_json),
        Format("badge-svg", "badge.svg", "a README: a picture that needs no service", badge_svg),
    )
}
"""By name, in the order in which they are told."""
