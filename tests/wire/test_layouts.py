"""Chunks of every memory format: hand-written expectations, then properties over random blocks and slots."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from wire.errors import DecodeError, EncodeError
from wire.layouts import CARRIERS, LAYOUTS, carrier, chunk_shape, pack, unpack
from wire.lm.enums import FORMATS, ITEM_SIZES


def numbered(shape: tuple[int, ...], dtype: str = "uint8") -> NDArray[Any]:
    return np.arange(1, 1 + int(np.prod(shape))).astype(carrier(dtype)).reshape(shape)


TWO_LAYERS = (2, 2, 2, 2, 1, 2)
ONE_LAYER = (1, 2, 2, 2, 1, 2)
LATENT = (2, 2, 2, 2)


def test_kv_2ltd_puts_all_keys_before_all_values() -> None:
    chunk = pack("KV_2LTD", numbered(TWO_LAYERS), [3, 0])
    assert chunk.tolist() == [[[[7, 8], [1, 2]], [[23, 24], [17, 18]]], [[[15, 16], [9, 10]], [[31, 32], [25, 26]]]]


def test_kv_t2d_puts_the_key_of_a_token_beside_its_value() -> None:
    assert pack("KV_T2D", numbered(ONE_LAYER), [3, 0]).tolist() == [[[7, 8], [15, 16]], [[1, 2], [9, 10]]]


def test_kv_2td_puts_all_keys_of_the_layer_before_its_values() -> None:
    assert pack("KV_2TD", numbered(ONE_LAYER), [3, 0]).tolist() == [[[7, 8], [1, 2]], [[15, 16], [9, 10]]]


def test_kv_mla_has_one_vector_per_token_and_keeps_the_head_size_of_the_blocks() -> None:
    chunk = pack("KV_MLA_FMT", numbered((2, 2, 2, 3)), [2])
    assert chunk.tolist() == [[[[7, 8, 9]], [[19, 20, 21]]]]


def test_heads_of_a_token_stand_side_by_side() -> None:
    assert pack("KV_T2D", numbered((1, 2, 1, 2, 3, 2)), [1]).tolist() == [[[7, 8, 9, 10, 11, 12], [19, 20, 21, 22, 23, 24]]]


def test_a_packed_chunk_is_contiguous_little_endian_and_its_own_memory() -> None:
    paged = numbered(ONE_LAYER, "bfloat16")
    chunk = pack("KV_T2D", paged, [0])
    assert chunk.flags.c_contiguous
    assert chunk.tobytes() == bytes([1, 0, 2, 0, 9, 0, 10, 0])
    chunk[:] = 0
    assert paged[0, 0, 0, 0, 0, 0] == 1


def test_unpack_leaves_zeros_where_no_slot_writes() -> None:
    chunk = pack("KV_MLA_FMT", numbered(LATENT), [3])
    assert unpack("KV_MLA_FMT", chunk, [3], LATENT).tolist() == [
        [[[0, 0], [0, 0]], [[0, 0], [7, 8]]],
        [[[0, 0], [0, 0]], [[0, 0], [15, 16]]],
    ]


def test_bits_of_a_nan_survive() -> None:
    words = np.array([0x7FC1, 0xFF81, 0x7F80, 0x8000], dtype=np.dtype("<u2")).reshape(1, 1, 2, 2)
    assert pack("KV_MLA_FMT", words, [1, 0]).tobytes() == words[:, :, ::-1].tobytes()
    halves = words.view(carrier("float16"))
    assert pack("KV_MLA_FMT", halves, [1, 0]).tobytes() == halves[:, :, ::-1].tobytes()


@pytest.mark.parametrize(
    ("format_name", "shape"),
    [("KV_2LTD", (2, 1, 5, 12)), ("KV_T2D", (5, 2, 12)), ("KV_2TD", (2, 5, 12)), ("KV_MLA_FMT", (1, 1, 5, 12))],
)
def test_chunk_shape_of_each_format(format_name: str, shape: tuple[int, ...]) -> None:
    assert chunk_shape(format_name, layers=1, tokens=5, hidden=12) == shape


def test_every_layout_is_a_format_of_the_wire() -> None:
    assert set(LAYOUTS) <= set(FORMATS)


def test_carriers_have_the_item_sizes_of_the_wire() -> None:
    assert {name: CARRIERS[name].itemsize for name in ITEM_SIZES} == dict(ITEM_SIZES)


@pytest.mark.parametrize("slots", [[], [-1], [4], [1, 1], [0, 3, 2, 0]])
def test_pack_and_unpack_refuse_the_same_slots(slots: list[int]) -> None:
    chunk = np.zeros((1, 2, len(slots), 2), dtype=np.uint8)
    with pytest.raises(EncodeError, match="slot") as packing:
        pack("KV_MLA_FMT", numbered(LATENT), slots)
    with pytest.raises(EncodeError) as unpacking:
        unpack("KV_MLA_FMT", chunk, slots, LATENT)
    assert str(packing.value) == str(unpacking.value)


def test_the_message_about_a_repeated_slot_names_both_places() -> None:
    with pytest.raises(ValueError, match=r"slots\[2\] is 3, and so is slots\[0\]"):
        pack("KV_MLA_FMT", numbered(LATENT), [3, 1, 3])


@pytest.mark.parametrize(
    ("format_name", "shape", "message"),
    [
        ("KV_2LTD", LATENT, r"cut from \[layers, 2, blocks, block_size, heads, head_size\].*4 axes, not 6"),
        ("KV_MLA_FMT", TWO_LAYERS, r"cut from \[layers, blocks, block_size, head_size\].*6 axes, not 4"),
        ("KV_2LTD", (2, 3, 2, 2, 1, 2), "second axis is keys and values, 2, not 3"),
        ("KV_2LTD", (2, 2, 0, 2, 1, 2), "every size is at least 1"),
        ("KV_T2D", TWO_LAYERS, "one chunk per layer"),
        ("KV_2TD", TWO_LAYERS, "one chunk per layer"),
        ("BINARY", TWO_LAYERS, "KV_2LTD, KV_T2D, KV_2TD, KV_MLA_FMT"),
    ],
)
def test_blocks_that_do_not_fit_the_format_are_refused(format_name: str, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(EncodeError, match=message):
        pack(format_name, np.zeros(shape, dtype=np.uint8), [0])


def test_unpack_refuses_a_chunk_of_another_format() -> None:
    chunk = pack("KV_T2D", numbered(ONE_LAYER), [0, 1, 2])
    with pytest.raises(DecodeError, match=r"has shape \[2, 3, 2\] \[kv, token, hidden\]; this chunk has \[3, 2, 2\]"):
        unpack("KV_2TD", chunk, [0, 1, 2], ONE_LAYER)


def test_an_unknown_dtype_lists_the_known_ones() -> None:
    with pytest.raises(EncodeError, match=r"'fp4'.*float16, bfloat16"):
        carrier("fp4")


@st.composite
def cuttings(draw: st.DrawFn) -> tuple[str, NDArray[Any], list[int]]:
    name = draw(st.sampled_from(sorted(LAYOUTS)))
    size = st.integers(1, 4)
    layers = 1 if LAYOUTS[name].layerwise else draw(size)
    blocks, block_size, head_size = draw(size), draw(size), draw(size)
    shape: tuple[int, ...] = (layers, blocks, block_size, head_size)
    if not LAYOUTS[name].latent:
        shape = (layers, 2, blocks, block_size, draw(size), head_size)
    dtype = draw(st.sampled_from(sorted(CARRIERS)))
    count = int(np.prod(shape)) * carrier(dtype).itemsize
    paged = np.frombuffer(draw(st.binary(min_size=count, max_size=count)), dtype=carrier(dtype)).reshape(shape)
    slots = draw(st.lists(st.integers(0, blocks * block_size - 1), min_size=1, unique=True))
    return name, paged, slots


@given(cuttings())
def test_packing_what_was_unpacked_gives_the_same_bytes(cutting: tuple[str, NDArray[Any], list[int]]) -> None:
    name, paged, slots = cutting
    chunk = pack(name, paged, slots)
    assert pack(name, unpack(name, chunk, slots, paged.shape), slots).tobytes() == chunk.tobytes()


@given(cuttings())
def test_unpacking_restores_the_named_slots_and_nothing_else(cutting: tuple[str, NDArray[Any], list[int]]) -> None:
    name, paged, slots = cutting
    restored = unpack(name, pack(name, paged, slots), slots, paged.shape)
    assert (restored.shape, restored.dtype) == (paged.shape, paged.dtype)
    first_block_axis = 1 if LAYOUTS[name].latent else 2
    blocks, block_size = paged.shape[first_block_axis : first_block_axis + 2]
    for slot in range(blocks * block_size):
        where = (slice(None),) * first_block_axis + divmod(slot, block_size)
        expected = paged[where].tobytes() if slot in slots else bytes(paged[where].nbytes)
        assert restored[where].tobytes() == expected


@given(cuttings())
def test_a_chunk_in_two_parts_is_the_chunk_in_one(cutting: tuple[str, NDArray[Any], list[int]]) -> None:
    name, paged, slots = cutting
    cut = len(slots) // 2
    if not cut:
        return
    parts = [pack(name, paged, part) for part in (slots[:cut], slots[cut:])]
    joined = np.concatenate(parts, axis=LAYOUTS[name].axes.index("token"))
    assert joined.tobytes() == pack(name, paged, slots).tobytes()
