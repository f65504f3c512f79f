from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.plain import DEEPEST, LONGEST_LIST, LONGEST_TEXT, clip, plain

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


@given(json_values)
def test_modest_json_is_unchanged(value: object) -> None:
    assert plain(value) == value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"\x00\xff", {"hex": "00ff"}),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        ((1, 2), [1, 2]),
        (2**64, str(2**64)),
        ({1: 2}, {"1": 2}),
        (complex(1, 2), "(1+2j)"),
    ],
)
def test_what_json_lacks_becomes_something_readable(value: object, expected: object) -> None:
    assert plain(value) == expected


def test_excess_becomes_a_remark() -> None:
    nested: list[object] = []
    for _ in range(3 * DEEPEST):
        nested = [nested]
    wild = ["x" * (LONGEST_TEXT + 1), list(range(LONGEST_LIST + 1)), {str(i): i for i in range(LONGEST_LIST + 1)}, nested]
    text = json.dumps(plain([*wild, 10**5000]))
    for remark in ("4097 characters in all", "257 in all", "257 members in all", "nested too deeply"):
        assert remark in text


def test_clip_can_keep_the_end() -> None:
    assert clip("a" * 10 + "end", 3, keep="end").endswith("follow) end")
    assert clip("short", 5, keep="end") == "short"


def test_an_end_begins_with_a_whole_line() -> None:
    said = "line one\nline two\nline three\n"
    assert clip(said, 15, keep="end") == "... (29 characters, the last 11 follow)\nline three\n"
    assert clip(said, 11, keep="end") == "... (29 characters, the last 11 follow)\nline three\n"
    assert clip(said, 5, keep="end") == "... (29 characters, the last 5 follow) hree\n"
