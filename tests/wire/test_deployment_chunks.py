"""Chunks of a deployment, and what its Python and its seed have to do with them."""

import os
import subprocess
import sys

import pytest

from wire.deployments import (
    Deployment,
    deployment_chunks,
    hash_of_none,
    hashing,
    none_hash_text,
    python_version,
    seed_number,
    vllm_ranges,
)
from wire.errors import EncodeError
from wire.hashes import HASH_OF_NONE, text_hash
from wire.release import Release

TOKENS = list(range(1, 10))
SALTED = {"3.8": -5282990986457227702, "3.10": -5282990986457227702, "3.11": 5313149338359954478, "3.13": 5313149338359954478}
"""hash('0') under PYTHONHASHSEED=0, as these interpreters gave it."""


def deployment(lmcache="0.5.6", vllm="0.11.0", algorithm="builtin", seed="0", python="3.12"):
    return Deployment(Release.parse(lmcache), vllm, algorithm, seed, python=python)


def chunk_values(found):
    return [chunk.chunk_hash for chunk in deployment_chunks(found, TOKENS, chunk_size=4)]


@pytest.mark.parametrize("python", SALTED)
def test_the_hash_of_the_seed_is_that_of_the_python(python):
    assert hashing(deployment(python=python)).none_hash == SALTED[python]


def test_chunks_start_from_the_hash_of_the_seed():
    first = hash((SALTED["3.11"], (1, 2, 3, 4), ()))
    assert chunk_values(deployment()) == [first, hash((first, (5, 6, 7, 8), ()))]


def test_none_is_hashed_as_the_constant_of_python_3_12():
    first = hash((0, (1, 2, 3, 4), HASH_OF_NONE))
    assert chunk_values(deployment("0.3.14", None))[0] == first
    assert hash_of_none("3.12") == HASH_OF_NONE
    assert hash_of_none("3.11") is None


@pytest.mark.skipif(sys.version_info < (3, 12), reason="hash(None) is an address in this Python")
def test_the_constant_is_that_of_this_python():
    assert hash(None) == HASH_OF_NONE


def test_chunks_that_hash_an_address_are_refused():
    with pytest.raises(EncodeError, match=r"hash\(None\)"):
        chunk_values(deployment("0.3.14", None, python="3.11"))


@pytest.mark.parametrize(
    "found", [deployment(seed=None), deployment(seed="random"), deployment(algorithm="sha256_cbor", seed=None)]
)
def test_chunks_that_start_from_something_random_are_refused(found):
    with pytest.raises(EncodeError, match="the starting hash is random"):
        chunk_values(found)


def test_the_empty_seed_is_the_hash_of_the_empty_text_which_is_0():
    assert hashing(deployment(seed="")).none_hash == 0
    asked = [sys.executable, "-c", "print(hash(''))"]
    given = {**os.environ, "PYTHONHASHSEED": ""}
    assert subprocess.run(asked, env=given, capture_output=True, text=True, check=True).stdout == "0\n"


@pytest.mark.parametrize("seed", ["0", "00", " 7", "+7", "4294967295"])
def test_seeds_that_python_takes_are_hashed_as_it_hashes_them(seed):
    asked = [sys.executable, "-c", "import os; print(hash(os.environ['PYTHONHASHSEED']))"]
    given = {**os.environ, "PYTHONHASHSEED": seed}
    (printed,) = subprocess.run(asked, env=given, capture_output=True, text=True, check=True).stdout.split()
    assert text_hash(seed, seed=seed_number(seed)) == int(printed)


@pytest.mark.parametrize("seed", ["abc", "-1", "4294967296", "5 ", "0x1"])
def test_seeds_that_python_does_not_take_are_refused(seed):
    given = {**os.environ, "PYTHONHASHSEED": seed}
    assert subprocess.run([sys.executable, "-c", ""], env=given, capture_output=True, check=False).returncode != 0
    for algorithm in ("builtin", "sha256_cbor"):
        with pytest.raises(EncodeError, match="Python refuses to start with it"):
            hashing(deployment(seed=seed, algorithm=algorithm))


@pytest.mark.parametrize("text", ["", "3", "2.7", "3.7", "three", "3.12.x", "4.0"])
def test_versions_of_python_that_cannot_be_modelled_are_refused(text):
    with pytest.raises(EncodeError, match="is not a version of CPython"):
        hashing(deployment(python=text))


@pytest.mark.parametrize(("text", "version"), [("3.8", (3, 8)), ("3.12.1", (3, 12)), ("3.13.0rc2", (3, 13)), ("3.12+", (3, 12))])
def test_versions_of_python_are_read(text, version):
    assert python_version(text) == version


def test_partial_chunks_and_skipped_ones_are_as_the_chain_has_them():
    found = deployment(vllm=None)
    every = deployment_chunks(found, TOKENS, chunk_size=4, save_unfull_chunk=True)
    assert [(chunk.start, chunk.end) for chunk in every] == [(0, 4), (4, 8), (8, 9)]
    assert deployment_chunks(found, TOKENS, chunk_size=4, skip=4) == every[1:2]


def test_a_function_can_be_forced_on_a_deployment():
    assert hashing(deployment(), function="sha256_cbor") == hashing(deployment(algorithm="sha256_cbor"))


def test_the_text_of_the_starting_hash():
    assert none_hash_text(deployment(seed="7"), "builtin") == "7"
    assert none_hash_text(deployment(seed=None), "sha256_cbor") is None
    assert none_hash_text(deployment(seed=None, vllm="0.29.0"), "sha256_cbor") == "vllm-none-hash"
    assert none_hash_text(deployment(seed=None, vllm="0.29.0"), "xxhash") is None
    assert none_hash_text(deployment(vllm=None), "builtin") is None


def test_ranges_of_vllm_follow_each_other():
    found = list(vllm_ranges())
    assert [one.before for one in found[:-1]] == [one.first for one in found[1:]]
    assert str(found[0]) == "0.10.0 and later, before 0.10.2"
    assert str(found[-1]).endswith(" and later")
