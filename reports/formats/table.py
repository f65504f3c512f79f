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
    content_type: str
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
        Format("html", "report.html", "text/html; charset=utf-8", "people: one page that needs nothing else", _html),
        Format("markdown", "summary.md", "text/markdown; charset=utf-8", "job summaries and comments, bounded", _markdown),
        Format("text", "report.txt", "text/plain; charset=utf-8", "logs: what a run prints at its end", _text),
        Format("junit", "junit.xml", "application/xml", "CI servers: Jenkins, GitLab, Azure and most others", junit_xml),
        Format("ctrf", "ctrf.json", "application/json", "tools of ctrf.io", ctrf),
        Format("sarif", "results.sarif", "application/sarif+json", "code scanning, as GitHub has it", sarif),
        Format("badge-json", "badge.json", "application/json", "the endpoint badge of shields.io", badge_json),
        Format("badge-svg", "badge.svg", "image/svg+xml", "a README: a picture that needs no service", badge_svg),
    )
}
"""By name, in the order in which they are told."""
