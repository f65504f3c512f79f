"""Deployments: which hash function and which NONE_HASH follow from what is installed and set; and the captures that say so."""

import os
import subprocess
import sys
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixturegen.corpus import captured_releases, load_corpus
from wire.deployments import Deployment, hashing, vllm_hashes, world_size_in_keys
from wire.errors import EncodeError
from wire.hashes import text_hash
from wire.release import Release

CAPTURED = [release for release in captured_releases() if "deployment_keys" in load_corpus(release).vectors]
every_release = pytest.mark.parametrize("release", CAPTURED, ids=str)


NOTHING_REPRODUCIBLE = ("0.3.9", "0.3.9.post1")
"""They find digests alone, and cannot write them; everything else is builtin, with hash(None) in it."""


def deployment(lmcache="0.5.6", vllm="0.28.0", algorithm="sha256_cbor", seed="0", complete=True):
    return Deployment(Release.parse(lmcache), vllm, algorithm, seed, complete)


def of_vector(release, args):
    return Deployment(release, args["vllm"], args["algorithm"], args["seed"], args["kv_cache_utils"])


def as_json(value):
    if value is None:
        return {"masked": True}
    return {"bytes": value.hex()} if isinstance(value, bytes) else {"int": str(value)}


@every_release
def test_function_and_starting_hash_are_those_of_the_captures(release):
    vectors = [vector for vector in load_corpus(release).vectors["deployment_keys"] if vector.ok is not None]
    assert len(vectors) > 40
    for vector in vectors:
        found = hashing(of_vector(release, vector.args))
        captured = vector.answer["function"].rpartition(".")[2], vector.answer["returns"], vector.answer["none_hash"]
        assert (found.function, found.returns, as_json(found.none_hash)) == captured, vector.id


@every_release
def test_a_chain_that_lmcache_cannot_write_is_one_of_digests(release):
    for vector in load_corpus(release).vectors["deployment_keys"]:
        if vector.ok is None:
            assert hashing(of_vector(release, vector.args)).returns == "bytes", vector.id


@every_release
def test_world_size_in_keys_is_that_of_the_captures(release):
    place = 2 if load_corpus(release).vectors["deployment_keys"][0].args["fmt"] is not None else 1
    compared = 0
    for vector in load_corpus(release).vectors["deployment_keys"]:
        args = vector.args
        if vector.ok is None or vector.volatile or not vector.answer["chunks"]:
            continue
        expected = world_size_in_keys(
            release, args["world_size"], mla=args["mla"], save_only_first_rank=args["save_only_first_rank"]
        )
        assert vector.answer["chunks"][0]["key"].split("@")[place] == str(expected), vector.id
        compared += args["world_size"] > 1
    assert compared > 2 or str(release) in NOTHING_REPRODUCIBLE


@pytest.mark.parametrize("seed", ["0", "1", "4242", "4294967295"])
def test_the_hash_of_a_text_is_that_of_a_process_with_the_seed(seed):
    texts = ["", "0", "4242", "vllm-none-hash", "seven c", "eight ch", "nine char", "\xe9", "x" * 1000]
    code = f"print(*map(hash, {texts!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert [text_hash(text, seed=int(seed)) for text in texts] == [int(word) for word in done.stdout.split()]


@given(st.text(st.characters(max_codepoint=255)), st.integers(0, 2**32 - 1))
def test_the_hash_of_a_text_fits_64_bits_and_is_never_minus_one(text, seed):
    value = text_hash(text, seed=seed)
    assert -(2**63) <= value < 2**63
    assert value != -1


def test_a_text_that_cpython_holds_in_wider_characters_is_refused():
    with pytest.raises(UnicodeEncodeError):
        text_hash("模", seed=0)


def test_the_starting_hash_is_of_the_text_of_the_seed():
    assert hashing(deployment(seed="0")).none_hash != hashing(deployment(seed="00")).none_hash


def test_the_empty_seed_is_a_text_for_vllm_and_none_for_python():
    assert hashing(deployment(seed="")).none_hash is not None
    # Python salts the hashes of all texts but the empty one, which is 0 in every process.
    assert hashing(deployment(seed="", algorithm="builtin")).none_hash == 0


def test_random_is_a_text_for_vllm_and_no_seed_for_python():
    assert hashing(deployment(seed="random")).none_hash is not None
    assert hashing(deployment(seed="random", algorithm="builtin")).none_hash is None


@pytest.mark.parametrize("seed", ["-1", "4294967296", "1.0", "abc", "٣"])
def test_a_seed_that_python_does_not_start_with_is_refused(seed):
    with pytest.raises(EncodeError, match="integer from 0 to 4294967295"):
        hashing(deployment(seed=seed))


@pytest.mark.parametrize(
    ("version", "returns"), [("0.10.1.1", "int"), ("0.10.2", "bytes"), ("0.12.0", "bytes"), ("1.0", "bytes")]
)
def test_versions_between_the_captured_ones_have_the_functions_that_were_read_there(version, returns):
    found = vllm_hashes(version)
    assert found is not None
    assert found.returns == returns


def test_vllm_has_xxhash_from_0_13_on():
    before, since = vllm_hashes("0.12.0"), vllm_hashes("0.13.0")
    assert before is not None
    assert since is not None
    assert [name for name in since.functions if name not in before.functions] == ["xxhash", "xxhash_cbor"]


@pytest.mark.parametrize(("version", "says"), [("soon", "'soon' is not a version of vLLM"), ("0.9.2", "known from 0.10.0 on")])
def test_a_vllm_that_is_not_known_is_refused(version, says):
    with pytest.raises(EncodeError, match=says):
        hashing(deployment(vllm=version))


def test_without_the_seed_a_starting_hash_is_random_until_vllm_0_28_and_fixed_from_0_29_on():
    assert hashing(deployment(vllm="0.28.0", seed=None)).none_hash is None
    assert hashing(deployment(vllm="0.29.0", seed=None)).none_hash == sha256(b"\x6evllm-none-hash").digest()


def test_xxhash_and_builtin_stay_random_without_the_seed():
    assert hashing(deployment(vllm="0.33.0", seed=None, algorithm="xxhash_cbor")).none_hash is None
    assert hashing(deployment(vllm="0.33.0", seed=None, algorithm="builtin")).none_hash is None


def test_releases_before_0_3_3_hash_without_vllm():
    found = hashing(deployment(lmcache="0.3.2"))
    assert (found.function, found.none_hash) == ("sha256_hex", "")
