"""The page of findings and the catalogue say the same."""

import re
from pathlib import Path

import pytest

from wire.portability import AXES, FINDINGS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "findings" / "keys.md"
SECTIONS = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL))


def test_the_page_has_the_findings_of_the_catalogue_in_its_order():
    assert list(SECTIONS) == list(FINDINGS)


@pytest.mark.parametrize("finding", FINDINGS.values(), ids=FINDINGS)
def test_the_page_says_what_the_command_says(finding):
    said = [" ".join(paragraph.split()) for paragraph in SECTIONS[finding.id].strip().split("\n\n")]
    expected = [finding.title, finding.explanation, f"**What to do.** {finding.action}"]
    if finding.breaks:
        expected.append(f"**Does not hold for** {', '.join(AXES[axis] for axis in finding.breaks)}.")
    assert said == expected
