"""The grammar of payload types."""

import pytest

from wire.mp.operations import types_of
from wire.mp.types import Array, Map, Named, Optional, Scalar, Tuple, parse_type


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("int", Scalar("int")),
        ("str?", Optional(Scalar("str"))),
        ("[[int]]", Array(Array(Scalar("int")))),
        ("[CBMatchResult]?", Optional(Array(Named("CBMatchResult")))),
        ("(bytes, [bool])", Tuple((Scalar("bytes"), Array(Scalar("bool"))))),
        ("{int: MemoryLayoutDesc}", Map(Scalar("int"), Named("MemoryLayoutDesc"))),
    ],
)
def test_a_type_is_read_as_it_is_written(text: str, meaning: object) -> None:
    found = parse_type(text)
    assert found == meaning
    assert str(found) == text


@pytest.mark.parametrize("text", ["", "[int", "(int", "{int}", "int]", "int int", "int%", "?", "]"])
def test_a_text_that_is_no_type_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"type|character|missing"):
        parse_type(text)


def test_commas_inside_brackets_do_not_separate_payloads() -> None:
    assert [str(type_) for type_ in types_of("int, [(int, int)], {int: str}, bytes")] == [
        "int",
        "[(int, int)]",
        "{int: str}",
        "bytes",
    ]
    assert types_of("") == ()
