"""Token lists from a command line, a file or standard input; what is no token is named with its place."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.tokens import parse_tokens, read_tokens
from harness.usage import UsageError

token_lists = st.lists(st.integers(0, 2**63))


@pytest.mark.parametrize(
    "text",
    ["1 2 3", "1,2,3", "1, 2, 3", "1\n2\n3\n", "[1, 2, 3]", " [1,2,3]\n", "1\t2\r\n3", "1 2,\n,3", "﻿1 2 3".lstrip("﻿"), "+1 02 3"],
)
def test_tokens_are_read_in_every_common_form(text):
    assert parse_tokens(text, "it") == [1, 2, 3]


@given(token_lists)
def test_tokens_that_are_written_are_read(tokens):
    for text in (json.dumps(tokens), " ".join(map(str, tokens)), ",\n".join(map(str, tokens))):
        assert parse_tokens(text, "it") == tokens


@pytest.mark.parametrize("text", ["", " \n", "[]", ","])
def test_no_tokens_are_fine(text):
    assert parse_tokens(text, "it") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 x 3", "it, line 1, token 2 is 'x'; a token is an integer"),
        ("1 2\n3 -4", "it, line 2, token 2 is -4; a token is not negative"),
        ("1.0", "it, line 1, token 1 is '1.0'"),
        ("0x10", "it, line 1, token 1 is '0x10'"),
        ("1 ٣", "it, line 1, token 2 is '٣'"),
        ("1 2" + "9" * 5000, "it, line 1, token 2 is '2999"),
        ("[1, 2.5]", "it, token 2 is a JSON number with a fraction"),
        ("[1, true]", "it, token 2 is a JSON boolean"),
        ('[1, "2"]', "it, token 2 is a JSON text"),
        ("[[1, 2]]", "it, token 1 is a JSON array"),
        ("[1, null]", "it, token 2 is a JSON null"),
        ("[1, -2]", "it, token 2 is -2; a token is not negative"),
        ("[1, 2", "it is no JSON array of tokens"),
        ('{"tokens": [1]}', "it holds a JSON object; give an array"),
        ('"1 2"', "it holds a JSON text; give an array"),
        ("[" * 100_000, "it is no JSON array of tokens: it is nested too deeply"),
    ],
)
def test_what_is_no_token_is_named_with_its_place(text, message):
    with pytest.raises(UsageError) as raised:
        parse_tokens(text, "it")
    assert message in str(raised.value)
    assert len(str(raised.value)) < 200


def test_words_of_a_command_line_may_hold_commas():
    assert read_tokens(["1,2", "3"], None) == [1, 2, 3]
    with pytest.raises(UsageError, match="token 3 is 'x'"):
        read_tokens(["1,2", "x"], None)


def test_a_file_is_read(tmp_path):
    (tmp_path / "tokens").write_bytes(b"\xef\xbb\xbf[1, 2]")
    assert read_tokens([], str(tmp_path / "tokens")) == [1, 2]


def test_standard_input_is_read(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"1 2\n3")))
    assert read_tokens([], "-") == [1, 2, 3]


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(UsageError, match="nowhere cannot be read: No such file"):
        read_tokens([], str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        read_tokens([], str(tmp_path))


def test_a_file_that_is_no_text_is_named(tmp_path):
    (tmp_path / "tokens").write_bytes(b"1 2 \xff")
    with pytest.raises(UsageError, match="is no text: byte 4 is not UTF-8"):
        read_tokens([], str(tmp_path / "tokens"))


def test_words_and_a_file_at_once_are_refused():
    with pytest.raises(UsageError, match="not both"):
        read_tokens(["1"], "-")
