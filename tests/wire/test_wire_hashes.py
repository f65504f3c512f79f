"""Hash functions behind chunk keys, against the libraries and the interpreter that they model."""

import hashlib
import pickle
import struct

import cbor2
import pytest
import xxhash
from blake3 import blake3
from hypothesis import example, given
from hypothesis import strategies as st

from wire.hashes import DIGESTS, NONE_TOKEN_HASH, digest_as_int, token_hashes, tuple_hash

MERSENNE = 2**61 - 1
EDGES = (0, 1, -1, -2, MERSENNE - 1, MERSENNE, MERSENNE + 1, -MERSENNE, -MERSENNE - 1, 2**63 - 1, -(2**63), 2**64, 2**256 - 1)
integers = st.integers() | st.sampled_from(EDGES) | st.integers(-(2**300), 2**300) | st.booleans()
values = st.recursive(integers | st.none(), lambda inner: st.lists(inner, max_size=5).map(tuple), max_leaves=20)
tuples = st.lists(values, max_size=8).map(tuple)

tokens = st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=20).map(tuple)
chain_inputs = st.tuples(st.integers(0, 2**64 - 1) | st.binary(min_size=32, max_size=32), tokens, st.none() | st.just(()))


@given(tuples)
@example(())
@example(((),))
@example(EDGES)
@example((0, (1, 2, 3), None))
@example((-1, (), ()))
def test_tuple_hash_is_the_hash_of_this_interpreter(value):
    assert tuple_hash(value, hash_of_none=hash(None)) == hash(value)


def test_hash_of_none_is_the_given_one():
    assert tuple_hash((None,), hash_of_none=7) == hash((7,))
    assert tuple_hash(((None, 1),), hash_of_none=-3) == hash(((-3, 1),))


def test_the_hash_that_cpython_keeps_for_errors_is_replaced():
    first, last = next(_tuples_that_mix_to_minus_one())
    assert hash((first, last)) == 1546275796
    assert tuple_hash((first, last)) == 1546275796


def _tuples_that_mix_to_minus_one():
    """Run the mixing of a pair backwards from its one forbidden result, until the second element is some integer's hash."""
    mask, one, two, five = 2**64 - 1, 11400714785074694791, 14029467366897019727, 2870177450012600261
    for first in range(1000):
        lane = (five + first * two) & mask
        before = ((lane << 31 | lane >> 33) & mask) * one & mask
        wanted = (mask - (2 ^ five ^ 3527539)) * pow(one, -1, 2**64) & mask
        lane = (wanted >> 31 | wanted << 33) & mask
        last = (lane - before) * pow(two, -1, 2**64) & mask
        last -= 2**64 if last >> 63 else 0
        if abs(last) < MERSENNE and last != -1:
            yield first, last


@pytest.mark.parametrize("element", [b"digest", "text", 1.0, [1]])
def test_tuple_hash_refuses_elements_whose_hash_is_not_portable(element):
    with pytest.raises(TypeError, match=f"no portable hash for {type(element).__name__}"):
        tuple_hash((0, (1, element)))


@given(chain_inputs)
def test_sha256_cbor_hashes_canonical_cbor(value):
    expected = hashlib.sha256(cbor2.dumps(value, canonical=True)).digest()
    assert DIGESTS["sha256_cbor"](value) == expected
    assert DIGESTS["sha256_cbor_64bit"](value) == expected


@given(chain_inputs)
def test_cbor_of_a_chain_input_is_83_then_prefix_tokens_and_third(value):
    prefix, chunk, third = value
    text = b"\x83" + _cbor(prefix) + _cbor(chunk) + (b"\xf6" if third is None else b"\x80")
    assert DIGESTS["sha256_cbor"](value) == hashlib.sha256(text).digest()
    assert DIGESTS["xxhash_cbor"](value) == xxhash.xxh3_128(text).digest()


def test_cbor_of_a_negative_prefix_has_major_type_1():
    expected = hashlib.sha256(bytes.fromhex("83 29 81 07 80")).digest()
    assert DIGESTS["sha256_cbor"]((-10, (7,), ())) == expected


def _cbor(value):
    """Just enough of RFC 8949: unsigned integers, byte strings and arrays of either, heads of the shortest form."""
    if isinstance(value, int):
        return _head(0, value)
    if isinstance(value, bytes):
        return _head(2, len(value)) + value
    return _head(4, len(value)) + b"".join(map(_cbor, value))


def _head(major, number):
    if number < 24:
        return bytes([major << 5 | number])
    for info, (code, bits) in enumerate((("B", 8), ("H", 16), ("I", 32), ("Q", 64)), 24):
        if number < 1 << bits:
            return bytes([major << 5 | info]) + struct.pack(f">{code}", number)
    raise AssertionError(number)


@given(chain_inputs)
def test_sha256_and_xxhash_hash_a_pickle_of_this_python(value):
    text = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    assert DIGESTS["sha256"](value) == hashlib.sha256(text).digest()
    assert DIGESTS["xxhash"](value) == xxhash.xxh3_128_digest(text)


def test_a_cbor_digest_as_integer_is_its_last_eight_bytes():
    digest = bytes(range(32))
    assert digest_as_int("sha256_cbor", digest) == 0x18191A1B1C1D1E1F
    assert digest_as_int("sha256_cbor_64bit", digest) == 0x18191A1B1C1D1E1F


def test_another_digest_as_integer_is_all_of_it():
    assert digest_as_int("sha256", b"\x01" + bytes(31)) == 2**248


def test_token_hashes_start_from_blake3_of_zeros():
    assert blake3(bytes(12)).digest() == NONE_TOKEN_HASH


def test_token_hashes_chain_big_endian_tokens():
    first = blake3(NONE_TOKEN_HASH + bytes.fromhex("00000001 00010000")).digest()
    second = blake3(first + bytes.fromhex("ffffffff 00000000")).digest()
    assert token_hashes([1, 65536, 2**32 - 1, 0], 2) == [first, second]


@given(st.lists(st.integers(0, 2**32 - 1), max_size=40), st.integers(1, 9))
def test_there_is_one_token_hash_per_full_chunk_and_none_for_the_rest(found, size):
    hashes = token_hashes(found, size)
    assert len(hashes) == len(found) // size
    assert all(len(digest) == 32 for digest in hashes)


@given(st.lists(st.integers(0, 2**32 - 1), max_size=40), st.integers(1, 9), st.integers(0, 40))
def test_token_hashes_of_a_prefix_are_a_prefix_of_the_hashes(found, size, cut):
    part = token_hashes(found[:cut], size)
    assert token_hashes(found, size)[: len(part)] == part


@pytest.mark.parametrize("token", [-1, 2**32])
def test_a_token_beyond_32_bits_is_no_token(token):
    with pytest.raises(struct.error):
        token_hashes([token], 1)
