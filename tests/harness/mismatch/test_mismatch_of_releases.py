"""Keys that the real lmcache of another release made, against a deployment of this one."""

import pytest

from fixturegen.corpus import captured_releases, load_corpus
from wire.chunks import CHUNK_CHAINS
from wire.keys import KEY_GRAMMARS
from wire.release import Release

HERE = {"algorithm": "builtin", "vllm": None, "seed": None}
RELEASES = captured_releases()
VECTOR = "lm.chunks.three"


def vector_of(release):
    vector = load_corpus(release).vector(f"{VECTOR}-full")
    return vector.args, [chunk["key"] for chunk in vector.answer["chunks"]]


def reproducible(release):
    return load_corpus(release).vector(f"{VECTOR}-full").volatile is None


def alike(left, right):
    """Neither the chain nor the key string of two releases differs."""
    same_hash = CHUNK_CHAINS[left].third == CHUNK_CHAINS[right].third
    same_text = (KEY_GRAMMARS[left].prefix, KEY_GRAMMARS[left].hash_style) == (
        KEY_GRAMMARS[right].prefix,
        KEY_GRAMMARS[right].hash_style,
    )
    return same_hash and same_text


@pytest.mark.parametrize("there", [release for release in RELEASES if reproducible(release)], ids=str)
@pytest.mark.parametrize("here", ["0.3.1", "0.3.3", "0.4.1", "0.5.6"])
def test_the_release_that_made_a_key_is_named(comparison, here, there):
    args, made = vector_of(there)
    given = {name: args[name] or default for name, default in (("dtype", "bfloat16"), ("fmt", "vllm"))}
    found = comparison(made, lmcache=here, tokens=args["tokens"], model=args["model"], **given, **HERE)
    if alike(there, Release.parse(here)):
        assert found.matches
        return
    (explanation,) = found.explanations
    named = [cause for causes in (explanation.causes, *explanation.also) for cause in causes]
    spans = [cause.value for cause in named if cause.id == "release"]
    assert len(explanation.causes) == 1
    assert any(within(there, span) for span in spans), (named, there)


def within(release, spans):
    for span in spans.split(", "):
        first, _, last = span.partition(" to ")
        if Release.parse(first) <= release <= Release.parse(last or first):
            return True
    return False


def test_a_bare_hash_names_every_release_that_makes_it(comparison):
    from derived import NONE, builtins, cut

    found = comparison([f"{value:x}" for value in builtins(cut(), 0, third=(NONE,))], **HERE)
    (explanation,) = found.explanations
    assert [cause.id for cause in explanation.causes] == ["third-none"]
    assert [[cause.value for cause in causes] for causes in explanation.also] == [["0.3.4 to 0.3.15"]]


def test_token_hashes_of_the_real_server_are_known_as_such(causes):
    vector = load_corpus(RELEASES[-1]).vector("mp.tokens.three")
    expected = vector.answer["hashes"]
    assert causes(expected, tokens=vector.args["tokens"]) == [{"mp-token-hash"}]
