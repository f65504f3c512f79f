"""Scripts of conversations with the real server: for every known release."""

import functools

import pytest

import fixturegen.scenarios
from fixturegen.corpus import captured_releases, load_corpus
from wire.errors import WireError
from wire.keys import parse_key_as_server
from wire.lm.frames import decode_request
from wire.lm.profile import lm_profile
from wire.release import KNOWN_RELEASES, Release

scenarios = functools.cache(fixturegen.scenarios.scenarios)
every_release = pytest.mark.parametrize("release", [Release.parse(text) for text in KNOWN_RELEASES], ids=KNOWN_RELEASES)


@every_release
def test_ids_and_titles_are_there_and_ids_unique(release):
    found = scenarios(release)
    assert len({script.id for script in found}) == len(found)
    for script in found:
        assert script.id.startswith("lm.server.")
        assert script.title.endswith("."), script.id


@every_release
def test_there_are_more_than_a_hundred(release):
    assert 120 <= len(scenarios(release)) <= 200


@every_release
def test_every_step_is_on_a_connection_that_was_opened(release):
    for script in scenarios(release):
        opened = set()
        for step in script.steps:
            if step.do == "connect":
                assert step.connection not in opened, script.id
                opened.add(step.connection)
            assert step.connection in opened, script.id


@every_release
def test_every_script_listens_and_says_how_long(release):
    for script in scenarios(release):
        received = [step.values for step in script.steps if step.do == "receive"]
        assert received, script.id
        assert all(set(values) == {"want"} for values in received), script.id


@every_release
def test_nothing_follows_the_end_of_a_connection(release):
    for script in scenarios(release):
        ended = set()
        for step in script.steps:
            assert step.connection not in ended, script.id
            if step.do == "receive" and step.values["want"] is None:
                ended.add(step.connection)


@every_release
def test_scripts_store_under_keys_that_no_other_script_stores_under(release):
    owners = {}
    for script in scenarios(release):
        for key in stored_keys(release, script):
            assert owners.setdefault(key, script.id) == script.id, key


def stored_keys(release, script):
    profile = lm_profile(release)
    for step in script.steps:
        header = step.payload()[: profile.header.request_size] if step.do == "send" else b""
        try:
            request = decode_request(profile, header)
            if request.command == "PUT":
                yield parse_key_as_server(release, request.key)
        except WireError:
            continue


@pytest.mark.parametrize("release", captured_releases(), ids=str)
def test_what_was_recorded_is_what_is_sent_today(release):
    recorded = {transcript.id: transcript.steps for transcript in load_corpus(release).transcripts}
    for script in scenarios(release):
        sent = [(step.do, step.connection, None if step.do == "receive" else step.values) for step in script.steps]
        kept = [(s.do, s.connection, None if s.do == "receive" else s.values) for s in recorded[script.id]]
        assert kept == sent, script.id
    assert len(recorded) == len(scenarios(release))
