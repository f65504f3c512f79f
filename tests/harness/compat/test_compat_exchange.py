"""A client reads in its own layout, waits for bounded times, and every way in which a reply can be wrong has its name."""

import time

import pytest
from scripted_peer import Close, Read, ScriptedPeer

from fixturegen.corpus import load_corpus
from harness.compat.exchange import Ask, Line, Place, ServerAsleep
from harness.compat.frames_of import PLAIN_VALUE, frames_of
from harness.compat.judge import trouble_in
from harness.compat.shelf import HIT, MISS, stored
from reports.compat.outcome import Outcome
from wire.release import Release

NEW = Release.parse("0.5.6")
FRAMES = frames_of(NEW)
KEY = FRAMES.key("plain").text
PATIENCE = 0.1


def reply_of(scenario, number):
    """The bytes that the real server was seen to answer in a captured conversation."""
    transcript = next(found for found in load_corpus(NEW).transcripts if found.id == f"lm.server.{scenario}")
    return bytes.fromhex([step.values["got"]["bytes"] for step in transcript.steps if step.do == "receive"][number])


YES, NO = reply_of("exist-hit", 0), reply_of("exist-miss", 0)
GOOD = reply_of("put-get", 0)
"""A header and 64 bytes of uint8, shape [2, 1, 1, 32]."""
ABOUT = FRAMES.read_reply(GOOD[:36]).about


def ask(command, expects):
    return Ask(command, FRAMES.request(command, KEY), expects=expects)


def heard(question, *script, patience=PATIENCE, awake=lambda: None):
    with ScriptedPeer([Read(186), *script]) as peer, Line(Place(peer.host, peer.port, patience, awake), FRAMES, "client") as line:
        return line.ask(question)


def trouble(question, *script, **options):
    return trouble_in(question, heard(question, *script, **options), NEW)


def outcome(question, *script, **options):
    return trouble(question, *script, **options).outcome


EXIST, LOST, HEALTH = ask("EXIST", HIT), ask("EXIST", MISS), ask("HEALTH", HIT)
GET = ask("GET", stored(ABOUT, GOOD[36:]))


@pytest.mark.parametrize(
    ("question", "came"), [(EXIST, YES), (LOST, NO), (HEALTH, YES), (GET, GOOD)], ids=["exist", "miss", "health", "get"]
)
def test_a_right_reply_is_no_trouble(question, came):
    assert trouble(question, came) is None


def test_a_reply_in_pieces_is_no_trouble():
    assert trouble(GET, GOOD[:10], GOOD[10:50], GOOD[50:]) is None


def test_a_close_is_a_refusal():
    assert outcome(EXIST, Close()) == Outcome.REFUSED


def test_a_reset_is_a_refusal():
    assert outcome(EXIST, Close(reset=True)) == Outcome.REFUSED


def test_a_close_inside_a_reply_is_a_refusal():
    assert outcome(GET, GOOD[:50], Close()) == Outcome.REFUSED


def test_silence_is_a_hang():
    found = trouble(EXIST)
    assert (found.outcome, found.reason) == (Outcome.HANGS, "no reply")


def test_part_of_a_header_is_a_hang_that_says_what_came():
    found = trouble(EXIST, YES[:32])
    assert (found.outcome, found.reason) == (Outcome.HANGS, "32 bytes of reply came and the client waits for 36")


def test_part_of_a_body_is_a_hang_that_says_what_came():
    assert trouble(GET, GOOD[:90]).reason == "90 bytes of reply came and the client waits for 100"


def test_a_wait_ends_even_if_bytes_drip():
    start = time.monotonic()
    assert outcome(EXIST, YES[:1], YES[1:2]) == Outcome.HANGS
    assert time.monotonic() - start < 5


def test_a_server_that_is_only_slow_does_not_hang():
    with ScriptedPeer([Read(187), YES]) as peer:

        def awake():
            line._connection.send(b"x")  # what the peer waits for before it answers

        with Line(Place(peer.host, peer.port, 1.0, awake), FRAMES, "client") as line:
            assert trouble_in(EXIST, line.ask(EXIST), NEW) is None


def test_a_server_that_answers_nobody_is_not_said_to_hang():
    def awake():
        raise ServerAsleep("HEALTH is not answered")

    with pytest.raises(ServerAsleep):
        heard(EXIST, awake=awake)


def test_failure_instead_of_what_was_stored_is_a_miss():
    assert outcome(GET, NO) == Outcome.MISSES
    assert outcome(EXIST, NO) == Outcome.MISSES


def test_success_instead_of_a_miss_is_wrong():
    assert outcome(LOST, YES) == Outcome.WRONG


def test_an_unhealthy_server_is_wrong():
    assert outcome(HEALTH, NO) == Outcome.WRONG


def test_other_bytes_are_wrong():
    found = trouble(GET, GOOD[:-1] + bytes([GOOD[-1] ^ 1]))
    assert (found.outcome, found.reason) == (Outcome.WRONG, "success with other bytes than those that were stored")


@pytest.mark.parametrize(
    ("offset", "value", "words"),
    [
        (8, 2, "format KV_2LTD reads as KV_T2D"),
        (12, 7, "dtype uint8 reads as float8_e4m3fn"),
        (16, 4, "shape [2, 1, 1, 32] reads as [4, 1, 1, 32]"),
    ],
)
def test_another_description_is_wrong_and_named(offset, value, words):
    found = trouble(GET, GOOD[:offset] + bytes([value]) + GOOD[offset + 1 :])
    assert (found.outcome, found.reason) == (Outcome.WRONG, f"the value is described otherwise: {words}")


def test_another_length_is_wrong_and_named():
    found = trouble(GET, GOOD[:4] + b"\x3f" + GOOD[5:-1])
    assert found.reason == "the value is described otherwise: length 64 reads as 63"


def test_a_header_that_means_nothing_is_wrong():
    found = trouble(EXIST, b"\x07" + YES[1:])
    assert (found.outcome, found.reason[:36]) == (Outcome.WRONG, "the reply means nothing to the clien")


def test_bytes_that_are_left_over_are_wrong():
    found = trouble(EXIST, YES + b"rest")
    assert (found.outcome, found.reason) == (Outcome.WRONG, "4 bytes are left over, and the next reply begins with them")


def test_bytes_that_are_left_over_begin_the_next_reply():
    with (
        ScriptedPeer([Read(186), YES + NO[:4], Read(186), NO[4:]]) as peer,
        Line(Place(peer.host, peer.port, PATIENCE, lambda: None), FRAMES, "client") as line,
    ):
        assert line.ask(EXIST).surplus == 4
        assert line.ask(LOST).reply.code == "FAIL"


def test_a_put_is_not_waited_for():
    value = FRAMES.value(PLAIN_VALUE)
    with ScriptedPeer([Read(186 + 256)]) as peer, Line(Place(peer.host, peer.port, 30, lambda: None), FRAMES, "client") as line:
        found = line.ask(Ask("PUT", FRAMES.put(value, KEY), bytes(256)))
    assert (found.exchange.payload, found.exchange.wanted) == (256, 0)


def test_what_was_sent_and_what_came_is_kept():
    exchange = heard(EXIST, YES[:32]).exchange
    assert (exchange.by, exchange.request, exchange.sent) == ("client", "EXIST", EXIST.header)
    assert (exchange.got, exchange.received, exchange.wanted, exchange.ending) == (YES[:32], 32, 36, "silence")
