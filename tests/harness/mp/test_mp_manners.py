"""What a captured conversation asks of a server follows from the conversation."""

from __future__ import annotations

import pytest

from fixturegen.corpus import load_corpus
from fixturegen.mp.scenarios.malformed import KEYS, MESSAGES, TEXT_PAYLOADS
from harness.mp.manners import kind_of, request_in, sent_in
from wire.mp.operations import operation_table
from wire.mp.values import pack
from wire.release import Release

NEWEST = Release.parse("0.5.6")
READ_ALL_THE_SAME = {"empty-uid", "wide-number", "known-name", "huge-for-number"}
"""Messages of the table of malformed ones that are whole requests."""


def conversations(release=NEWEST):
    return {one.id.split(".")[-1]: one for one in load_corpus(release, protocol="mp").mp_transcripts if one.setting != "pickle"}


@pytest.mark.parametrize("release", ["0.3.10", "0.4.7", "0.5.5", "0.5.6"])
def test_what_ended_the_real_server_is_deadly_and_nothing_else_is(release):
    found = load_corpus(Release.parse(release), protocol="mp").mp_transcripts
    deadly = {one.id for one in found if kind_of(Release.parse(release), one) == "deadly"}
    assert deadly == {one.id for one in found if one.fatal}
    assert deadly


def test_messages_that_are_no_requests_must_be_dropped():
    malformed = {name for name in {*MESSAGES, *TEXT_PAYLOADS} if name in conversations()} - READ_ALL_THE_SAME - {"one-frame"}
    assert {name: kind_of(NEWEST, conversations()[name]) for name in malformed} == dict.fromkeys(malformed, "dropped")


@pytest.mark.parametrize("name", ["key-unknown-field", "key-reordered", "key-required-only", "known-name", "wide-number"])
def test_a_request_in_another_form_must_be_answered(name):
    assert name in {*KEYS, *MESSAGES}
    assert kind_of(NEWEST, conversations()[name]) == "answered"


@pytest.mark.parametrize("name", ["round-trip", "kv-events-of-tensors", "restart", "readers"])
def test_flows_must_be_answered(name):
    assert kind_of(NEWEST, conversations()[name]) == "answered"


def test_a_whole_request_without_an_answer_is_known_as_such():
    left = [one.operation.name for one in sent_in(NEWEST, conversations()["unregistered"]).values() if not one.answered]
    assert left == ["PREPARE_STORE"]


def test_conversions_of_python_make_no_whole_request():
    number = pack(operation_table(NEWEST).named("UNREGISTER_KV_CACHE").number)
    assert request_in(NEWEST, [b"u", number, pack(7)]) is not None
    assert request_in(NEWEST, [b"u", number, pack("7")]) is None
    assert request_in(NEWEST, [b"u", number, pack(7.5)]) is None
