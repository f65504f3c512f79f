"""Conversations are recorded as they happened, and a replay finds every way in which a server differs."""

import hashlib
import socket

import pytest
from scripted_peer import Close, Flood, Read, ScriptedPeer, UntilEnd

from fixturegen import connection as client_side
from fixturegen import player
from fixturegen.player import Difference, Goodbye, record, replay
from fixturegen.vector import Step, Transcript, patterned


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch):
    monkeypatch.setattr(player, "RECORDED_SILENCE", 0.05)
    monkeypatch.setattr(player, "QUIET", 0.02)


def conversation(*steps):
    return Transcript("lm.server.test", "A test.", [Step("connect", "a"), *steps])


def send(data, connection="a", **values):
    return Step("send", connection, {"bytes": data.hex(), **values})


def want(count, connection="a"):
    return Step("receive", connection, {"want": count})


def got(data=b"", *, closed=False, connection="a"):
    return Step("receive", connection, {"got": {"bytes": data.hex(), "closed": closed}})


def recorded(script, *scenes):
    """What the receive steps of a recording hold."""
    with ScriptedPeer(*scenes) as peer:
        found = record(peer.host, peer.port, script)
    assert (found.id, found.title) == (script.id, script.title)
    return [step.values["got"] for step in found.steps if step.do == "receive"]


def differences(transcript, *scenes, patience=0.3):
    with ScriptedPeer(*scenes) as peer:
        return replay(peer.host, peer.port, transcript, patience=patience)


def test_bytes_are_recorded():
    script = conversation(send(b"ask"), want(6))
    assert recorded(script, [Read(3), b"answer"]) == [{"bytes": b"answer".hex(), "closed": False}]


def test_bytes_that_come_in_pieces_are_one_answer():
    script = conversation(send(b"ask"), want(6))
    assert recorded(script, [Read(3), b"a", b"nsw", b"er"]) == [{"bytes": b"answer".hex(), "closed": False}]


def test_bytes_behind_the_hoped_for_ones_are_recorded_too():
    script = conversation(send(b"ask"), want(2))
    assert recorded(script, [Read(3), b"answer"]) == [{"bytes": b"answer".hex(), "closed": False}]


def test_silence_is_recorded():
    script = conversation(send(b"ask"), want(0))
    assert recorded(script, [Read(3)]) == [{"bytes": "", "closed": False}]


def test_bytes_instead_of_silence_are_recorded():
    script = conversation(send(b"ask"), want(0))
    assert recorded(script, [Read(3), b"!"]) == [{"bytes": b"!".hex(), "closed": False}]


@pytest.mark.parametrize("reset", [False, True])
def test_a_close_is_recorded_however_it_is_made(reset):
    script = conversation(send(b"ask"), want(None))
    assert recorded(script, [Read(3), Close(reset=reset)]) == [{"bytes": "", "closed": True}]


def test_bytes_before_a_close_are_recorded_with_it():
    script = conversation(send(b"ask"), want(None))
    assert recorded(script, [Read(3), b"bye", Close()]) == [{"bytes": b"bye".hex(), "closed": True}]


def test_a_close_instead_of_bytes_is_recorded():
    script = conversation(send(b"ask"), want(36))
    assert recorded(script, [Read(3), b"cut", Close()]) == [{"bytes": b"cut".hex(), "closed": True}]


def test_after_a_half_close_the_answer_still_comes():
    script = conversation(send(b"ask"), Step("half-close", "a"), want(None))
    assert recorded(script, [UntilEnd(), b"answer", Close()]) == [{"bytes": b"answer".hex(), "closed": True}]


def test_a_half_close_on_a_connection_that_is_gone_is_harmless():
    script = conversation(want(None), Step("half-close", "a"), want(None))
    assert recorded(script, [Close(reset=True)]) == [{"bytes": "", "closed": True}] * 2


def test_a_broken_send_shows_as_a_close():
    script = conversation(send(b"ask"), Step("send", "a", {"pattern": {"seed": 1, "length": 1 << 24}}), want(None))
    assert recorded(script, [Read(3), Close(reset=True)]) == [{"bytes": "", "closed": True}]


@pytest.mark.parametrize("size", [4096, 4097])
def test_an_answer_of_more_than_4096_bytes_is_kept_as_length_and_hash(size):
    body = patterned(7, size)
    script = conversation(send(b"ask"), want(size))
    expected = {"bytes": body.hex()} if size <= 4096 else {"length": size, "sha256": hashlib.sha256(body).hexdigest()}
    assert recorded(script, [Read(3), body]) == [{**expected, "closed": False}]


def test_connections_of_one_conversation_are_apart():
    script = conversation(Step("connect", "b"), send(b"1"), want(1), send(b"2", "b"), want(1, "b"))
    assert [answer["bytes"] for answer in recorded(script, [Read(1), b"a"], [Read(1), b"b"])] == [b"a".hex(), b"b".hex()]


def test_a_recording_keeps_what_was_sent():
    script = conversation(send(b"ask", pieces=1), want(1))
    with ScriptedPeer([Read(3), b"!"]) as peer:
        found = record(peer.host, peer.port, script)
    assert bytes(peer.received[0]) == b"ask"
    assert found.steps[:2] == script.steps[:2]


@pytest.fixture
def sends(monkeypatch):
    """The sizes of every send on a connection of the player."""
    sizes = []

    class Recorder(socket.socket):
        def sendall(self, data, *flags):
            sizes.append(len(data))
            return super().sendall(data, *flags)

    def connect(address, timeout):
        made = Recorder(socket.AF_INET, socket.SOCK_STREAM)
        made.settimeout(timeout)
        made.connect(address)
        return made

    monkeypatch.setattr(client_side.socket, "create_connection", connect)
    return sizes


@pytest.mark.parametrize(("values", "sizes"), [({}, [10]), ({"pieces": 1}, [1] * 10), ({"pieces": 7}, [7, 3])])
def test_bytes_go_out_at_once_or_in_pieces(sends, values, sizes):
    recorded(conversation(send(b"0123456789", **values), want(1)), [Read(10), b"!"])
    assert sends == sizes


def test_a_faithful_server_differs_in_nothing():
    transcript = conversation(send(b"ask"), got(b"answer"), send(b"more"), got(), Step("half-close", "a"), got(closed=True))
    assert differences(transcript, [Read(3), b"ans", b"wer", Read(4), UntilEnd(), Close()]) == []


def test_what_was_recorded_replays():
    script = conversation(send(b"ask"), want(5000), send(b"x"), want(0), Step("half-close", "a"), want(None))
    scene = [Read(3), patterned(1, 5000), UntilEnd(), b"bye", Close()]
    with ScriptedPeer(scene, scene) as peer:
        transcript = record(peer.host, peer.port, script)
        assert replay(peer.host, peer.port, transcript) == []


def test_a_wrong_byte_is_found_with_what_came():
    found = differences(conversation(send(b"ask"), got(b"answer")), [Read(3), b"answeR"])
    assert found == [
        Difference(2, {"bytes": b"answer".hex(), "closed": False}, {"bytes": b"answeR".hex(), "closed": False}, b"answeR")
    ]


def test_a_surplus_byte_is_found():
    (difference,) = differences(conversation(send(b"ask"), got(b"answer")), [Read(3), b"answer!"])
    assert difference.received == b"answer!"


def test_a_surplus_byte_that_comes_later_is_found_in_the_next_answer():
    transcript = conversation(send(b"1"), got(b"a"), send(b"2"), got(b"b"))
    (difference,) = differences(transcript, [Read(1), b"a", Read(1), b"!b"])
    assert (difference.step, difference.received) == (4, b"!b")


def test_missing_bytes_are_found():
    (difference,) = differences(conversation(send(b"ask"), got(b"answer")), [Read(3), b"ans"], patience=0.05)
    assert difference.received == b"ans"
    assert difference.got["closed"] is False


def test_bytes_instead_of_silence_are_found(monkeypatch):
    monkeypatch.setattr(player, "REPLAYED_SILENCE", 5.0)
    (difference,) = differences(conversation(send(b"ask"), got()), [Read(3), b"!", Close()])
    assert difference.received == b"!"


def test_a_missing_close_is_found():
    (difference,) = differences(conversation(send(b"ask"), got(closed=True)), [Read(3)], patience=0.05)
    assert difference.got == {"bytes": "", "closed": False}


@pytest.mark.parametrize("reset", [False, True])
def test_an_unexpected_close_is_found(monkeypatch, reset):
    monkeypatch.setattr(player, "REPLAYED_SILENCE", 5.0)
    (difference,) = differences(conversation(send(b"ask"), got(b"answer")), [Read(3), b"answer", Close(reset=reset)])
    assert difference.got["closed"] is True


def test_a_close_instead_of_silence_is_found(monkeypatch):
    monkeypatch.setattr(player, "REPLAYED_SILENCE", 5.0)
    (difference,) = differences(conversation(send(b"ask"), got()), [Read(3), Close()])
    assert difference.got == {"bytes": "", "closed": True}


def test_a_wrong_byte_of_a_large_answer_is_found():
    body = patterned(1, 5000)
    kept = {"length": 5000, "sha256": hashlib.sha256(body).hexdigest(), "closed": False}
    transcript = conversation(send(b"ask"), Step("receive", "a", {"got": kept}))
    assert differences(transcript, [Read(3), body]) == []
    (difference,) = differences(transcript, [Read(3), body[:-1] + b"!"])
    assert difference.got["length"] == 5000
    assert difference.got["sha256"] != kept["sha256"]


def test_a_replay_ends_with_the_first_difference():
    transcript = conversation(send(b"1"), got(b"a"), send(b"2"), got(b"b"))
    assert [difference.step for difference in differences(transcript, [Read(1), b"x", Read(1), b"y"])] == [2]


def test_a_server_that_never_stops_sending_does_not_hold_up_a_replay():
    (difference,) = differences(conversation(send(b"ask"), got(b"answer")), [Read(3), b"answer", Flood()], patience=0.1)
    assert difference.got["length"] > 6


GOODBYE = Goodbye(b"health", b"good")
ASKED = conversation(send(b"ask"), got(b"answer"))


@pytest.fixture
def patient(monkeypatch):
    """Every wait for silence would be noticed."""
    monkeypatch.setattr(player, "REPLAYED_SILENCE", 60.0)


def parting(transcript, *scenes, patience=5.0):
    """The differences of a replay that ends with one more request."""
    with ScriptedPeer(*scenes) as peer:
        return replay(peer.host, peer.port, transcript, goodbye=GOODBYE, patience=patience)


def test_with_one_more_request_nobody_waits_for_silence(patient):
    assert parting(ASKED, [Read(3), b"answer", UntilEnd(), b"good", Close()]) == []


def test_the_request_behind_the_end_comes_from_a_captured_conversation():
    captured = conversation(send(b"health"), got(b"good"), send(b"again"), got(b"good"))
    assert Goodbye.of(captured) == GOODBYE


@pytest.mark.parametrize("surplus", [b"!", b"good"])
def test_surplus_bytes_are_found_in_front_of_the_reply_to_one_more_request(patient, surplus):
    (difference,) = parting(ASKED, [Read(3), b"answer", UntilEnd(), surplus, b"good", Close()])
    assert (difference.step, difference.after) == (2, True)
    assert difference.received == surplus + b"good"
    assert str(difference).startswith("after step 2, answering one more request: expected 4 bytes ")


def test_a_connection_that_closed_too_early_does_not_answer_one_more_request(patient):
    (difference,) = parting(ASKED, [Read(3), b"answer", Close()])
    assert difference.got == {"bytes": "", "closed": True}


def test_every_connection_that_is_open_at_the_end_is_asked_once_more(patient):
    transcript = conversation(Step("connect", "b"), send(b"1"), got(b"a"), send(b"2", "b"), got(b"b", connection="b"))
    good, bad = [Read(1), b"a", UntilEnd(), b"good", Close()], [Read(1), b"b", UntilEnd(), b"evil", Close()]
    (difference,) = parting(transcript, good, bad)
    assert (difference.step, difference.received) == (5, b"evil")


def test_connections_that_are_in_the_middle_of_something_are_not_asked_once_more():
    scene = [Read(3), b"answer", Read(4), UntilEnd(), Close()]
    for last in ([send(b"more")], [Step("half-close", "a")], [send(b"more"), got()], [Step("close", "a")]):
        assert parting(conversation(send(b"ask"), got(b"answer"), *last), scene) == []


@pytest.mark.parametrize(
    ("expected", "came", "words"),
    [
        (got(b"\x01\x02"), got(b"\x01\x03"), "step 4: expected 2 bytes 0102, got 2 bytes 0103"),
        (got(), got(closed=True), "step 4: expected silence, got nothing, then a close"),
        (got(b"\x01", closed=True), got(b"\x01"), "step 4: expected 1 bytes 01, then a close, got 1 bytes 01"),
    ],
)
def test_a_difference_reads_as_a_sentence(expected, came, words):
    assert str(Difference(4, expected.values["got"], came.values["got"], b"")) == words


def test_a_large_difference_reads_as_size_and_hash():
    large = {"length": 5000, "sha256": "ab" * 32, "closed": False}
    words = str(Difference(1, large, got().values["got"], b""))
    assert words == "step 1: expected 5000 bytes with sha256 abababababab, got silence"
