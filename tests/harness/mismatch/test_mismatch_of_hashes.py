"""Expected hashes that are made in another way, each with exactly the cause that makes the difference."""

import hashlib

import pytest
from derived import (
    NONE,
    SALTED_0,
    TOKENS,
    builtins,
    cut,
    digests,
    first8,
    folded,
    keys,
    last8,
    little8,
    sha,
    signed8,
    texts,
    token_hashes,
    whole,
    written,
    xxh,
)

OLD = {"lmcache": "0.4.5"}
"""Digests go on whole."""
TEXT = {"lmcache": "0.3.1"}

PLAIN = hashlib.sha256(b"0").digest()

SEEDED = {
    # seeds
    "seed=42": ({}, lambda: folded("42")),
    "seed=00": ({}, lambda: folded("00")),
    "seed=random": ({}, lambda: folded("random")),
    "seed=": ({}, lambda: folded("")),
    "seed-unset": ({"vllm": "0.30.0"}, lambda: folded("vllm-none-hash")),
    "seed=0": ({"seed": None, "vllm": "0.11.0"}, folded),
    # what the chain starts from
    "none-hash-zero": ({}, lambda: digests(cut(), 0)),
    "none-hash-none": ({}, lambda: digests(cut(), None)),
    "none-hash-empty": ({}, lambda: digests(cut(), b"")),
    "none-hash-zero-bytes": ({}, lambda: digests(cut(), bytes(32))),
    "none-hash-of-number": ({}, lambda: digests(cut(), first8(sha(0)))),
    "none-hash-of-bytes": ({}, lambda: digests(cut(), first8(sha(b"0")))),
    "none-hash-plain": ({}, lambda: digests(cut(), first8(PLAIN))),
    "none-hash-is-seed": ({"seed": "1"}, lambda: digests(cut(), 1)),
    "none-hash-unfolded": ({}, lambda: digests(cut(), sha("0"))),
    "none-hash-folded": (OLD, lambda: digests(cut(), first8(sha("0")), carry=whole)),
    # chunks
    "chunk-size=32": ({}, lambda: folded(pieces=cut(size=32))),
    "chunk-size=8": ({}, lambda: folded(pieces=cut(size=8))),
    "chunk-size=17": ({}, lambda: folded(pieces=cut(size=17))),
    "chunk-size=53": ({}, lambda: folded(pieces=[tuple(TOKENS)])),
    # the third element
    "third-none": ({}, lambda: folded(third=(None,))),
    "third-absent": ({}, lambda: folded(third=())),
    "third-empty-tuple": ({"lmcache": "0.3.14"}, lambda: digests(cut(), sha("0"), carry=whole)),
    "third-none-as-zero": (
        {"lmcache": "0.3.14", "algorithm": "builtin", "vllm": None},
        lambda: builtins(cut(), 0, third=(0,)),
    ),
    # digests
    "fold-none": ({}, lambda: digests(cut(), sha("0"), carry=whole)),
    "fold-first-8": (OLD, folded),
    "fold-little-endian": ({}, lambda: digests(cut(), little8(sha("0")), carry=little8)),
    "fold-signed": ({}, lambda: digests(cut(), signed8(sha("0")), carry=signed8)),
    "fold-at-end": ({}, lambda: [first8(value) for value in digests(cut(), sha("0"), carry=whole)]),
    "fold-last-8-at-end": (OLD, lambda: [last8(value) for value in digests(cut(), sha("0"), carry=whole)]),
    "chain-through-hex": ({}, lambda: [bytes.fromhex(text) for text in digests(cut(), sha("0").hex(), carry=bytes.hex)]),
    # functions
    "algorithm=builtin": ({}, lambda: builtins(cut(), SALTED_0["3.12"])),
    "algorithm=sha256_cbor": ({"algorithm": "builtin"}, folded),
    "algorithm=xxhash_cbor": ({}, lambda: digests(cut(), first8(xxh("0")), digest=xxh)),
    "vllm-missing": ({}, lambda: builtins(cut(), 0)),
    "vllm-version=0.10.0 and later, before 0.10.2": (
        {"algorithm": "sha256_cbor_64bit"},
        lambda: digests(cut(), last8(sha("0")), carry=last8),
    ),
    "vllm-version=0.10.2 and later": (
        {"algorithm": "sha256_cbor_64bit", "vllm": "0.10.1"},
        folded,
    ),
    "python=3.10": ({"algorithm": "builtin"}, lambda: builtins(cut(), SALTED_0["3.10"])),
    # tokens
    "leading-tokens-missing=1": ({}, lambda: folded(pieces=cut(TOKENS[1:]))),
    "leading-tokens-missing=3": ({}, lambda: folded(pieces=cut(TOKENS[3:]))),
    "leading-token-added=128000": ({}, lambda: folded(pieces=cut([128000, *TOKENS]))),
    "leading-token-twice=5": (
        {"tokens": [5, *TOKENS]},
        lambda: folded(pieces=cut([5, 5, *TOKENS])),
    ),
    "skip-not-hashed=16": ({"skip": 16}, lambda: folded(pieces=cut(TOKENS[16:]))),
    # other chains
    "mp-token-hash": ({}, lambda: token_hashes(cut())),
    "vllm-block-hash": ({"chunk_size": 32}, lambda: digests(cut(), sha("0"), third=(None,), carry=whole)),
    "words-big-endian": (TEXT, lambda: texts(cut(), form=">I")),
    "words-64-bit": (TEXT, lambda: texts(cut(), form="<Q")),
    "words-64-bit-big-endian": (TEXT, lambda: texts(cut(), form=">Q")),
    "chain-through-digest": (TEXT, lambda: texts(cut(), as_text=False)),
}


def bare(values):
    return [value if isinstance(value, str) else written(value) for value in values]


@pytest.mark.parametrize("cause", SEEDED)
def test_the_cause_is_named_and_no_other(causes, cause):
    deployment, make = SEEDED[cause]
    assert causes(bare(make()), **deployment) == [{cause}]


@pytest.mark.parametrize("cause", [cause for cause, (deployment, _) in SEEDED.items() if deployment.get("lmcache") != "0.3.1"])
def test_the_cause_is_named_for_whole_keys_as_well(causes, cause):
    deployment, make = SEEDED[cause]
    assert causes(keys(make()), **deployment) == [{cause}]


def test_chunks_that_are_hashed_alone_are_seen_from_the_second_on(causes):
    alone = [first8(sha((first8(sha("0")), piece, ()))) for piece in cut()]
    assert causes(bare(alone)) == [{"not-chained"}]
    assert causes(written(alone[2])) == [{"not-chained"}]


def test_0_is_also_what_a_vllm_without_kv_cache_utils_gives(comparison):
    (explanation,) = comparison(bare(digests(cut(), 0)), seed="1").explanations
    assert [[cause.id for cause in causes] for causes in explanation.also] == [["kv-cache-utils-missing"]]


def test_a_chunk_alone_and_a_chain_that_begins_there_are_the_same(causes):
    assert causes(bare(folded(pieces=cut(TOKENS[32:]))), skip=32) == [{"skip-not-hashed=32"}, {"not-chained"}]


def test_the_last_8_bytes_are_what_old_versions_of_vllm_gave(comparison):
    found = comparison(bare(digests(cut(), last8(sha("0")), carry=last8)))
    (explanation,) = found.explanations
    assert {explanation.causes[0].id, explanation.also[0][0].id} == {"fold-last-8", "vllm-version"}


def test_big_endian_token_hashes_read_as_little_endian_ones_are_two_causes(causes):
    import struct

    from blake3 import blake3

    start = blake3(bytes(12)).digest()
    value = blake3(start + struct.pack("<16I", *TOKENS[:16])).digest()
    assert causes(value.hex()) == [{"mp-token-hash", "words-little-endian"}]


def test_none_hashes_to_a_constant_from_python_3_12_on(causes):
    expected = bare(builtins(cut(), 0, third=(NONE,)))
    assert causes(expected, lmcache="0.3.14", algorithm="builtin", vllm=None, python="3.11") == [{"python=3.12"}]


COMBINED = {
    "seed and chunk size": (
        {},
        lambda: folded("42", pieces=cut(size=32)),
        {"seed=42", "chunk-size=32"},
    ),
    "algorithm and seed": (
        {},
        lambda: digests(cut(), first8(xxh("123")), digest=xxh),
        {"algorithm=xxhash_cbor", "seed=123"},
    ),
    "0 and whole digests": (
        {},
        lambda: digests(cut(), 0, carry=whole),
        {"none-hash-zero", "fold-none"},
    ),
    "first token and chunk size": (
        {},
        lambda: folded(pieces=cut(TOKENS[1:], size=8)),
        {"leading-tokens-missing=1", "chunk-size=8"},
    ),
    "token hashes of other chunks": (
        {},
        lambda: token_hashes(cut(size=8)),
        {"mp-token-hash", "chunk-size=8"},
    ),
    "seed, chunk size and third element": (
        {},
        lambda: folded("1", pieces=cut(size=32), third=(None,)),
        {"seed=1", "chunk-size=32", "third-none"},
    ),
    "builtin, seed 0 of none, chunks of 32": (
        {"seed": "123"},
        lambda: builtins(cut(size=32), SALTED_0["3.12"]),
        {"algorithm=builtin", "seed=0", "chunk-size=32"},
    ),
}


@pytest.mark.parametrize("name", COMBINED)
def test_two_or_three_causes_are_found_together(causes, name):
    deployment, make, expected = COMBINED[name]
    assert causes(bare(make()), **deployment) == [expected]


def test_explanations_that_one_key_cannot_tell_apart_are_all_given_and_a_second_key_decides(causes):
    made = bare([first8(value) for value in digests(cut(), sha("0"), carry=whole)])
    assert {"fold-at-end"} in causes(made[0])
    assert {"none-hash-unfolded"} in causes(made[0])
    assert causes(made[:2]) == [{"fold-at-end"}]
