"""Numbers as people write them are read in one way."""

import pytest

from wire.numerals import NoNumber, read_decimal, read_integer, shown

NONE = ["", " 1", "1\n", "٣", "1_0", "1" * 41, "1" * 5000, "one", "+", "0b1", "0o7", "¹"]


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("42", 42), ("-1", -1), ("+7", 7), ("007", 7), ("9" * 40, 10**40 - 1)])
def test_an_integer_is_read(text, number):
    assert read_integer(text) == number


@pytest.mark.parametrize("text", [*NONE, "1.0", "1e3", "0x10"])
def test_what_is_no_integer_is_refused(text):
    with pytest.raises(NoNumber, match="is no integer"):
        read_integer(text)


@pytest.mark.parametrize(("text", "number"), [("0x7f", 127), ("-0X10", -16), ("10", 10)])
def test_hexadecimal_is_read_where_it_is_allowed(text, number):
    assert read_integer(text, hexadecimal=True) == number


@pytest.mark.parametrize("text", [*NONE, "0x", "0x_1", "0x٣", "0x" + "f" * 5000])
def test_what_is_neither_is_refused(text):
    with pytest.raises(NoNumber, match="is no integer"):
        read_integer(text, hexadecimal=True)


@pytest.mark.parametrize(
    ("text", "number"),
    [("0.5", 0.5), ("15", 15.0), (".5", 0.5), ("5.", 5.0), ("1e3", 1000.0), ("-2.5E-1", -0.25), ("1e300", 1e300)],
)
def test_a_decimal_is_read(text, number):
    assert read_decimal(text) == number


@pytest.mark.parametrize("text", [*NONE, "nan", "inf", "-infinity", "1e999", ".", "e3", "0x10", "1_0.5"])
def test_what_is_no_decimal_is_refused(text):
    with pytest.raises(NoNumber, match="is no number"):
        read_decimal(text)


def test_a_long_text_is_shown_by_its_beginning():
    assert shown("1" * 5000) == "1" * 40 + "..."
    assert shown("1" * 40) == "1" * 40
