"""msgpack by its bytes: where each value stands, and what is no msgpack."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.tap.mp.packed import Malformed, number, path_text, place_of, places, with_number
from wire.mp.values import ValueRefused, pack, unpack

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | st.floats(allow_nan=False) | st.text(max_size=40)
    | st.binary(max_size=40),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=20,
)  # fmt: skip


def leaf(value, path):
    for step in path:
        value = value[step]
    return value


@given(VALUES)
def test_every_value_stands_where_it_is_said_to(value):
    data = pack(value)
    for place in places(data):
        if place.kind in {"str", "bytes"} and not place.is_key:
            body = data[place.body : place.end]
            assert leaf(value, place.path) == (body.decode() if place.kind == "str" else body)
        if place.kind == "int":
            assert leaf(value, place.path) == number(data, place.start)
            assert with_number(data, place.start, number(data, place.start)) == data[place.start : place.end]


@given(st.binary(max_size=60))
def test_bytes_are_refused_if_no_decoder_takes_them(data):
    with contextlib.suppress(ValueRefused):
        unpack(data)
        assert list(places(data))
        return
    with contextlib.suppress(Malformed):
        # Texts that are no UTF-8, and keys that cannot be any, have a place all the same.
        assert len(list(places(data))) > 0


def test_the_place_of_a_path_is_that_of_the_value():
    data = pack({"a": [1, {"b": "xyz"}]})
    place = place_of(data, ("a", 1, "b"))
    assert data[place.body : place.end] == b"xyz"
    assert place_of(data, ("a", 7)).path == ("a",)
    assert path_text(("a", 1, "b")) == "a[1].b"


def test_arrays_in_each_other_without_end_are_refused():
    with pytest.raises(Malformed, match="nested"):
        list(places(b"\x91" * 100_000))
