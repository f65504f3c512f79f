from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.diagnosis import ValueDifference as D
from reports.value_difference import same_value, value_differences

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


@pytest.mark.parametrize(
    ("expected", "got", "differences"),
    [
        ({"a": 1}, {"a": 1}, []),
        ((1, 2), [1, 2], []),
        (1, 1.0, []),
        (float("nan"), float("nan"), []),
        (True, 1, [D("", True, 1, "a number instead of a boolean")]),
        (None, False, [D("", None, False, "a boolean instead of null")]),
        ({"a": 1}, {}, [D("a", 1, None, "missing")]),
        ({}, {"a": None}, [D("a", None, None, "not expected")]),
        ({"keys": [{"end": 256}]}, {"keys": [{"end": 255}]}, [D("keys[0].end", 256, 255)]),
        ([1, 2], [1], [D("length", 2, 1)]),
        ({"k": []}, {"k": {}}, [D("k", [], {}, "an object instead of a list")]),
        ("abcd", "abxd", [D("", "abcd", "abxd", "differs from character 2 on")]),
        ("abc", b"abc", [D("", "abc", {"hex": "616263"}, "bytes instead of a text")]),
        (b"\x01", b"\x02", [D("", {"hex": "01"}, {"hex": "02"})]),
    ],
)
def test_places_are_named(expected: object, got: object, differences: list[D]) -> None:
    assert list(value_differences(expected, got)) == differences
    assert same_value(expected, got) == (not differences)


def test_many_places_are_cut_short() -> None:
    found = value_differences(list(range(1000)), list(range(1, 1001)), limit=3)
    assert [difference.path for difference in found] == ["[0]", "[1]", "[2]", "..."]


@given(values)
def test_a_value_equals_itself(value: Any) -> None:
    assert value_differences(value, value) == ()


@given(values, values)
def test_a_difference_is_seen_from_both_sides(one: Any, other: Any) -> None:
    assert same_value(one, other) == same_value(other, one)
