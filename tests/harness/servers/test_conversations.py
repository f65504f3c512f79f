"""Which captured conversations are demanded of any server, and how they are held."""

import contextlib
import socket
import threading
from dataclasses import replace

import pytest

from fixturegen.connection import SURPLUS, Connection
from fixturegen.corpus import load_corpus
from harness.conversations import MUST, PREFIX, SHOULD, demanded, hold, requirement_of, understood
from harness.requirements import load_requirements
from harness.targets import mock_server
from wire.release import Release

NEW, OLD = Release.parse("0.5.6"), Release.parse("0.3.1")


def conversation(release, name):
    return next(found for found in load_corpus(release).transcripts if found.id == PREFIX + name)


@pytest.mark.parametrize("release", [OLD, Release.parse("0.3.5"), NEW])
def test_a_release_demands_many_and_wants_some_more(release):
    assert len(demanded(release)) > 50
    assert 5 < len(understood(release)) < 20


def test_what_is_demanded_is_a_must_and_what_is_wanted_a_should():
    known = load_requirements()
    assert {known[name].level for name in MUST} == {"MUST"}
    assert {known[name].level for name in SHOULD} == {"SHOULD"}


@pytest.mark.parametrize("name", ["cut-payload", "negative-length", "bad-command-six", "list-silent", "key-nul-padded"])
def test_what_only_the_real_server_does_is_not_demanded(name):
    assert requirement_of(NEW, conversation(NEW, name)) is None


def test_a_key_that_the_release_cannot_write_is_not_demanded():
    release = Release.parse("0.3.3")
    assert requirement_of(release, conversation(release, "identity-digest")) is None


def test_another_spelling_is_wanted_and_another_key_demanded():
    assert requirement_of(NEW, conversation(NEW, "spelling-hash-leading-zeros")) == "SRV-LM-050"
    assert requirement_of(NEW, conversation(NEW, "spelling-hash-negative")) == "SRV-LM-010"
    assert requirement_of(NEW, conversation(NEW, "spelling-plain")) == "SRV-LM-003"


@pytest.mark.parametrize("release", [OLD, NEW])
@pytest.mark.parametrize(
    "name", ["identity-model", "value-outlives-connection", "half-header-waits", "key-full-field", "large-value"]
)
def test_a_conversation_can_be_held_twice_with_the_same_server(release, name):
    found = conversation(release, name)
    with mock_server(release) as server:
        for model in ("lmconform/here/1", "lmconform/here/2"):
            assert hold(release, server.host, server.port, found, load_corpus(release), model) == []
        keys = {exchange.key for exchange in server.journal.exchanges() if exchange.command == "PUT"}
    assert all("lmconform/here/" in key for key in keys)
    assert len(keys) % 2 == 0


def test_a_server_need_not_know_connections_that_are_closed_on_one_side(monkeypatch):
    found = conversation(NEW, "value-outlives-connection")
    assert any(step.do == "half-close" for step in found.steps)
    played = []
    monkeypatch.setattr("harness.conversations.play", lambda _host, _port, transcript: played.append(transcript) or [])
    hold(NEW, "127.0.0.1", 1, found, load_corpus(NEW), "lmconform/here/1")
    assert not any(step.do == "half-close" for step in played[0].steps)


def test_a_reply_that_nobody_asked_for_shows_in_front_of_the_last_one():
    found = conversation(NEW, "put-get")
    with mock_server(NEW) as server:
        server.misbehave("duplicate-reply:command=GET")
        differences = hold(NEW, server.host, server.port, found, load_corpus(NEW), "lmconform/here/1")
    assert len(differences) == 1


def test_a_difference_is_found():
    found = conversation(NEW, "exist-miss")
    wrong = replace(found.steps[2], values={"got": {**found.steps[2].values["got"], "bytes": "00" * 36}})
    changed = replace(found, steps=[*found.steps[:2], wrong, *found.steps[3:]])
    with mock_server(NEW) as server:
        (difference,) = hold(NEW, server.host, server.port, changed, load_corpus(NEW), "lmconform/here/1")
    assert difference.step == 2


def test_a_server_that_never_stops_sending_is_not_listened_to_for_long():
    flood = bytes(1 << 20)

    def serve(listener):
        peer, _ = listener.accept()
        with peer, contextlib.suppress(OSError):
            while True:
                peer.sendall(flood)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        connection = Connection(*listener.getsockname())
        data, closed = connection.receive(36, 20.0, 0.02)
        connection.close()
    assert not closed
    assert SURPLUS < len(data) < 2 * SURPLUS
