"""The engine's own arrangement of chunks, which clients are measured with, and its rounding."""

import struct

import numpy as np
import pytest

from fixturegen.corpus import captured_releases, load_corpus
from fixturegen.vector import raw
from harness.engine.elements import UNIT, numbers, rounded
from harness.engine.memory import BLOCK_SIZE, CacheFormat, Memory, cut, put_back
from harness.engine.prompts import CHUNK, IN_ORDER, SCATTERED
from wire.layouts import CARRIERS

NEWEST = captured_releases()[-1]
FORMATS = ("KV_2LTD", "KV_MLA_FMT")


def captured(op):
    found = [vector for vector in load_corpus(NEWEST).vectors[op] if vector.ok is not None]
    return [pytest.param(vector, id=vector.id) for vector in found if vector.args["format"] in FORMATS]


def paged(data, vector):
    return np.frombuffer(data, CARRIERS[vector.args["dtype"]]).reshape(vector.args["paged_shape"]).copy()


@pytest.mark.parametrize("vector", captured("pack_layout"))
def test_a_chunk_is_cut_as_lmcache_cuts_it(vector):
    assert cut(paged(raw(vector.args["paged"]), vector), vector.args["slots"]) == raw(vector.answer["bytes"])


@pytest.mark.parametrize("vector", captured("unpack_layout"))
def test_a_chunk_is_put_back_as_lmcache_puts_it(vector):
    expected = raw(vector.answer["paged"])
    memory = paged(bytes(len(expected)), vector)
    put_back(memory, vector.args["slots"], raw(vector.args["bytes"]))
    assert memory.tobytes() == expected


def test_both_formats_are_compared_with_captures():
    assert {vector.values[0].args["format"] for vector in captured("pack_layout")} == set(FORMATS)


def test_a_token_lives_in_the_slot_of_its_block():
    memory = Memory(CacheFormat("KV_2LTD", "float16"), SCATTERED)
    assert memory.slots(BLOCK_SIZE, BLOCK_SIZE + 2) == [SCATTERED[1] * BLOCK_SIZE, SCATTERED[1] * BLOCK_SIZE + 1]


def test_what_a_client_unpacked_is_taken_over_also_where_it_is_zero_and_where_it_should_not_be():
    memory = Memory(CacheFormat("KV_2LTD", "float16"), IN_ORDER)
    before = memory.paged.copy()
    unpacked = np.zeros_like(before)
    unpacked[1, 0, 5, 3] = 1.0
    memory.fill(memory.slots(0, CHUNK), unpacked.tobytes())
    assert not memory.paged[:, :, :2].any()
    assert (memory.paged[1, 0, 5, 3] == 1.0).all()
    before[:, :, :2], before[1, 0, 5, 3] = 0, 1.0
    assert memory.paged.tobytes() == before.tobytes()


def test_the_model_reads_what_was_loaded_last():
    cache = CacheFormat("KV_MLA_FMT", "float32")
    memory = Memory(cache, SCATTERED)
    memory.read(0, 0, CHUNK)
    chunk = np.arange(np.prod(cache.chunk_shape(CHUNK)), dtype="<f4") / 64
    memory.place(0, CHUNK, chunk.tobytes())
    expected = np.clip(chunk.reshape(cache.chunk_shape(CHUNK))[0, 0] * UNIT, 0, 16 * UNIT)
    assert memory.read(0, 0, CHUNK).tolist() == expected.tolist()


def test_the_model_reads_what_it_wrote():
    memory = Memory(CacheFormat("KV_2LTD", "float32"), SCATTERED)
    memory.read(1, 1, 6)
    memory.write(1, 1, 5, np.arange(32.0))
    assert memory.read(1, 1, 6)[5].tolist() == list(range(32))


@pytest.mark.parametrize(
    "value", [0, 1, -3, UNIT, UNIT + 1, 5 * UNIT // 3, -7 * UNIT // 9, 3, 255, 257, 384 * 4096 + 2048, -(2**22) + 1]
)
def test_halves_are_rounded_as_python_rounds_them(value):
    ((element,),) = [rounded("float16", np.array([float(value)])).tolist()]
    assert element == struct.unpack("<e", struct.pack("<e", value / UNIT))[0]


@pytest.mark.parametrize(
    ("mantissa", "kept"),
    [(0x100, 0x100), (0x101, 0x100), (0x103, 0x104), (0x102, 0x102), (0x1FF, 0x200), (0x1FD, 0x1FC)],
)
def test_brain_floats_keep_eight_bits_and_round_halves_to_even(mantissa, kept):
    for scale in (1, -1, 64, -4096):
        found = numbers("bfloat16", rounded("bfloat16", np.array([float(mantissa * scale)])))
        assert found.tolist() == [kept * scale]


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_memory_may_hold_anything(dtype):
    held = np.array([np.nan, np.inf, -np.inf, 1.0]).astype("<f2" if dtype == "float16" else "<f4")
    assert numbers(dtype, held).tolist() == [0, 16 * UNIT, -16 * UNIT, UNIT]
