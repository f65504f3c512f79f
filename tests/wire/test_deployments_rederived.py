"""Keys of deployments derived once more without our codecs: hashlib, a few bytes of CBOR, pickle, and Python's own hash.

No chain, no table and no hash function of ours is used here. What each deployment hashes with is read from the capture and
held against the tables in test_wire_equals_corpus.py; here its keys must follow from that.
"""

import functools
import hashlib
import os
import pickle
import subprocess
import sys

import pytest
import xxhash

from fixturegen.corpus import captured_releases, load_corpus

RELEASES = [str(release) for release in captured_releases() if "deployment_keys" in load_corpus(release).vectors]
NOTHING_REPRODUCIBLE = ["0.3.9", "0.3.9.post1"]
"""They find digests alone, and cannot write them; everything else is builtin, with hash(None) in it."""

THIRD = {"0.3.3": (), "before 0.4": (None,), "later": ((),)}


def cbor(value):
    """Canonical CBOR of what chains hash: integers, byte strings, texts, None and tuples."""
    if value is None:
        return b"\xf6"
    if isinstance(value, tuple):
        return head(4, len(value)) + b"".join(map(cbor, value))
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, str):
        return head(3, len(value)) + value.encode()
    if value >= 1 << 64:
        data = value.to_bytes((value.bit_length() + 7) // 8, "big")
        return b"\xc2" + head(2, len(data)) + data
    return head(0, value)


def head(major, number):
    if number < 24:
        return bytes([major << 5 | number])
    size = next(size for size in (1, 2, 4, 8) if number < 1 << 8 * size)
    return bytes([major << 5 | 23 + size.bit_length()]) + number.to_bytes(size, "big")


def pickled(value):
    return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)


FUNCTIONS = {
    "vllm.utils.sha256": lambda value: hashlib.sha256(pickled(value)).digest(),
    "vllm.utils.sha256_cbor": lambda value: hashlib.sha256(cbor(value)).digest(),
    "vllm.utils.hashing.sha256": lambda value: hashlib.sha256(pickled(value)).digest(),
    "vllm.utils.hashing.sha256_cbor": lambda value: hashlib.sha256(cbor(value)).digest(),
    "vllm.utils.hashing.xxhash": lambda value: xxhash.xxh3_128_digest(pickled(value)),
    "vllm.utils.hashing.xxhash_cbor": lambda value: xxhash.xxh3_128_digest(cbor(value)),
}
INTEGERS = {
    "vllm.utils.sha256": lambda value: int.from_bytes(hashlib.sha256(pickled(value)).digest(), "big"),
    "vllm.utils.sha256_cbor_64bit": lambda value: int.from_bytes(hashlib.sha256(cbor(value)).digest()[24:], "big"),
}


@functools.cache
def python_hash(text, seed):
    """Python's hash of a text in a process with a seed, asked of such a process."""
    command = [sys.executable, "-c", f"print(hash({text!r}))"]
    seeded = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run(command, env=seeded, capture_output=True, text=True, check=True, timeout=30)
    return int(done.stdout)


def function_of(vector):
    name, returns = vector.answer["function"], vector.answer["returns"]
    if name == "builtin":
        return hash
    return INTEGERS[name] if returns == "int" else FUNCTIONS[name]


def starting_hash(release, vector):
    args = vector.args
    if args["vllm"] is None or not args["kv_cache_utils"] or release == "0.3.3":
        return 0
    text = args["seed"] if args["seed"] is not None else "vllm-none-hash"
    return python_hash(text, args["seed"]) if vector.answer["function"] == "builtin" else function_of(vector)(text)


def number(release):
    return tuple(int(part) for part in release.split(".")[:3])


def third(release):
    return THIRD["0.3.3" if release == "0.3.3" else "before 0.4" if number(release) < (0, 4, 0) else "later"]


def folded(release, value):
    return int.from_bytes(value[:8], "big") if isinstance(value, bytes) and number(release) >= (0, 4, 6) else value


def written(release, value):
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if number(release) < (0, 3, 6) else f"{value:x}"


def hash_parts(release, vector):
    """The hash that stands in each captured key; the model's name has no separator in it."""
    place = 4 if number(release) < (0, 3, 13) else 3
    return [chunk["key"].split("@")[place] for chunk in vector.answer["chunks"]]


def as_json(value):
    return {"bytes": value.hex()} if isinstance(value, bytes) else {"int": str(value)}


def reproducible(release):
    return [v for v in load_corpus_of(release).vectors["deployment_keys"] if v.ok is not None and v.volatile is None]


@functools.cache
def load_corpus_of(release):
    return next(load_corpus(known) for known in captured_releases() if str(known) == release)


def test_there_are_releases_of_every_chain():
    assert {str(third(release)) for release in RELEASES} == {str(value) for value in THIRD.values()}


@pytest.mark.parametrize("release", [release for release in RELEASES if release not in NOTHING_REPRODUCIBLE])
def test_every_key_follows_from_the_function_and_the_seed(release):
    compared = 0
    for vector in reproducible(release):
        args, function = vector.args, function_of(vector)
        previous = starting_hash(release, vector)
        assert vector.answer["none_hash"] == as_json(previous), vector.id
        previous = folded(release, previous)
        assert vector.answer["start"] == as_json(previous), vector.id
        size, tokens = args["chunk_size"], args["tokens"]
        expected = []
        for start in range(0, len(tokens), size):
            chunk = tuple(tokens[start : start + size])
            if len(chunk) < size and not args["save_unfull_chunk"]:
                break
            previous = folded(release, function((previous, chunk, *third(release))))
            if start >= args["skip"]:
                expected.append(written(release, previous))
        assert hash_parts(release, vector) == expected, vector.id
        compared += len(expected)
    assert compared > 30


def test_the_releases_of_which_no_key_is_reproducible():
    without = [release for release in RELEASES if not any(vector.answer["chunks"] for vector in reproducible(release))]
    assert without == NOTHING_REPRODUCIBLE


@pytest.mark.parametrize("release", RELEASES)
def test_none_hash_is_known_wherever_it_is_not_random(release):
    for vector in load_corpus_of(release).vectors["deployment_keys"]:
        if vector.ok is not None and vector.answer["none_hash"] != {"masked": True}:
            assert vector.answer["none_hash"] == as_json(starting_hash(release, vector)), vector.id


@pytest.mark.parametrize("release", RELEASES)
def test_a_random_starting_hash_has_no_seed(release):
    for vector in load_corpus_of(release).vectors["deployment_keys"]:
        if vector.ok is not None and vector.answer["none_hash"] == {"masked": True}:
            assert vector.args["seed"] is None, vector.id
            assert "PYTHONHASHSEED is not set" in vector.volatile


@pytest.mark.parametrize("release", RELEASES)
def test_a_pickled_hash_is_a_finding(release):
    for vector in load_corpus_of(release).vectors["deployment_keys"]:
        if vector.ok is not None:
            pickles = vector.answer["function"].rpartition(".")[2] in {"sha256", "xxhash"}
            assert (vector.finding is not None) == pickles, vector.id
