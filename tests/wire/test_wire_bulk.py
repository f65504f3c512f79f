"""Chains of long lists of tokens: as link by link, whatever the tokens are."""

import hashlib
import random
import struct
from unittest import mock

import cbor2
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wire import bulk, chunks, hashes, token_bytes
from wire.chunks import CHUNK_CHAINS, TEXT_ALGORITHM, chunk_hashes
from wire.errors import EncodeError
from wire.hashes import DIGESTS, token_hashes
from wire.release import Release
from wire.token_bytes import cbor, tokens32

GENERATIONS = ("0.3.1", "0.3.3", "0.3.4", "0.3.11", "0.4.1", "0.4.6")
EDGES = (0, 1, 23, 24, 255, 256, 65535, 65536, 2**31 - 1)
ODD = (-1, -2, True, False, 2**31, 2**32 - 1, 2**32, 2**61 - 1, 2**61, -(2**63), 2**64, 2**300)
WRONG = (1.0, 2.5, float("nan"), "7", None, (1, 2), b"\x01", [3], np.int64(5), 1j)

plain = st.integers(0, 2**31 - 1) | st.sampled_from(EDGES) | st.integers(0, 300)
odd = plain | st.sampled_from(ODD) | st.integers()
chunk_sizes = st.integers(1, 9) | st.sampled_from([16, 40])

CHAINS = [
    (Release.parse(text), algorithm, returns)
    for text in GENERATIONS
    for algorithm in ((TEXT_ALGORITHM,) if CHUNK_CHAINS[Release.parse(text)].third == "text chain" else ("builtin", *DIGESTS))
    for returns in (("int",) if algorithm in {"builtin", TEXT_ALGORITHM} else ("int", "bytes"))
]
every_chain = pytest.mark.parametrize(
    ("release", "algorithm", "returns"), CHAINS, ids=[f"{release}-{name}-{returns}" for release, name, returns in CHAINS]
)


def outcome(what):
    """What a call gives, with the types of what is in it, or how it fails."""
    try:
        made = what()
    except Exception as error:  # noqa: BLE001  # any failure is an outcome
        return type(error), str(error)
    return made, [type(value) for value in made]


def both_ways(what):
    """The outcomes in bulk, with parts of a few tokens, and link by link."""
    with mock.patch.object(chunks, "MANY", 0), mock.patch.object(hashes, "MANY", 0), mock.patch.object(bulk, "_PART", 64):
        in_bulk = outcome(what)
    with mock.patch.object(chunks, "MANY", 1 << 60), mock.patch.object(hashes, "MANY", 1 << 60):
        return in_bulk, outcome(what)


def chunked(release, algorithm, returns, tokens, chunk_size, **options):
    start = "" if algorithm == TEXT_ALGORITHM else 0 if returns == "int" else bytes(range(32))
    options = {"none_hash": start, "returns": returns, "save_unfull_chunk": True, "hash_of_none": 5, **options}
    return lambda: chunk_hashes(release, tokens, chunk_size=chunk_size, algorithm=algorithm, **options)


@every_chain
@settings(max_examples=15)
@given(tokens=st.lists(plain, max_size=200), chunk_size=chunk_sizes)
@example(tokens=[*EDGES, *EDGES], chunk_size=4)
def test_chunks_are_the_same(release, algorithm, returns, tokens, chunk_size):
    in_bulk, by_links = both_ways(chunked(release, algorithm, returns, tokens, chunk_size))
    assert in_bulk == by_links


@every_chain
@settings(max_examples=10)
@given(tokens=st.lists(odd, max_size=60), chunk_size=chunk_sizes, start=st.integers())
def test_negative_and_huge_tokens_and_starts_are_no_exception(release, algorithm, returns, tokens, chunk_size, start):
    in_bulk, by_links = both_ways(chunked(release, algorithm, returns, tokens, chunk_size, none_hash=start))
    assert in_bulk == by_links


@every_chain
@pytest.mark.parametrize("wrong", [*ODD, *WRONG], ids=repr)
def test_an_odd_token_among_others_has_the_same_outcome(release, algorithm, returns, wrong):
    tokens = [*range(100), wrong, *range(70000, 70100)]
    in_bulk, by_links = both_ways(chunked(release, algorithm, returns, tokens, 8))
    assert in_bulk == by_links or repr(in_bulk) == repr(by_links)


@pytest.mark.parametrize("wrong", [7, *ODD, *WRONG], ids=repr)
def test_an_odd_token_in_a_long_chunk_has_the_same_outcome(wrong):
    tokens = [*range(100), wrong, *range(70000, 70100)]
    in_bulk, by_links = both_ways(chunked(Release.parse("0.5.6"), "builtin", "int", tokens, 64))
    assert in_bulk == by_links or repr(in_bulk) == repr(by_links)


@every_chain
@pytest.mark.parametrize(
    "make", [tuple, lambda tokens: range(10**4, 10**4 + len(tokens)), np.array], ids=["tuple", "range", "array"]
)
def test_other_sequences_than_lists_have_the_same_outcome(release, algorithm, returns, make):
    tokens = make([*range(99), *EDGES])
    in_bulk, by_links = both_ways(chunked(release, algorithm, returns, tokens, 8))
    assert in_bulk == by_links


@every_chain
@pytest.mark.parametrize("skip", [0, 8, 40, 104, 160])
def test_masked_tokens_are_left_out(release, algorithm, returns, skip):
    in_bulk, by_links = both_ways(chunked(release, algorithm, returns, list(range(105)), 8, skip=skip))
    assert in_bulk == by_links
    assert [chunk.start for chunk in in_bulk[0]] == list(range(skip, 105, 8))


@pytest.mark.parametrize("hash_of_none", [0, 5, -1, -2, 8_776_201_034_686, 2**61 - 2, 2**61, -(2**63), 2**64 - 1])
def test_none_hashes_to_what_is_given(hash_of_none):
    tokens = list(range(300))
    in_bulk, by_links = both_ways(chunked(Release.parse("0.3.15"), "builtin", "int", tokens, 8, hash_of_none=hash_of_none))
    assert in_bulk == by_links


def test_a_missing_hash_of_none_is_still_refused():
    with pytest.raises(EncodeError, match=r"contain hash\(None\)"):
        chunk_hashes(Release.parse("0.3.15"), list(range(1000)), chunk_size=8)


def test_a_token_of_more_than_32_bits_is_still_named():
    with pytest.raises(EncodeError, match=f"token {2**32} does not fit into 32 bits"):
        chunk_hashes(Release.parse("0.3.1"), [*range(1000), 2**32], chunk_size=8, algorithm=TEXT_ALGORITHM)


@given(tokens=st.lists(odd, max_size=100), chunk_size=chunk_sizes)
def test_token_hashes_are_the_same(tokens, chunk_size):
    in_bulk, by_links = both_ways(lambda: token_hashes(tokens, chunk_size))
    assert in_bulk == by_links


def test_a_token_that_blake3_words_cannot_hold_is_still_refused():
    with pytest.raises(struct.error):
        token_hashes([*range(1000), -1, *range(15)], 16)


@pytest.mark.parametrize("algorithm", ["builtin", *DIGESTS])
def test_a_long_prompt_has_the_hashes_of_its_links(algorithm):
    chosen = random.Random(7)
    tokens = [chosen.randrange(chosen.choice((20, 200, 60000, 150000, 2**31))) for _ in range(100_003)]
    release = Release.parse("0.5.6")
    made = chunk_hashes(release, tokens, chunk_size=256, algorithm=algorithm, returns="bytes", save_unfull_chunk=True)
    with mock.patch.object(chunks, "MANY", 1 << 60):
        assert chunk_hashes(release, tokens, chunk_size=256, algorithm=algorithm, returns="bytes", save_unfull_chunk=True) == made


def test_the_quick_ways_are_taken():
    tokens, starts = [*EDGES, *range(7)], range(0, 16, 8)
    for third in ((), (None,), ((),)):
        assert bulk.builtin(third, 5)(tokens, starts, 0) is not None
        for algorithm in DIGESTS:
            assert bulk.digests(algorithm, third, bytes, None)(tokens, starts, 0) is not None
    assert bulk.hex_words(tokens, starts, "") is not None
    assert bulk.blake3_words(tokens, starts, bytes(32)) is not None


@pytest.mark.parametrize("tokens", [[], [-1], [2**31], [True], [1.0], [None], ["7"], [1, np.int64(2)], [2**40, 1]], ids=repr)
def test_only_plain_tokens_of_31_bits_make_an_array(tokens):
    assert tokens32(tokens) is None


@given(st.lists(plain, min_size=1))
def test_an_array_holds_the_tokens(tokens):
    assert tokens32(tokens).tolist() == tokens
    assert tokens32(tuple(tokens)).tolist() == tokens


@given(tokens=st.lists(plain, min_size=1, max_size=60))
def test_tokens_are_written_in_cbor_one_after_the_other(tokens):
    body, begins, ends = cbor(tokens32(tokens), 1)
    assert [body[begin:end] for begin, end in zip(begins, ends, strict=True)] == [cbor2.dumps(token) for token in tokens]
    assert begins[0] == 0
    assert [*begins[1:]] == [*ends[:-1]]


@given(chunks=st.integers(1, 5), size=st.integers(1, 4), between=st.binary(min_size=1, max_size=40), data=st.data())
def test_room_is_made_before_each_chunk_and_behind_the_last(chunks, size, between, data):
    tokens = data.draw(st.lists(plain, min_size=chunks * size, max_size=chunks * size))
    body, begins, ends = cbor(tokens32(tokens), size, between)
    written = [b"".join(map(cbor2.dumps, tokens[at : at + size])) for at in range(0, len(tokens), size)]
    assert bytes(body[: ends[-1] + len(between)]) == between + between.join(written) + between
    assert [bytes(body[begin:end]) for begin, end in zip(begins, ends, strict=True)] == written


@given(chunks=st.integers(1, 5), size=st.integers(1, 4), between=st.binary(max_size=40), data=st.data())
def test_tokens_written_one_by_one_are_the_same(chunks, size, between, data):
    tokens = tokens32(data.draw(st.lists(plain, min_size=chunks * size, max_size=chunks * size)))
    quick, slow = cbor(tokens, size, between), token_bytes.cbor_joined(tokens, size, between)
    assert [bytes(quick[0][: quick[2][-1] + len(between)]), *map(list, quick[1:])] == [
        bytes(slow[0][: slow[2][-1] + len(between)]),
        *map(list, slow[1:]),
    ]


def test_numpy_is_asked_for_the_order_of_its_assignments():
    assert token_bytes.OVERWRITES_IN_TURN
    assert token_bytes.overwrites_in_turn()


class Backwards(np.ndarray):
    """An array that assigns from the last place to the first."""

    def __setitem__(self, places, values):
        super().__setitem__(places[::-1], values[::-1])


def test_another_order_of_assignments_is_noticed_and_tokens_are_written_one_by_one():
    anywhere = token_bytes._anywhere
    tokens = [random.Random(3).randrange(1 << 17) for _ in range(640)]
    release = Release.parse("0.5.6")
    with mock.patch.object(token_bytes, "_anywhere", lambda made, kind: anywhere(made, kind).view(Backwards)):
        assert not token_bytes.overwrites_in_turn()
        with mock.patch.object(token_bytes, "OVERWRITES_IN_TURN", False):
            made = chunk_hashes(release, tokens, chunk_size=16, algorithm="sha256_cbor", none_hash=bytes(32))
    with mock.patch.object(chunks, "MANY", 1 << 60):
        assert chunk_hashes(release, tokens, chunk_size=16, algorithm="sha256_cbor", none_hash=bytes(32)) == made


def test_a_hash_that_is_short_in_cbor_is_followed_by_the_right_one():
    """One in 2^32 hashes has four zeros in front; a digest that often has them shows that the next hash is right."""

    def digest(data):
        made = hashlib.sha256(data).digest()
        return bytes(8) + made[8:] if made[0] < 64 else bytes(7) + made[7:] if made[0] < 128 else made

    tokens = [random.Random(1).randrange(1 << 17) for _ in range(400)]
    quick = bulk._of_cbor(digest, (None,), lambda made: int.from_bytes(made[:8], "big"), slice(8))
    previous, expected = 7, []
    for at in range(0, 400, 4):
        previous = int.from_bytes(digest(cbor2.dumps((previous, tuple(tokens[at : at + 4]), None), canonical=True))[:8], "big")
        expected.append(previous)
    assert 0 in expected
    assert quick(tokens, range(0, 400, 4), 7) == expected
