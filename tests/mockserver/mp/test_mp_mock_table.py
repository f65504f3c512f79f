"""The table of MP faults, its reference page and its tests agree."""

from __future__ import annotations

import re
from pathlib import Path

from mockserver.mp.faults import MP_FAULTS, MP_PICKING, parse_mp
from mockserver.mp.faults.page import mp_sections

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[2] / "docs" / "reference" / "mp-mock.md"
SHOWS = re.compile(r'^@pytest\.mark\.shows\("(.+?)"\)$', re.MULTILINE)


def test_every_fault_has_a_test_that_it_does_what_it_says():
    assert {name for path in HERE.glob("test_*.py") for name in SHOWS.findall(path.read_text())} == set(MP_FAULTS)


def test_the_reference_page_ends_with_the_faults_of_the_table():
    page = PAGE.read_text(encoding="utf-8")
    assert page.endswith(mp_sections()), "python -m mockserver.mp.faults.page prints what the page must end with"
    assert MP_PICKING in page


def test_the_examples_of_the_reference_page_are_faults():
    found = re.findall(r"--fault ([a-z]\S+)", PAGE.read_text(encoding="utf-8"))
    assert len(found) >= 2
    for text in found:
        parse_mp(text)
