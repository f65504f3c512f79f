"""A failure carries what crossed the wire before it, whoever saw that; what passed carries nothing."""

import socket

import pytest

from harness.peers import Peer
from harness.tape import TAPES
from harness.tape.connection import TapedSocket
from harness.targets import mock_server
from harness.values import Keys
from mockserver.tape import Tape
from wire.release import Release

NEW = Release.parse("0.5.6")


def told(case):
    return case.diagnosis.conversation


def sizes(conversation, sender):
    return [event.length for event in conversation.events if event.what == "data" and event.sender == sender]


def test_a_reply_in_two_segments_is_told_as_two(judged):
    case = judged("mutant:recv-of-the-header-not-looped", "lm.segments.split-header[0.5.6-mock-10]").case
    conversation = told(case)
    assert conversation.seen_by == "the mock"
    assert sizes(conversation, "server")[-2:] == [10, 26]
    last = [event for event in conversation.events if event.sender == "server"][-1]
    assert last.label == "header, bytes 10 to 35 of 36: reply to EXIST: 200 (success)"
    assert len(last.data) == 26
    assert conversation.events[0].what == "open"


def test_cases_that_pass_and_cases_without_a_wire_carry_none(judged):
    run = judged("python:broken_clients:WrongByte", "lm.request.encode[0.5.6-fixtures-lm.request.sent.put-kv-2ltd-float16]")
    assert told(run.case) is None
    assert all(case.diagnosis is None for case in judged("reference", "lm.roundtrip.exist*").cases)


def test_each_failure_has_its_own_conversation_and_what_follows_it_is_not_there(judged):
    run = judged("mutant:recv-of-the-header-not-looped", "lm.segments.split-header*-mock-1?]")
    found = [told(case) for case in run.with_verdict("fail")]
    assert len(found) == 20
    for conversation in found:
        assert sum(event.what == "open" for event in conversation.events) == 1
        assert "server stopped" not in " ".join(event.label for event in conversation.events)


def test_the_multiprocess_wire_is_told_by_messages(judged):
    run = judged("mutant:mp-chunks-in-reverse", "mp.misbehaviour.retrieve-refused[0.5.6-mock]", protocol="mp")
    labels = [event.label for event in told(run.case).events if event.what == "data"]
    assert any(label.startswith("PREPARE_RETRIEVE ") for label in labels)
    assert any(label.startswith("reply to PREPARE_RETRIEVE: ") for label in labels)


def test_a_server_is_told_of_by_those_who_talk_to_it(judged):
    case = judged("mock", "servers.better.list[0.5.6-mock]", side="server", protocol="lm", target="mock").case
    conversation = told(case)
    assert conversation.seen_by == "connections of the harness"
    assert any(event.label.startswith("LIST ") for event in conversation.events)


def test_a_peer_of_ours_is_noted_with_what_it_sends_and_gets():
    TAPES.begin()
    key = Keys(NEW)()
    with mock_server(NEW) as server, Peer(NEW, server) as peer:
        peer.put(key, b"payload")
        assert peer.get(key) == b"payload"
    did = [(one.sender, one.did, one.length) for one in TAPES.ours.moments()[0]]
    assert did[:3] == [("client", "open", 0), ("client", "data", 193), ("client", "data", 186)]
    assert sum(size for sender, what, size in did if (sender, what) == ("server", "data")) == 36 + 7
    assert did[-1] == ("client", "close", 0)


@pytest.fixture
def pair():
    """A connection of ours that is noted, the other end of it, and the tape."""
    tape = Tape()
    one, other = socket.socketpair()
    with TapedSocket.of(one, tape) as taped, other:
        yield taped, other, tape


def did(tape):
    return [(one.sender, one.did, one.head) for one in tape.moments()[0]][1:]


def test_a_look_at_bytes_that_stay_is_no_segment(pair):
    taped, other, tape = pair
    other.sendall(b"abc")
    assert taped.recv(1, socket.MSG_PEEK) == b"a"
    assert did(tape) == []
    assert taped.recv(9) == b"abc"
    assert did(tape) == [("server", "data", b"abc")]


def test_the_end_of_the_stream_is_noted_once(pair):
    taped, other, tape = pair
    other.close()
    assert taped.recv(9) == b""
    assert taped.recv(9) == b""
    taped.close()
    assert did(tape) == [("server", "close", b"")]


def test_a_wait_in_vain_is_no_end(pair):
    taped, _, tape = pair
    taped.settimeout(0.01)
    with pytest.raises(TimeoutError):
        taped.recv(1)
    taped.shutdown(socket.SHUT_WR)
    assert did(tape) == [("client", "half-close", b"")]
