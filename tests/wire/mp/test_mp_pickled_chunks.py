"""Pickled lists of tensors are read without being loaded, and written as torch writes them."""

from __future__ import annotations

import base64
import pickle
import pickletools
import re
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.mp.inert_pickle import MOST_INSTRUCTIONS
from wire.mp.pickled_chunks import SIZES, Chunk, PickleRefused, read_chunks, write_chunks

FROM_TORCH = base64.b64decode("""
gASV4gIAAAAAAABdlCiMDHRvcmNoLl91dGlsc5SMEl9yZWJ1aWxkX3RlbnNvcl92MpSTlCiMDXRvcmNoLnN0b3JhZ2WUjBBfbG9hZF9mcm9tX2
J5dGVzlJOUQgoBAACAAooKbPycRvkgaqhQGS6AAk3pAy6AAn1xAChYEAAAAHByb3RvY29sX3ZlcnNpb25xAU3pA1gNAAAAbGl0dGxlX2VuZGlh
bnECiFgKAAAAdHlwZV9zaXplc3EDfXEEKFgFAAAAc2hvcnRxBUsCWAMAAABpbnRxBksEWAQAAABsb25ncQdLBHV1LoACKFgHAAAAc3RvcmFnZX
EAY3RvcmNoCkhhbGZTdG9yYWdlCnEBWA4AAAA5NDY4MDYwOTQwNTA1NnECWAMAAABjcHVxA0sITnRxBFEugAJdcQBYDgAAADk0NjgwNjA5NDA1
MDU2cQFhLggAAAAAAAAAAAAAPABAAEIARABFAEYAR5SFlFKUSwAoSwJLAUsCSwJ0lChLBEsESwJLAXSUiYwLY29sbGVjdGlvbnOUjAtPcmRlcm
VkRGljdJSTlClSlHSUUpRoAyhoBkIOAQAAgAKKCmz8nEb5IGqoUBkugAJN6QMugAJ9cQAoWBAAAABwcm90b2NvbF92ZXJzaW9ucQFN6QNYDQAA
AGxpdHRsZV9lbmRpYW5xAohYCgAAAHR5cGVfc2l6ZXNxA31xBChYBQAAAHNob3J0cQVLAlgDAAAAaW50cQZLBFgEAAAAbG9uZ3EHSwR1dS6AAi
hYBwAAAHN0b3JhZ2VxAGN0b3JjaApCRmxvYXQxNlN0b3JhZ2UKcQFYDgAAADk0NjgwNjA5MjkzMjY0cQJYAwAAAGNwdXEDSwhOdHEEUS6AAl1x
AFgOAAAAOTQ2ODA2MDkyOTMyNjRxAWEuCAAAAAAAAACAP4A/gD+AP4A/gD+AP4A/lIWUUpRLAChLAksBSwJLAnSUKEsESwRLAksBdJSJaA4pUp
R0lFKUZS4=
""")
"""``pickle.dumps([torch.arange(8, dtype=torch.float16).reshape(2, 1, 2, 2), torch.ones(2, 1, 2, 2, dtype=torch.bfloat16)])``.

By torch 2.13.0 in the pinned environment.
"""
CHUNKS = [
    Chunk("float16", (2, 1, 2, 2), struct.pack("<8e", *range(8))),
    Chunk("bfloat16", (2, 1, 2, 2), struct.pack("<H", 0x3F80) * 8),
]
KEY = re.compile(rb"X\x0e\x00\x00\x00[0-9]{14}q")
"""Of a storage: the decimal address of the object, 14 digits."""


def without_keys(data):
    return KEY.sub(b"X key", data)


def test_what_torch_wrote_is_read():
    assert read_chunks(FROM_TORCH) == CHUNKS


def test_what_is_written_is_what_torch_wrote_but_for_the_keys_of_storages():
    assert len(KEY.findall(FROM_TORCH)) == 4
    assert without_keys(write_chunks(CHUNKS)) == without_keys(FROM_TORCH)


@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(SIZES)), st.lists(st.integers(1, 5), max_size=4)).map(
            lambda pair: Chunk(pair[0], tuple(pair[1]), bytes(range(256)) * 20)
        ),
        max_size=6,
    )
)
def test_what_is_written_is_read_again(chunks):
    sized = [Chunk(chunk.dtype, chunk.shape, chunk.data[: SIZES[chunk.dtype] * size(chunk.shape)]) for chunk in chunks]
    assert read_chunks(write_chunks(sized)) == sized


def size(shape):
    total = 1
    for number in shape:
        total *= number
    return total


@pytest.mark.parametrize("count", [999, 1000, 1001, 2001])
def test_long_lists_are_written_in_batches(count):
    chunks = [Chunk("uint8", (1,), b"x")] * count
    data = write_chunks(chunks)
    assert [opcode.name for opcode, _, _ in pickletools.genops(data)].count("APPENDS") == -(-count // 1000)
    assert read_chunks(data) == chunks


def test_large_chunks_stand_outside_of_the_frames():
    chunks = [Chunk("uint8", (1 << 17,), bytes(1 << 17)), Chunk("uint8", (3,), b"abc")]
    data = write_chunks(chunks)
    assert read_chunks(data) == chunks
    assert all(argument < 1 << 17 for opcode, argument, _ in pickletools.genops(data) if opcode.name == "FRAME")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"cos\nsystem\n(S'true'\ntR.", "os.system"),
        (b"cbuiltins\neval\n(S'1'\ntR.", "builtins.eval"),
        (pickle.dumps(pytest.approx), "names"),
        (pickle.dumps([1, 2]), "no plain tensor"),
        (pickle.dumps({"a": 1}), "no list"),
        (pickle.dumps([3.5]), "BINFLOAT"),
        (pickle.dumps([{1, 2}]), "instruction"),
        (b"", "no pickle"),
        (b"\x80\x04", "no pickle"),
        (b".", "no pickle"),
        (b"e.", "no pickle"),
        (b"h\x00.", "no pickle"),
        (write_chunks(CHUNKS) + b"x", "1 bytes behind"),
        (write_chunks(CHUNKS)[:-1], "no pickle"),
        (write_chunks(CHUNKS).replace(b"_rebuild_tensor_v2", b"_rebuild_tensor_v3"), "_rebuild_tensor_v3"),
        (write_chunks(CHUNKS).replace(b"HalfStorage", b"EvilStorage"), "EvilStorage"),
        (write_chunks(CHUNKS).replace(b"cpuq", b"gpuq"), "on the CPU"),
    ],
)
def test_anything_else_is_refused(data, reason):
    with pytest.raises(PickleRefused, match=reason):
        read_chunks(data)


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04" + b"]" * 100_000 + b".",
        b"\x80\x04" + b")" + b"\x85" * 100_000 + b".",
        b"\x80\x04)\x94" + b"h\x00\x86".join(b"h\x00" for _ in range(2000)) + b".",
        b"\x80\x04}(" + b")\x94" + b"".join(b"h%c\x86\x94" % (index % 256) for index in range(100)) + b"Nu.",
        b"0" * (MOST_INSTRUCTIONS + 5),
        b"\x80\x04" + b"N" * (MOST_INSTRUCTIONS + 5) + b".",
    ],
)
def test_a_pickle_that_wants_to_exhaust_its_reader_is_refused_at_once(data):
    with pytest.raises(PickleRefused):
        read_chunks(data)


@pytest.mark.parametrize("chunk", [Chunk("float8_e4m3fn", (1,), b"x"), Chunk("float16", (2,), b"abc")])
def test_a_chunk_that_torch_would_write_in_another_form_is_refused(chunk):
    with pytest.raises(PickleRefused):
        write_chunks([chunk])


def test_damaged_bytes_are_refused_or_read_as_tensors_and_never_raise_anything_else():
    good = write_chunks(CHUNKS)
    for place in range(len(good)):
        for byte in (0, 0xFF, good[place] ^ 1, ord(")"), ord("R")):
            damaged = good[:place] + bytes([byte]) + good[place + 1 :]
            try:
                read_chunks(damaged)
            except PickleRefused:
                continue
