"""Findings about deployments, and how far their hashes carry."""

import itertools

import pytest

from wire.deployments import Deployment
from wire.keys import CacheKey
from wire.portability import AXES, FINDINGS, Identity, findings, refusal
from wire.reach import alike_releases, reach, release_spans
from wire.release import KNOWN_RELEASES, Release

PLAIN = Identity(CacheKey("m", 1, 0, 0, "bfloat16", "vllm"))


def deployment(lmcache="0.5.6", vllm="0.11.0", algorithm="sha256_cbor", seed="0", complete=True, python="3.12"):
    return Deployment(Release.parse(lmcache), vllm, algorithm, seed, complete, python)


def ids(found, identity=PLAIN):
    return [finding.id for finding in findings(found, identity)]


def carries(found):
    return {one.axis: one.carries for one in reach(found, PLAIN)}


def where(found, axis):
    return next(one.where for one in reach(found, PLAIN) if one.axis == axis)


HOLDS = {
    "seed-unset-random": [
        deployment(seed=None),
        deployment(seed=None, algorithm="builtin", vllm="0.33.0"),
        deployment(seed=None, algorithm="xxhash", vllm="0.33.0"),
    ],
    "seed-unset-fixed-text": [deployment(seed=None, vllm="0.29.0"), deployment(seed=None, vllm="0.33.0", algorithm="sha256")],
    "seed-random": [deployment(seed="random")],
    "seed-random-builtin": [deployment(seed="random", algorithm="builtin")],
    "seed-empty": [deployment(seed=""), deployment(seed="", algorithm="builtin")],
    "seed-is-text": [deployment(), deployment(seed="00", algorithm="builtin")],
    "vllm-missing": [deployment(vllm=None)],
    "kv-cache-utils-missing": [deployment(complete=False)],
    "none-hash-too-early": [deployment("0.3.3")],
    "algorithm-fallback": [
        deployment(algorithm="md5"),
        deployment(algorithm="xxhash", vllm="0.12.0"),
        deployment("0.3.7", algorithm="sha256", vllm="0.10.2"),
        deployment(vllm=None),
    ],
    "algorithm-ignored": [deployment("0.3.1"), deployment("0.3.2", vllm=None)],
    "builtin-is-cpython": [deployment(algorithm="builtin")],
    "builtin-none-hash-is-siphash": [deployment(algorithm="builtin")],
    "hash-of-none-address": [deployment("0.3.10", algorithm="builtin", python="3.11")],
    "hash-of-none-constant": [deployment("0.3.10", algorithm="builtin", python="3.12")],
    "pickle-digest": [deployment(algorithm="sha256"), deployment(algorithm="xxhash", vllm="0.13.0")],
    "digest-as-integer": [deployment("0.3.7", "0.10.1", "sha256"), deployment(vllm="0.10.0")],
    "digest-as-bytes": [deployment()],
    "digest-not-writable": [deployment("0.3.9", "0.11.1"), deployment("0.3.12")],
    "digest-whole": [deployment("0.3.13"), deployment("0.4.5")],
    "digest-folded": [deployment("0.4.6")],
    "third-element": [deployment("0.3.3"), deployment()],
    "decimal-read-as-hex": [deployment("0.3.4"), deployment("0.3.5")],
    "partial-chunk-saved": [deployment("0.3.10"), deployment("0.3.1")],
}
LACKS = {
    "seed-unset-random": [deployment(), deployment(seed=None, vllm=None), deployment("0.3.3", seed=None)],
    "seed-unset-fixed-text": [deployment(seed=None, vllm="0.28.0"), deployment(vllm="0.33.0")],
    "seed-random": [deployment(seed="random", vllm=None), deployment("0.3.1", seed="random")],
    "seed-is-text": [deployment(seed=None), deployment(vllm=None), deployment(seed=""), deployment(complete=False)],
    "vllm-missing": [deployment(), deployment("0.3.1", vllm=None)],
    "kv-cache-utils-missing": [deployment(), deployment(vllm=None, complete=False)],
    "algorithm-fallback": [deployment(), deployment(algorithm="builtin"), deployment("0.3.1", algorithm="md5")],
    "builtin-none-hash-is-siphash": [deployment(algorithm="builtin", seed=""), deployment(vllm=None)],
    "hash-of-none-address": [deployment("0.4.1", algorithm="builtin", python="3.11"), deployment("0.3.10", python="3.11")],
    "digest-as-bytes": [deployment(algorithm="builtin"), deployment(vllm="0.10.1")],
    "digest-not-writable": [deployment("0.3.13"), deployment("0.3.12", algorithm="builtin"), deployment("0.3.12", "0.10.1")],
    "digest-folded": [deployment("0.4.5"), deployment("0.4.6", vllm="0.10.1"), deployment("0.4.6", algorithm="builtin")],
    "third-element": [deployment("0.3.2")],
    "decimal-read-as-hex": [deployment("0.3.3"), deployment("0.3.6")],
    "partial-chunk-saved": [deployment("0.3.11")],
}


@pytest.mark.parametrize(("id_", "found"), [(id_, found) for id_, every in HOLDS.items() for found in every])
def test_a_finding_is_reported_where_it_holds(id_, found):
    assert id_ in ids(found)


@pytest.mark.parametrize(("id_", "found"), [(id_, found) for id_, every in LACKS.items() for found in every])
def test_a_finding_is_not_reported_where_it_does_not_hold(id_, found):
    assert id_ not in ids(found)


def test_findings_about_the_rest_of_the_key():
    key = PLAIN.key
    assert "mla-world-size" in ids(deployment(), Identity(key, mla=True))
    assert "mla-world-size-kept" in ids(deployment(), Identity(key, mla=True, save_only_first_rank=False))
    assert "mla-world-size-kept" in ids(deployment("0.3.9.post2"), Identity(key, mla=True))
    assert "fp8-name" in ids(deployment(), Identity(CacheKey("m", 1, 0, 0, "float8_e5m2")))
    assert "separator-in-identity" in ids(deployment(), Identity(CacheKey("me@home", 1, 0, 0, "half")))
    assert "partial-chunk-saved" not in ids(deployment("0.3.10"), Identity(key, save_unfull_chunk=True))


def test_every_finding_is_covered_here():
    elsewhere = {"seed-refused", "mla-world-size", "mla-world-size-kept", "fp8-name", "separator-in-identity"}
    assert set(HOLDS) | elsewhere == set(FINDINGS)


@pytest.mark.parametrize("seed", ["abc", "-1", "4294967296", "5 ", "0x1", "1.0", "Random"])
def test_a_seed_with_which_python_does_not_start_has_its_finding(seed):
    assert refusal(seed) is FINDINGS["seed-refused"]


@pytest.mark.parametrize("seed", [None, "", "random", "0", "00", "4294967295", " 5", "+5"])
def test_any_other_seed_has_none(seed):
    assert refusal(seed) is None


def test_findings_are_written_as_sentences():
    for finding in FINDINGS.values():
        assert all(text.endswith(".") for text in (finding.title, finding.explanation, finding.action)), finding.id
        assert set(finding.breaks) <= set(AXES), finding.id


def test_what_every_process_has_for_itself_comes_first():
    assert ids(deployment("0.3.10", algorithm="builtin", python="3.11"))[0] == "hash-of-none-address"


# reach


def test_folded_cbor_carries_to_processes_pythons_and_languages():
    assert carries(deployment()) == {"processes": True, "pythons": True, "languages": True, "vllms": False, "releases": False}
    assert where(deployment(), "vllms") == "vLLM 0.10.2 and later"
    assert where(deployment(), "releases") == "lmcache 0.4.6 to 0.5.6"


@pytest.mark.parametrize(
    "found",
    [deployment(seed=None), deployment(seed="random", algorithm="builtin"), deployment("0.3.10", None, "builtin", python="3.11")],
)
def test_random_keys_carry_nowhere(found):
    assert not any(carries(found).values())
    assert all(one.because for one in reach(found, PLAIN))


def test_keys_that_cannot_be_written_carry_nowhere():
    found = reach(deployment("0.3.12"), PLAIN)
    assert {one.where for one in found} == {"nowhere: there are no keys"}
    assert {one.because for one in found} == {("digest-not-writable",)}


def test_pickles_carry_to_no_other_language():
    assert not carries(deployment(algorithm="sha256"))["languages"]
    assert not carries(deployment(algorithm="sha256"))["pythons"]


@pytest.mark.parametrize(
    ("python", "words"), [("3.10", "CPython before 3.11"), ("3.11", "CPython 3.11 and later"), ("3.13", "CPython 3.11 and later")]
)
def test_the_salted_hash_of_the_seed_changed_with_python_3_11(python, words):
    assert where(deployment(algorithm="builtin", python=python), "pythons") == words


def test_without_vllm_builtin_keys_are_those_of_every_python():
    assert carries(deployment(vllm=None))["pythons"]
    assert where(deployment(vllm=None), "vllms") == "processes without vLLM"


def test_the_text_chain_depends_on_neither_vllm_nor_python():
    assert carries(deployment("0.3.1")) == {
        "processes": True, "pythons": True, "languages": True, "vllms": True, "releases": False,
    }  # fmt: skip


def test_where_it_does_not_carry_a_finding_says_why():
    choices = itertools.product(
        ("0.3.1", "0.3.3", "0.3.7", "0.3.12", "0.3.14", "0.4.1", "0.5.6"),
        (None, "0.10.1", "0.11.0", "0.13.0", "0.30.0"),
        ("builtin", "sha256_cbor", "sha256", "xxhash"),
        (None, "", "0", "random"),
        ("3.10", "3.12"),
    )
    for lmcache, vllm, algorithm, seed, python in choices:
        found = deployment(lmcache, vllm, algorithm, seed, python=python)
        for one in reach(found, PLAIN):
            assert one.carries != bool(one.because), (found, one)


def test_releases_that_make_the_same_hashes_are_named():
    assert alike_releases(deployment("0.3.3", None, "builtin")) == ["0.3.3"]
    assert alike_releases(deployment("0.3.5", None, "builtin")) == KNOWN_RELEASES_FROM_TO("0.3.4", "0.3.15")


def KNOWN_RELEASES_FROM_TO(first, last):  # noqa: N802
    return [text for text in KNOWN_RELEASES if Release.parse(first) <= Release.parse(text) <= Release.parse(last)]


@pytest.mark.parametrize(
    ("releases", "words"),
    [
        ([], ""),
        (["0.5.6"], "0.5.6"),
        (["0.3.1", "0.3.1.post1", "0.3.3"], "0.3.1 to 0.3.1.post1, 0.3.3"),
        (KNOWN_RELEASES, "0.3.1 to 0.5.6"),
    ],
)
def test_releases_are_written_as_ranges(releases, words):
    assert release_spans(releases) == words
