"""Every captured request and conversation, as a proxy would have seen it, tells its release, and nothing is wrong in it."""

import pytest
from zmtp_speech import Talk, spoken

from fixturegen.corpus import captured_releases, load_corpus
from harness.mp.manners import kind_of, request_in
from harness.tap.mp.candidates import groups
from harness.tap.mp.lint import listen

CAPTURED = captured_releases(protocol="mp")
RELEASES = [group[-1] for group in groups() if group[-1] in CAPTURED]
"""The newest of those that nothing on the wire tells apart."""
ODD = ("in-flight", "empty-uid", "uids", "key-negative-token", "key-larger-tokens", "key-huge-tokens")
"""Conversations in which the client does on purpose what is told here: uids twice or empty, tokens that are none."""
OF_KEYS = ("mp.key.tokens", "mp.payload.readers")
LESS = ("key-required-only",)
"""A client that leaves out what has a default looks like one of a release without it."""


def ids(values):
    return [str(value) for value in values]


@pytest.mark.parametrize("release", RELEASES, ids=ids(RELEASES))
def test_the_release_of_every_captured_request_is_among_the_guesses(release):
    requests = 0
    for vector in load_corpus(release, protocol="mp").vectors["mp_encode_request"]:
        if vector.ok is None:
            continue
        frames = [bytes.fromhex(frame["hex"]) for frame in vector.answer["frames"]]
        if request_in(release, [b"\x00", *frames]) is None:
            continue  # an encoder writes what it is given, and no server takes this
        talk = Talk().open()
        talk.frames(b"\x00", *frames)
        heard = listen(talk.events, release)
        requests += 1
        assert heard.listener.guess("client").may_be(release), vector.id
        assert not [found for found in heard.findings if found.level == "error" and found.rule.name not in OF_KEYS], vector.id
    assert requests > 20


@pytest.mark.parametrize("release", RELEASES, ids=ids(RELEASES))
def test_a_captured_conversation_has_no_errors_and_tells_its_release(release):
    told = 0
    for transcript in load_corpus(release, protocol="mp").mp_transcripts:
        name = transcript.id.rpartition(".")[2]
        if kind_of(release, transcript) != "answered" or name in LESS:
            continue
        heard = listen(spoken(transcript))
        told += 1
        assert heard.listener.guess("client").may_be(release), transcript.id
        assert heard.listener.guess("server").may_be(release), transcript.id
        assert name in ODD or not [found for found in heard.findings if found.level == "error"], transcript.id
    assert told > 10 or release == RELEASES[0]


@pytest.mark.parametrize("release", [release for release in RELEASES if str(release) in {"0.3.15", "0.5.6"}], ids=str)
def test_conversations_that_real_servers_drop_or_die_of_are_told(release):
    silent = 0
    for transcript in load_corpus(release, protocol="mp").mp_transcripts:
        if kind_of(release, transcript) == "answered":
            continue
        found = listen(spoken(transcript), release).findings
        silent += 1
        assert found, transcript.id
    assert silent > 10
