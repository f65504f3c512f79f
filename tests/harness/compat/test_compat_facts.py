"""Facts about keys, read off the captures."""

import pytest

from fixturegen.corpus import captured_releases, load_corpus
from harness.compat.facts import Parts, differences, facts_of, fold, hash_function, parts_of, world_size
from harness.compat.frames_of import frames_of
from wire.release import Release

RELEASES = captured_releases()


def facts(text):
    return facts_of(Release.parse(text))


@pytest.mark.parametrize(
    ("release", "key", "expected"),
    [
        ("0.3.2", "layer-0", Parts(True, "1", "1a2b3c4d5e6f7081".rjust(64, "0"), None, ("0",))),
        ("0.3.3", "plain", Parts(True, "1", "1885667171979194497", None, ())),
        ("0.3.12", "tags-in-order", Parts(True, "1", "1a2b3c4d5e6f7081", "bfloat16", ("b%2", "a%1"))),
        ("0.5.6", "layer-tag", Parts(False, "1", "1a2b3c4d5e6f7081", "bfloat16", ("3", "user%alice"))),
        ("0.5.6", "model-path", Parts(False, "1", "1a2b3c4d5e6f7081", "bfloat16", ())),
    ],
)
def test_a_key_text_comes_apart(release, key, expected):
    found = frames_of(Release.parse(release)).key(key)
    assert parts_of(found.text, found.identity) == expected


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_a_release_differs_from_itself_in_nothing(release):
    assert differences(facts_of(release), facts_of(release)) == []


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        ("0.3.2", "0.3.3", ["hash spelling", "text chain"]),
        ("0.3.3", "0.3.4", ["chain"]),
        ("0.3.4", "0.3.5", []),
        ("0.3.5", "0.3.6", ["hash spelling"]),
        ("0.3.9", "0.3.9.post1", ["dtype in key"]),
        ("0.3.12", "0.3.13", ["fmt prefix"]),
        ("0.3.15", "0.4.1", ["chain"]),
        ("0.4.1", "0.5.6", []),
    ],
)
def test_neighbours_differ_in_what_the_changelog_of_keys_says(before, after, kinds):
    assert [difference.kind for difference in differences(facts(before), facts(after))] == kinds
    assert [difference.kind for difference in differences(facts(after), facts(before))] == kinds


def test_digests_are_whole_until_0_4_5_and_folded_from_0_4_6():
    assert facts("0.4.5").use_of_digests == "whole"
    assert facts("0.4.6").use_of_digests == "as integers of their first 8 bytes"


def test_a_fold_is_a_difference_of_digests_alone():
    assert [difference.kind for difference in fold(facts("0.4.5"), facts("0.4.6"))] == ["fold"]
    assert fold(facts("0.4.6"), facts("0.5.6")) == []
    assert fold(facts("0.3.2"), facts("0.5.6")) == []


def test_a_world_size_that_collapses_is_a_difference_of_its_own():
    whole, collapsed = (Parts(False, world, "ab", "half", ()) for world in ("8", "1"))
    assert [difference.kind for difference in world_size(whole, collapsed)] == ["world size"]
    assert world_size(whole, whole) == []


def test_functions_that_two_releases_find_for_one_setting_are_a_difference_of_tokens():
    (found,) = hash_function("vllm.utils.sha256", "builtin")
    assert (found.kind, found.of_tokens) == ("hash function", True)
    assert hash_function("builtin", "builtin") == hash_function(None, "builtin") == []


def test_deployments_that_start_from_a_random_hash_are_left_out():
    release = Release.parse("0.5.6")
    captured = load_corpus(release).vectors["deployment_keys"]
    left_out = {vector.id for vector in captured} - set(frames_of(release).chunks)
    assert left_out == {vector.id for vector in captured if vector.answer["none_hash"] == {"masked": True}} != set()
