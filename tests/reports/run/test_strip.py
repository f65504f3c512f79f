"""A header as boxes: shown where it is known which header it is, with the bytes that differ marked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reports.diagnosis import Diagnosis, FieldDifference, FrameDump
from reports.run.page import html
from reports.run.strip import strip
from tests.reports.run.made import made_run

DTYPE = FieldDifference(12, 4, "dtype", "6 (uint8)", "0 (None)")


def differing(expected: bytes, got: bytes, *fields: FieldDifference, **changes: Any) -> Diagnosis:
    frames = FrameDump("expected", expected), replace(FrameDump("got", got), **changes)
    return Diagnosis("s", fields=fields or (DTYPE,), frames=frames)


def test_the_field_that_differs_shows_both_sides_and_marks_what_differs() -> None:
    boxes = strip(differing(bytes(12) + b"\x06" + bytes(173), bytes(186)), "0.5.6")
    assert " ".join(box.name for box in boxes) == "command length format dtype location shape0 shape1 shape2 shape3 key"
    (wrong,) = (box for box in boxes if box.wrong)
    assert (wrong.name, wrong.expected) == ("dtype", "06 00 00 00")
    assert [(piece.text, piece.kind) for piece in wrong.got] == [("00", "mark"), (" 00 00 00", "")]
    assert all(not box.expected for box in boxes if box is not wrong)


def test_a_long_field_is_told_by_its_size() -> None:
    key = FieldDifference(36, 150, "key", "a", "b")
    *_, box = strip(differing(bytes(36) + b"aa" + b" " * 148, bytes(36) + b"bb" + b" " * 148, key), "0.5.6")
    assert "".join(piece.text for piece in box.got) == "150 bytes, 2 of them differ"


def test_bytes_that_did_not_come_are_told() -> None:
    *_, last = strip(differing(bytes(36), bytes(34), FieldDifference(32, 4, "location", "0", None)), "0.5.6")
    assert "".join(piece.text for piece in last.got) == "00 00 -- --"


@pytest.mark.parametrize(
    ("diagnosis", "release"),
    [
        (differing(bytes(186), b"\x01" * 186), "0.1.0"),
        (differing(bytes(186), b"\x01" * 186), "<script>"),
        (differing(bytes(186), b"\x01" * 186, FieldDifference(12, 4, "<script>", "a", "b")), "0.5.6"),
        (differing(bytes(186), b"\x01" * 186, FieldDifference(8, 4, "dtype", "a", "b")), "0.5.6"),
        (differing(bytes(200), b"\x01" * 200), "0.5.6"),
        (differing(bytes(186), bytes(128), truncated_from=5000), "0.5.6"),
        (differing(bytes(186), bytes(128), offset=16), "0.5.6"),
        (Diagnosis("s", fields=(DTYPE,), frames=(FrameDump("got", bytes(186)),)), "0.5.6"),
        (Diagnosis("s", frames=(FrameDump("expected", bytes(186)), FrameDump("got", bytes(186)))), "0.5.6"),
    ],
)
def test_a_header_that_is_not_known_is_not_shown(diagnosis: Diagnosis, release: str) -> None:
    assert strip(diagnosis, release) == ()


def test_an_explanation_has_it_above_the_bytes() -> None:
    text = html(made_run(6, 1))
    body = text[text.index("<div class='told'>") :]
    assert body.index("<ol class='strip'>") < body.index("<div class='dumps'>")
    assert body.count("<li class=wrong>") == 9
