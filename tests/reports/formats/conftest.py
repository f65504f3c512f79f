"""Runs to write in each format."""

import pytest

from reports.record import RunFooter
from reports.results import Results
from reports.verdict import count_verdicts, exit_code


@pytest.fixture
def run(header):
    """``run(case, ..., incomplete="why")``: the results of a run that ended, unless a reason says that it did not."""

    def made(*cases, incomplete=None, about=header):
        counts = count_verdicts(case.verdict for case in cases)
        footer = RunFooter(counts, 4.25, exit_code(counts), "2026-01-02T03:05:05Z", complete=incomplete is None)
        return Results(about, cases, footer, incomplete)

    return made
