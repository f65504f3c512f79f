"""Code in Markdown: spans, cells and blocks hold what they are given, whatever it is."""

import re

import pytest

from reports.markdown_code import code_block, code_cell, code_span


@pytest.mark.parametrize("text", ["a", "`", "``", "a`b``c", "`a`", " a ", "|", "a\nb", "\\"])
def test_code_spans_hold_what_they_are_given(text: str) -> None:
    found = re.fullmatch(r"(`+)(.+?)(?<!`)\1", code_span(text))
    assert found
    inside = found[2]
    if inside.startswith(" ") and inside.endswith(" ") and inside.strip():  # CommonMark takes one space away on either side
        inside = inside[1:-1]
    assert inside == text.replace("\n", "\\n")
    assert "|" not in code_cell(text).replace("\\|", "")


def test_nothing_is_no_code() -> None:
    assert code_span(" ") == ""


def test_a_block_is_closed_by_no_line_of_its_own() -> None:
    assert code_block("a\n````\nb").split("\n") == ["`````text", "a", "````", "b", "`````"]
