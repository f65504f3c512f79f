from __future__ import annotations

import unicodedata
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.escape import escape, escape_lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain <b>&[red]", "plain <b>&[red]"),
        ("Grüße 東京", "Grüße 東京"),
        ("\x1b[31m\x07\x9b", r"\x1b[31m\x07\x9b"),
        ("a\r\n\tb", r"a\r\n\tb"),
        ("\u202eevil\u2066\u200b\ufeff", r"\u202eevil\u2066\u200b\ufeff"),
        ("\u2028\udc80\U000e0041\ufffe", r"\u2028\udc80\U000e0041\ufffe"),
    ],
)
def test_active_characters_are_shown_not_sent(text: str, expected: str) -> None:
    assert escape(text) == expected


@given(st.text(st.characters()))
def test_escaped_text_is_one_inert_line_and_legal_xml(text: str) -> None:
    shown = escape(text)
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    element = ET.Element("a", b=shown)
    assert ET.fromstring(ET.tostring(element, "utf-8")).get("b") == shown


def test_lines_are_kept_as_lines() -> None:
    assert escape_lines("one\r\ntwo\tx\n\x1bthree\n") == ["one", "two x", r"\x1bthree"]
    assert escape_lines("") == []
