"""Shapes: padded to four dimensions, stripped again, and what they amount to in bytes."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.errors import EncodeError
from wire.lm.enums import ITEM_SIZES
from wire.lm.profile import lm_profile
from wire.lm.shapes import pad_shape, payload_size, strip_shape
from wire.release import Release

STRICT = lm_profile(Release.parse("0.4.3"))
SHORT = lm_profile(Release.parse("0.4.4"))
dims = st.integers(-(2**31), 2**31 - 1)


@given(st.lists(dims, max_size=4))
def test_short_shapes_are_padded_with_zeros_from_0_4_4(shape):
    assert pad_shape(SHORT, shape) == (*shape, *[0] * (4 - len(shape)))


@given(st.lists(dims, min_size=4, max_size=4))
def test_four_dimensions_stay_as_they_are(shape):
    assert pad_shape(STRICT, shape) == pad_shape(SHORT, shape) == tuple(shape)


@pytest.mark.parametrize("shape", [(), (4096,), (256, 4096), (256, 2, 1024), (1, 2, 3, 4, 5)])
def test_until_0_4_3_a_shape_has_exactly_four_dimensions(shape):
    with pytest.raises(EncodeError, match=rf"has {len(shape)} dimensions; lmcache 0\.4\.3 takes exactly 4"):
        pad_shape(STRICT, shape)


def test_five_dimensions_never_fit():
    with pytest.raises(EncodeError, match=r"shape \[1, 2, 3, 4, 5\] has 5 dimensions; lmcache 0\.4\.4 takes at most 4"):
        pad_shape(SHORT, (1, 2, 3, 4, 5))


@pytest.mark.parametrize(
    ("padded", "stripped"),
    [
        ((256, 2, 1024, 0), (256, 2, 1024)),
        ((4096, 0, 0, 0), (4096,)),
        ((0, 0, 0, 0), (0,)),
        ((2, 0, 256, 0), (2, 0, 256)),
        ((1, 2, 3, 4), (1, 2, 3, 4)),
        ((0, 0, 0, 1), (0, 0, 0, 1)),
    ],
)
def test_trailing_zeros_are_stripped_down_to_one_dimension(padded, stripped):
    assert strip_shape(SHORT, padded, "KV_2LTD") == stripped


@pytest.mark.parametrize("format_name", ["BINARY", "BINARY_BUFFER"])
def test_binary_formats_keep_their_zeros(format_name):
    assert strip_shape(SHORT, (4096, 0, 0, 0), format_name) == (4096, 0, 0, 0)


def test_nothing_is_stripped_until_0_4_3():
    assert strip_shape(STRICT, (4096, 0, 0, 0), "KV_2LTD") == (4096, 0, 0, 0)


@given(st.lists(dims, min_size=1, max_size=4).filter(lambda shape: len(shape) == 1 or shape[-1] != 0))
def test_a_padded_shape_strips_to_itself(shape):
    assert strip_shape(SHORT, pad_shape(SHORT, shape), "KV_T2D") == tuple(shape)


@given(st.lists(st.integers(1, 64), min_size=1, max_size=4), st.sampled_from(sorted(ITEM_SIZES)))
def test_a_payload_has_as_many_bytes_as_its_elements(shape, dtype):
    assert payload_size("KV_2LTD", dtype, shape) == math.prod(shape) * ITEM_SIZES[dtype]


@given(st.lists(st.integers(1, 64), min_size=1, max_size=4))
def test_padding_does_not_change_the_size_of_a_payload(shape):
    assert payload_size("KV_T2D", "float32", pad_shape(SHORT, shape)) == payload_size("KV_T2D", "float32", shape)


@pytest.mark.parametrize("shape", [(0, 0, 0, 0), (2, 0, 256, 1), (0,)])
def test_a_zero_inside_a_shape_makes_an_empty_payload(shape):
    assert payload_size("KV_2LTD", "float16", shape) == 0


@pytest.mark.parametrize("format_name", ["BINARY", "BINARY_BUFFER"])
def test_a_binary_payload_has_as_many_bytes_as_its_first_dimension(format_name):
    assert payload_size(format_name, "float32", (4096, 0, 0, 0)) == 4096
    assert payload_size(format_name, "uint8", ()) == 0


def test_a_payload_without_dtype_is_counted_in_bytes():
    assert payload_size("KV_2LTD", None, (100, 2)) == 100
