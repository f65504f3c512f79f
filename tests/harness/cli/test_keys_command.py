"""``lmconform keys``: keys and where they hold; with --expect, the cause of a mismatch."""

import hashlib
import json

import cbor2
import pytest

SETTINGS = ["--algorithm", "sha256_cbor", "--lmcache", "0.5.6", "--vllm", "0.11.0", "--seed", "0", "--chunk-size", "2"]
TOKENS = ["1", "2", "3", "4", "5"]


def expected_hashes(seed="0"):
    """What lmcache 0.5.6 makes of the tokens above."""
    made = []
    before = int.from_bytes(hashlib.sha256(cbor2.dumps(seed)).digest()[:8], "big")
    for piece in ([1, 2], [3, 4]):
        before = int.from_bytes(hashlib.sha256(cbor2.dumps([before, piece, []])).digest()[:8], "big")
        made.append(before)
    return made


@pytest.fixture
def keys(command):
    return lambda *words: command("keys", *words)


@pytest.fixture
def tree(keys):
    """The JSON of a call, and its exit code."""

    def call(*words):
        ended = keys(*words, "--format", "json")
        assert ended.err == ""
        return json.loads(ended.out), ended.code

    return call


def test_the_keys_of_a_deployment_are_printed(keys):
    ended = keys(*SETTINGS, "--model", "m", *TOKENS)
    assert ended.code == 0
    assert ended.err == ""
    for value in expected_hashes():
        assert f"m@1@0@{value:x}@bfloat16" in ended.out
        assert str(value) in ended.out
    assert "2 keys for 5 tokens" in ended.out
    assert "clients in other languages: any language" in ended.out
    assert "[digest-folded]" in ended.out


def test_json_holds_the_same(tree):
    found, code = tree(*SETTINGS, "--model", "m", *TOKENS)
    assert code == 0
    assert found["version"] == 1
    assert found["deployment"] == {
        "lmcache": "0.5.6", "vllm": "0.11.0", "kv_cache_utils": True, "python": "3.12", "seed": "0", "algorithm": "sha256_cbor",
        "chunk_size": 2, "save_unfull_chunk": False, "skip": 0,
        "model": "m", "world_size": 1, "worker_id": 0, "dtype": "bfloat16", "fmt": None, "layer": None,
    }  # fmt: skip
    assert found["hash_function"] == "sha256_cbor"
    assert found["none_hash"] == {"bytes": hashlib.sha256(cbor2.dumps("0")).hexdigest()}
    assert found["chunks"] == [
        {"start": start, "end": start + 2, "hash": {"int": str(value)}, "key": f"m@1@0@{value:x}@bfloat16"}
        for start, value in zip((0, 2), expected_hashes(), strict=True)
    ]
    assert found["comparison"] is None
    assert {one["axis"] for one in found["portability"]} == {"processes", "pythons", "languages", "vllms", "releases"}


def test_parts_of_the_key_are_as_given(tree):
    found, _ = tree(
        *SETTINGS, "--model", "m", "--world-size", "8", "--worker-id", "3", "--dtype", "float16", "--layer", "2",
        "--tag", "user=alice", "--tag", "tier=a=b", *TOKENS,
    )  # fmt: skip
    assert found["chunks"][0]["key"] == f"m@8@3@{expected_hashes()[0]:x}@half@2@user%alice@tier%a=b"


def test_multi_head_latent_attention_collapses_the_world_size(tree):
    words = [*SETTINGS, "--model", "m", "--world-size", "8", "--mla", *TOKENS]
    assert tree(*words)[0]["chunks"][0]["key"].startswith("m@1@0@")
    assert tree(*words, "--no-save-only-first-rank")[0]["chunks"][0]["key"].startswith("m@8@0@")


def test_a_vllm_without_kv_cache_utils_starts_from_0(tree):
    found, _ = tree(*SETTINGS, "--no-kv-cache-utils", *TOKENS)
    assert found["none_hash"] == {"int": "0"}
    assert found["hash_function"] == "sha256_cbor"
    assert "kv-cache-utils-missing" in [finding["id"] for finding in found["findings"]]


def test_partial_chunks_and_skipped_tokens(tree):
    def spans(*words):
        return [(chunk["start"], chunk["end"]) for chunk in tree(*SETTINGS, *TOKENS, *words)[0]["chunks"]]

    assert spans() == [(0, 2), (2, 4)]
    assert spans("--save-unfull-chunk") == [(0, 2), (2, 4), (4, 5)]
    assert spans("--skip", "2") == [(2, 4)]
    assert spans("--lmcache", "0.3.10", "--algorithm", "builtin") == [(0, 2), (2, 4), (4, 5)]
    assert spans("--lmcache", "0.3.10", "--algorithm", "builtin", "--no-save-unfull-chunk") == [(0, 2), (2, 4)]


def test_no_tokens_make_no_keys(tree, keys):
    assert tree(*SETTINGS)[0]["chunks"] == []
    assert "0 keys for 0 tokens" in keys(*SETTINGS).out


def test_tokens_that_fill_no_chunk_are_said_to_be_too_few(keys):
    assert "There is no full chunk of 256 tokens." in keys("--vllm", "none", "1", "2").out
    assert "There is no full chunk of 2 tokens behind the 4 that are skipped." in keys(*SETTINGS, "--skip", "4", *TOKENS).out


def test_a_release_of_which_nothing_is_known_is_said_to_be_taken_for_the_one_before_it(keys):
    first, *_ = keys("--lmcache", "0.3.8", "--vllm", "none", "1").out.splitlines()
    assert first.split(maxsplit=1) == ["lmcache", "0.3.8, of which nothing is known here; taken for 0.3.7"]


def test_tokens_come_from_a_file(tree, tmp_path):
    (tmp_path / "tokens.json").write_text(json.dumps([1, 2, 3, 4, 5]))
    assert len(tree(*SETTINGS, "--tokens-file", "tokens.json")[0]["chunks"]) == 2


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--vllm", "0.11.0"], "seed-unset-random"),
        (["--vllm", "0.11.0", "--seed", "random", "--algorithm", "builtin"], "seed-random-builtin"),
        (["--vllm", "none", "--lmcache", "0.3.10", "--python", "3.11"], "hash-of-none-address"),
    ],
)
def test_where_keys_cannot_be_given_the_rest_is_printed(tree, words, reason):
    found, code = tree("--algorithm", "sha256_cbor", *words, *TOKENS)
    assert code == 0
    assert found["chunks"] == []
    assert found["no_keys"]
    assert reason in [finding["id"] for finding in found["findings"]]
    assert all(not one["carries"] for one in found["portability"])


def test_where_keys_cannot_be_written_the_hashes_are_printed(tree, keys):
    words = [*SETTINGS, "--lmcache", "0.3.12", *TOKENS]
    found, code = tree(*words)
    assert code == 0
    assert [chunk["key"] for chunk in found["chunks"]] == [None] * 2
    assert all(len(chunk["hash"]["bytes"]) == 64 for chunk in found["chunks"])
    assert "No keys for 5 tokens" in keys(*words).out


def test_what_replaces_an_algorithm_that_is_not_found_is_said(keys):
    out = keys("--vllm", "0.11.0", "--algorithm", "xxhash", "--seed", "0", *TOKENS).out
    assert "builtin  and not 'xxhash': lmcache 0.5.6 finds none of this name in vLLM 0.11.0" in out


def test_a_key_of_the_deployment_matches(keys):
    ended = keys(*SETTINGS, *TOKENS, "--expect", f"m@1@0@{expected_hashes()[1]:x}@bfloat16")
    assert ended.code == 0
    assert "MATCH     The expected key is a key of this deployment." in ended.out
    assert "It is of chunk 1 (tokens 2 to 4)." in ended.out


def test_a_key_of_another_seed_is_explained(keys, tree):
    words = [*SETTINGS, *TOKENS, "--expect", f"m@1@0@{expected_hashes('42')[0]:x}@bfloat16"]
    ended = keys(*words)
    assert ended.code == 1
    assert "MISMATCH  The expected key is not one of this deployment." in ended.out
    assert "PYTHONHASHSEED is '42' there and '0' here.  [seed]" in ended.out
    found, code = tree(*words)
    assert code == 1
    (explanation,) = found["comparison"]["explanations"]
    assert [(cause["id"], cause["value"]) for cause in explanation["causes"]] == [("seed", "42")]
    assert explanation["chunks"] == [{"index": 0, "start": 0, "end": 2}]


def test_a_negative_hash_alone_can_be_expected(tree):
    words = ["--vllm", "none", "--chunk-size", "2", "--algorithm", "builtin", *TOKENS]
    made = [int(chunk["hash"]["int"]) for chunk in tree(*words, "--chunk-size", "1")[0]["chunks"]]
    negative = next(value for value in made if value < 0)
    for text in (f"{negative:x}", str(negative)):
        assert tree(*words, "--chunk-size", "1", "--expect", text)[1] == 0


def test_an_unexplained_key_says_what_was_tried_and_what_to_check(keys):
    ended = keys(*SETTINGS, *TOKENS, "--expect", "123456789abcdef")
    assert ended.code == 1
    for words in ("No known cause explains the hash.", "tried ", "ruled out ", "check next ", "the token ids themselves"):
        assert words in ended.out


def test_active_characters_of_an_expected_key_are_shown_and_not_sent(keys):
    ended = keys(*SETTINGS, *TOKENS, "--model", "m", "--expect", "\x1b[31mm@1@0@ab@bfloat16")
    assert ended.code == 1
    assert "\x1b" not in ended.out
    assert "\\x1b[31mm@1@0@ab@bfloat16" in ended.out


USAGE = {
    "no vLLM": (["1"], "say with --vllm which version"),
    "a vLLM that is none": (["--vllm", "new", "1"], "'new' is not a version of vLLM"),
    "an old vLLM": (["--vllm", "0.8.0", "1"], "not known here"),
    "a release that is none": (["--vllm", "none", "--lmcache", "newest"], "'newest' is not a version of lmcache"),
    "a release before all": (["--vllm", "none", "--lmcache", "0.2"], "older than 0.3.1"),
    "a Python that is none": (["--vllm", "none", "--python", "snake"], "'snake' is not a version of CPython"),
    "a seed that is no number": (
        ["--vllm", "none", "--seed", "abc"],
        "'abc'. Python does not start with this seed.",
    ),
    "a seed that is too large": (["--vllm", "0.11.0", "--seed", "4294967296"], "from 0 to 4294967295"),
    "a token that is none": (["--vllm", "none", "1", "x"], "token 2 is 'x'"),
    "a token that is too large": (
        ["--vllm", "none", "--lmcache", "0.3.1", "4294967296"],
        "token 4294967296 does not fit into 32 bits",
    ),
    "a file that is not there": (["--vllm", "none", "--tokens-file", "nowhere"], "nowhere cannot be read"),
    "tokens twice": (["--vllm", "none", "--tokens-file", "-", "1"], "not both"),
    "a dtype that is none": (["--vllm", "none", "--dtype", "half"], "--dtype 'half' has no name in keys of lmcache 0.5.6"),
    "a tag that is none": (["--vllm", "none", "--tag", "user"], "a tag reads NAME=VALUE"),
    "tags before there were any": (["--vllm", "none", "--lmcache", "0.3.3", "--tag", "a=b", "1"], "carry no tags"),
    "a mask that cuts a chunk": (["--vllm", "none", "--skip", "5", "1"], "--skip 5 is no multiple of the chunk size 256"),
    "a random deployment with such a mask": (["--vllm", "0.11.0", "--skip", "5", "1"], "--skip 5 is no multiple"),
    "something that is no key": (["--vllm", "none", "1", "--expect", "hello"], "neither a key nor a hash"),
    "a key of too few parts": (["--vllm", "none", "1", "--expect", "m@1@0"], "is no key: a key of lmcache 0.5.6 reads"),
    "a key without tokens": (["--vllm", "none", "--expect", "ab"], "there are no tokens"),
    "chunks of nothing": (["--vllm", "none", "--chunk-size", "0"], "--chunk-size"),
    "an unknown form": (["--vllm", "none", "--format", "xml"], "--format"),
}


@pytest.mark.parametrize("name", USAGE)
def test_senseless_words_are_usage_errors(keys, name):
    words, message = USAGE[name]
    ended = keys(*words)
    assert ended.code == 2
    assert ended.out == ""
    assert message in ended.err
    assert "Traceback" not in ended.err


def test_a_million_tokens_take_seconds(keys, tmp_path):
    (tmp_path / "many").write_text(" ".join(str(index % 50000) for index in range(1_000_000)))
    ended = keys(*SETTINGS, "--chunk-size", "256", "--tokens-file", "many")
    assert ended.code == 0
    assert "3906 keys for 1000000 tokens" in ended.out


def test_versions_of_which_nothing_is_known_are_told_in_both_forms(tree, keys):
    unknown = ["--lmcache", "0.4.0", "--vllm", "99.0", "--algorithm", "sha256_cbor", "--seed", "0", "--chunk-size", "2", *TOKENS]
    taken = ["lmcache 0.4.0, of which nothing is known here; taken for 0.3.15",
             "vLLM 99.0, of which nothing is known here; taken for 0.33.0"]  # fmt: skip
    assert tree(*unknown)[0]["assumptions"] == taken
    assert "99.0, of which nothing is known here; taken for 0.33.0" in keys(*unknown).out
    assert tree(*SETTINGS, *TOKENS)[0]["assumptions"] == []


def test_a_long_text_that_is_no_key_is_not_repeated_whole(keys):
    ended = keys(*SETTINGS, *TOKENS, "--expect", "x" * 5000)
    assert ended.code == 2
    assert len(ended.err) < 600
