"""The search as a whole: matches, ends, says what it did, and says the same again."""

import re
from pathlib import Path

import pytest
from asked import request_of
from derived import folded, keys
from hypothesis import given, settings
from hypothesis import strategies as st

import harness.mismatch
from harness.mismatch import compare, read_expected
from harness.mismatch.causes import COOKING_ORDER, hypotheses
from harness.usage import UsageError
from wire.chunks import chunk_keys
from wire.errors import EncodeError
from wire.release import KNOWN_RELEASES, Release

HERE = Path(__file__).parent

ODD_PARTS = ["m", "vllm", "1", "0", "-3", "ab", "half", "x%y", "", "9" * 200, "\x1b", "0x1f"]

requests = st.builds(
    request_of,
    lmcache=st.sampled_from(KNOWN_RELEASES),
    vllm=st.sampled_from([None, "0.10.0", "0.10.1", "0.10.2", "0.11.0", "0.12.0", "0.28.0", "0.33.0"]),
    algorithm=st.sampled_from(["builtin", "sha256_cbor", "sha256_cbor_64bit", "sha256", "xxhash", "xxhash_cbor", "md5"]),
    seed=st.sampled_from(["0", "00", "1", "42", "4294967295", "", "random", None]),
    python=st.sampled_from(["3.10", "3.11", "3.12", "3.13"]),
    tokens=st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=40),
    chunk_size=st.integers(1, 20),
    save_unfull_chunk=st.sampled_from([None, True, False]),
    model=st.sampled_from(["m", "meta/Llama-3", "/models/x"]),
    world_size=st.integers(1, 8),
    worker_id=st.integers(0, 7),
    dtype=st.sampled_from(["bfloat16", "float16", "uint8", "float8_e4m3fn"]),
    mla=st.booleans(),
    layer=st.none() | st.integers(0, 80),
)


@settings(max_examples=150, deadline=None)
@given(request=requests, data=st.data())
def test_a_key_of_a_deployment_matches_it(request, data):
    release = request.deployment.release
    try:
        made = chunk_keys(release, request.key(release), request.chunks())
    except EncodeError:
        return
    if not made:
        return
    one = data.draw(st.sampled_from(made))
    assert compare(request, [read_expected(one, release)]).matches
    assert compare(request, [read_expected(text, release) for text in made]).matches


def test_the_same_question_gets_the_same_answer(comparison):
    assert comparison("123456789abcdef") == comparison("123456789abcdef")


def test_a_key_that_nothing_explains_is_a_mismatch_with_advice(comparison):
    found = comparison("m@1@0@123456789abcdef@bfloat16")
    assert not found.matches
    assert found.explanations == ()
    assert found.covers == 0
    assert len(found.tried) == 4
    assert sum(found.tried) > 1000
    assert any("token ids themselves" in words for words in found.check_next)
    assert any(words.startswith("seed: ") for words in found.ruled_out)


@pytest.mark.parametrize(("vllm", "ruled_out"), [("0.11.0", False), ("0.30.0", True)])
def test_an_unset_seed_is_ruled_out_only_where_it_gives_keys_that_can_be_computed(comparison, vllm, ruled_out):
    found = comparison("m@1@0@123456789abcdef@bfloat16", vllm=vllm)
    assert any("seed-unset" in words for words in found.ruled_out) is ruled_out
    assert any("unset seed" in words for words in found.check_next)


def test_differences_that_can_be_read_are_named_even_if_the_hash_is_not_explained(comparison):
    found = comparison("m@4@0@123456789abcdef@bfloat16", world_size=8)
    assert found.explanations == ()
    assert [cause.id for cause in found.identity] == ["world-size"]


def test_a_deployment_whose_keys_are_random_can_still_be_compared(causes):
    assert causes(keys(folded()), seed=None) == [{"seed=0"}]


def test_tokens_that_no_word_holds_end_no_search(causes):
    assert causes(keys(folded(pieces=[(2**40,) * 16])), tokens=[2**40] * 16) == [set()]
    assert causes("12345", tokens=[2**40] * 16) == []


def test_a_long_list_of_tokens_is_matched_to_its_end(comparison):
    tokens = [(index * 31) % 50000 for index in range(200_000)]
    last = keys(folded(pieces=[tuple(tokens[at : at + 256]) for at in range(0, 200_000 // 256 * 256, 256)]))[-1]
    found = comparison(last, tokens=tokens, chunk_size=256)
    assert found.matches
    assert found.explanations[0].chunks[0].index == 780


def test_what_a_search_does_not_look_at_is_said(comparison):
    found = comparison("12345", tokens=list(range(150_000)), chunk_size=256)
    assert any(words.startswith("sets of 1 looked at the first 131072 tokens") for words in found.limits)


@settings(max_examples=200, deadline=None)
@given(parts=st.lists(st.sampled_from(ODD_PARTS), max_size=9))
def test_whatever_is_expected_is_read_or_refused(parts):
    request = request_of(tokens=[1, 2], chunk_size=1)
    try:
        expected = read_expected("@".join(parts), request.deployment.release)
    except UsageError:
        return
    assert compare(request, [expected]).matches is False


@pytest.mark.parametrize("text", ["hello", "", "@", "m@1@0", "m@1@0@xyz@half", "m@one@0@ab@half", "m@1@0@ab@half@extra@x"])
def test_what_is_no_key_is_refused_with_the_form_of_one(text):
    with pytest.raises(UsageError, match="--expect"):
        read_expected(text, Release.parse("0.5.6"))


# the table of causes


def test_hypotheses_say_what_they_change():
    for hypothesis in hypotheses(request_of(skip=16)):
        assert hypothesis.deployment or hypothesis.function or hypothesis.recipe, hypothesis.cause
        assert (hypothesis.recipe is None) or hypothesis.dimension in COOKING_ORDER


def test_hypotheses_are_no_two_alike():
    found = [(hypothesis.cause.id, hypothesis.cause.value) for hypothesis in hypotheses(request_of(skip=16))]
    assert len(found) == len(set(found))


def test_sentences_and_actions_are_sentences():
    for hypothesis in hypotheses(request_of(skip=16)):
        for text in (hypothesis.cause.sentence, hypothesis.cause.action):
            assert text[0].isupper() or text.startswith(("hash(None)", "vLLM"))
            assert text.endswith(".")


def ids_in_code():
    """Every id that a cause can have: the first text in a call of Cause, and the ids of tables."""
    folder = Path(harness.mismatch.__file__).parent
    text = "\n".join(path.read_text() for path in folder.glob("*.py"))
    return set(re.findall(r"Cause\(\s*\"([a-z0-9-]+)\"", text)) | {
        hypothesis.cause.id for hypothesis in hypotheses(request_of(skip=16))
    }


def test_every_cause_is_shown_by_a_test():
    shown = "\n".join(path.read_text() for path in HERE.glob("test_*.py"))
    assert sorted(id_ for id_ in ids_in_code() if f'"{id_}' not in shown) == []
