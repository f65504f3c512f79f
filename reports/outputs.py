"""The files that a run leaves besides its records."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from reports.junit import write_junit
from reports.requirement_text import RequirementText
from reports.results import Results
from reports.run.pages import html, markdown

RESULTS: Final = "results.jsonl"
JUNIT: Final = "junit.xml"
PAGE: Final = "report.html"


def write_reports(
    results: Results, folder: Path, summary: Path | None = None, requirements: Mapping[str, RequirementText] | None = None
) -> None:
    """Write ``junit.xml`` and ``report.html`` beside the records, and a summary in Markdown where one is asked for.

    ``requirements`` are the words of what cases cite, for the page.
    """
    write_junit(results, folder / JUNIT)
    (folder / PAGE).write_text(html(results, requirements), encoding="utf-8")
    if summary is not None:
        summary.write_text(markdown(results), encoding="utf-8")
