"""Chunk keys: cutting, masking, chaining."""

import hashlib

import cbor2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wire.chunks import CHUNK_CHAINS, TEXT_ALGORITHM, Chunk, chunk_hashes, chunk_keys
from wire.errors import EncodeError
from wire.keys import CacheKey
from wire.release import KNOWN_RELEASES, Release

GENERATIONS = ("0.3.1", "0.3.3", "0.3.4", "0.3.11", "0.4.1", "0.4.6")
NONE = 5
"""What hash(None) is in the process that these tests model."""

every_generation = pytest.mark.parametrize("release", [Release.parse(text) for text in GENERATIONS], ids=GENERATIONS)
token_lists = st.lists(st.integers(0, 2**32 - 1), max_size=30)


def release_of(text):
    return Release.parse(text)


def chunks_of(release, tokens, **options):
    """Chunks by the algorithm that every release of the generation has."""
    text = CHUNK_CHAINS[release].third == "text chain"
    named = {"algorithm": TEXT_ALGORITHM, "none_hash": ""} if text else {"algorithm": "builtin", "none_hash": 0}
    return chunk_hashes(release, tokens, **{"chunk_size": 4, "hash_of_none": NONE, **named, **options})


def spans(chunks):
    return [(chunk.start, chunk.end) for chunk in chunks]


@every_generation
def test_the_last_chunk_is_saved_if_asked_for(release):
    assert spans(chunks_of(release, range(9), save_unfull_chunk=True)) == [(0, 4), (4, 8), (8, 9)]
    assert spans(chunks_of(release, range(9), save_unfull_chunk=False)) == [(0, 4), (4, 8)]
    assert spans(chunks_of(release, range(8), save_unfull_chunk=True)) == [(0, 4), (4, 8)]


@pytest.mark.parametrize("text", KNOWN_RELEASES)
def test_the_last_chunk_is_saved_by_default_until_0_3_10(text):
    release = release_of(text)
    count = len(chunks_of(release, range(9)))
    assert count == (3 if release < release_of("0.3.11") else 2)


@every_generation
@settings(max_examples=25)
@given(tokens=token_lists, skip=st.integers(0, 9))
def test_masked_tokens_are_hashed_and_left_out(release, tokens, skip):
    every = chunks_of(release, tokens)
    assert chunks_of(release, tokens, skip=4 * skip) == every[skip:]


@every_generation
def test_a_mask_that_cuts_a_chunk_is_refused(release):
    with pytest.raises(EncodeError, match="5 masked tokens are no multiple of the chunk size 4"):
        chunks_of(release, range(9), skip=5)


@every_generation
@settings(max_examples=25)
@given(tokens=token_lists, more=token_lists)
def test_hashes_of_full_chunks_depend_on_what_came_before_only(release, tokens, more):
    before = chunks_of(release, tokens, save_unfull_chunk=False)
    after = chunks_of(release, tokens + more, save_unfull_chunk=True)
    assert after[: len(before)] == before


@every_generation
def test_a_changed_token_changes_its_chunk_and_every_later_one(release):
    plain = chunks_of(release, range(16))
    changed = chunks_of(release, [*range(5), 99, *range(6, 16)])
    assert [left == right for left, right in zip(plain, changed, strict=True)] == [True, False, False, False]


@every_generation
def test_no_tokens_make_no_chunks(release):
    assert chunks_of(release, []) == []


def test_the_text_chain_hashes_the_ascii_of_the_digest_before():
    words = bytes.fromhex("01000000 00000100")
    first = hashlib.sha256(words).hexdigest()
    second = hashlib.sha256(first.encode() + words).hexdigest()
    found = chunks_of(release_of("0.3.1"), [1, 65536] * 2, chunk_size=2)
    assert [chunk.chunk_hash for chunk in found] == [first, second]


@pytest.mark.parametrize(
    ("text", "third"), [("0.3.3", ()), ("0.3.4", (NONE,)), ("0.3.15", (NONE,)), ("0.4.1", ((),)), ("0.5.6", ((),))]
)
def test_builtin_hashes_a_tuple_of_prefix_tokens_and_third(text, third):
    first = hash((0, (1, 2), *third))
    second = hash((first, (3,), *third))
    found = chunks_of(release_of(text), [1, 2, 3], chunk_size=2, save_unfull_chunk=True)
    assert [chunk.chunk_hash for chunk in found] == [first, second]


@pytest.mark.parametrize("text", ["0.3.4", "0.3.11", "0.3.15"])
def test_builtin_chains_of_0_3_4_to_0_3_15_need_the_hash_of_none(text):
    with pytest.raises(EncodeError, match=rf"builtin chunk keys of lmcache {text} contain hash\(None\)"):
        chunks_of(release_of(text), range(9), hash_of_none=None)


@pytest.mark.parametrize("text", ["0.3.3", "0.4.1", "0.5.6"])
def test_other_builtin_chains_do_not_need_the_hash_of_none(text):
    assert chunks_of(release_of(text), range(9), hash_of_none=None) == chunks_of(release_of(text), range(9))


def _sha256_cbor(*value):
    return hashlib.sha256(cbor2.dumps(value)).digest()


def test_digests_chain_as_bytes_until_0_4_5():
    start = b"\x07" * 32
    first = _sha256_cbor(start, [1, 2], [])
    second = _sha256_cbor(first, [3, 4], [])
    found = chunks_of(release_of("0.4.5"), [1, 2, 3, 4], chunk_size=2, algorithm="sha256_cbor", none_hash=start)
    assert [chunk.chunk_hash for chunk in found] == [first, second]


def test_from_0_4_6_the_first_eight_bytes_of_a_digest_are_chained_as_an_integer():
    start = b"\x07" * 32
    first = int.from_bytes(_sha256_cbor(0x0707070707070707, [1, 2], [])[:8], "big")
    second = int.from_bytes(_sha256_cbor(first, [3, 4], [])[:8], "big")
    found = chunks_of(release_of("0.4.6"), [1, 2, 3, 4], chunk_size=2, algorithm="sha256_cbor", none_hash=start)
    assert [chunk.chunk_hash for chunk in found] == [first, second]


@pytest.mark.parametrize("text", ["0.3.11", "0.4.5", "0.4.6"])
def test_integers_are_chained_as_they_are(text):
    third = None if text == "0.3.11" else []
    low = [int.from_bytes(_sha256_cbor(9, [1, 2], third)[-8:], "big")]
    low.append(int.from_bytes(_sha256_cbor(low[0], [3, 4], third)[-8:], "big"))
    found = chunks_of(release_of(text), [1, 2, 3, 4], chunk_size=2, algorithm="sha256_cbor_64bit", none_hash=9)
    assert [chunk.chunk_hash for chunk in found] == low


@pytest.mark.parametrize("text", ["0.3.3", "0.5.6"])
def test_an_unknown_algorithm_is_refused_with_the_known_ones(text):
    with pytest.raises(EncodeError, match="unknown hash algorithm 'md5'; known: builtin, sha256_cbor"):
        chunks_of(release_of(text), [1, 2], algorithm="md5")


def test_the_first_releases_have_one_algorithm():
    with pytest.raises(EncodeError, match=r"lmcache 0\.3\.1 has one algorithm, sha256_hex, not 'builtin'"):
        chunks_of(release_of("0.3.1"), [1, 2], algorithm="builtin", save_unfull_chunk=True)


@pytest.mark.parametrize("none_hash", [b"\x07" * 32, "07"])
def test_builtin_cannot_start_from_a_hash_that_python_salts(none_hash):
    with pytest.raises(EncodeError, match="builtin"):
        chunks_of(release_of("0.4.1"), [1, 2, 3, 4], none_hash=none_hash)


def test_chunk_keys_carry_the_identity_and_the_hash_of_each_chunk():
    identity = CacheKey("m", 8, 3, 0, "float16", tags=(("user", "alice"),))
    keys = chunk_keys(release_of("0.5.6"), identity, [Chunk(0, 4, 0xAB), Chunk(4, 8, -1)])
    assert keys == ["m@8@3@ab@half@user%alice", "m@8@3@-1@half@user%alice"]


def test_chunk_keys_carry_the_engine_and_the_layer():
    identity = CacheKey("m", 8, 3, 0, "float16", fmt="vllm", layer=2)
    assert chunk_keys(release_of("0.3.12"), identity, [Chunk(0, 4, 0xAB)]) == ["vllm@m@8@3@ab@half@2"]


def test_digests_make_no_keys_before_0_3_13():
    with pytest.raises(EncodeError, match="a chunk hash of type bytes cannot be written"):
        chunk_keys(release_of("0.3.12"), CacheKey("m", 1, 0, 0, "float16", fmt="vllm"), [Chunk(0, 4, bytes(32))])
