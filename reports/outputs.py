"""The files that a run leaves besides its records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reports.formats.context import Context
from reports.formats.table import FORMATS, Format
from reports.results import Results

RESULTS: Final = "results.jsonl"
ALWAYS: Final = (FORMATS["junit"], FORMATS["html"])
"""What every run leaves."""
JUNIT: Final = FORMATS["junit"].file
PAGE: Final = FORMATS["html"].file


@dataclass(frozen=True)
class Wanted:
    """A format that was asked for, and the file that it goes to."""

    format: Format
    path: Path


def write_reports(results: Results, folder: Path, wanted: Sequence[Wanted] = (), context: Context | None = None) -> None:
    """Write ``junit.xml`` and ``report.html`` beside the records, and whatever else is wanted."""
    about = context or Context()
    for one in (*(Wanted(form, folder / form.file) for form in ALWAYS), *wanted):
        one.path.parent.mkdir(parents=True, exist_ok=True)
        one.path.write_bytes(one.format.write(results, about))
