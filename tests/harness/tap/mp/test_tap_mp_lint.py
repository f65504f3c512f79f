"""What is told of conversations with the multiprocess server, mistake by mistake."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from zmtp_speech import HELLO, Talk, command, greeting, key, message, ready

from harness.tap.event import Event
from harness.tap.mp.lint import MpListener, listen
from wire.mp.values import pack
from wire.release import Release


def rules(talk, profile=None):
    return [found.rule.name for found in listen(talk.events, profile and Release.parse(profile)).findings]


def one(talk, rule, profile=None):
    (found,) = [one for one in listen(talk.events, profile and Release.parse(profile)).findings if one.rule.name == rule]
    return found


CONTEXT = {
    "instance_id": 7,
    "model_name": "org/model",
    "world_size": 1,
    "block_size": 16,
    "num_layers": 2,
    "hidden_dim_size": 8,
    "dtype_str": "float16",
    "use_mla": False,
}
"""What an engine that copies itself registers with; in 0.5.6 with one member more."""


def at_work(client="0.5.6", server=None):
    """An engine that has said enough to be known."""
    talk = Talk(client, server).open()
    return talk.ask("GET_CHUNK_SIZE").answer("GET_CHUNK_SIZE", 16).ask("NOOP").answer("NOOP", "OK")


def test_a_right_conversation_has_no_findings():
    talk = at_work()
    context = {**CONTEXT, "num_physical_slots": None}
    talk.ask("REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", context)
    talk.answer("REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", {"shm_name": "x", "pool_size": 4096})
    talk.ask("PREPARE_STORE", key("0.5.6"), 7).answer("PREPARE_STORE", {"context": {"slots": [], "chunk_indices": []}})
    talk.ask("LOOKUP", key("0.5.6", worker=None), 1).answer("LOOKUP")
    talk.ask("QUERY_PREFETCH_STATUS", "r1").answer("QUERY_PREFETCH_STATUS", 2)
    talk.ask("FREE_LOOKUP_LOCKS", key("0.5.6", worker=None), 1).answer("FREE_LOOKUP_LOCKS")
    assert rules(talk.end()) == []


def test_the_number_that_clears_the_cache_is_the_first_wrong_byte_and_names_both_releases():
    talk = Talk("0.4.7", "0.5.1").open()
    talk.ask("GET_CHUNK_SIZE").answer("CLEAR")
    talk.ask("END_SESSION", "r1").ask("NOOP")
    heard = listen(talk.end().events)
    first = heard.listener.first_wrong
    assert (heard.listener.guess("client").words, heard.listener.guess("server").words) == ("0.4.7", "0.5.0 to 0.5.2")
    assert first.rule.name == "mp.operation.other"
    sent = b"".join(event.data for event in talk.events if event.side == "client")
    assert sent[first.offset] == 17
    assert first.expected.startswith("18,")
    assert "clears the cache" in first.summary
    assert "mp.sides.differ" in rules(talk)


def test_with_a_profile_the_first_message_is_enough():
    talk = Talk("0.4.7").open().ask("LOOKUP", key("0.4.7", worker=None), 1).ask("FREE_LOOKUP_LOCKS", key("0.4.7", worker=None), 1)
    assert "mp.operation.dropped" in rules(talk.end(), "0.5.1")


def test_a_number_that_two_releases_read_differently_is_told_with_care_as_long_as_nothing_decides():
    talk = Talk("0.4.7").open().ask("GET_CHUNK_SIZE").answer("CLEAR")
    found = one(talk.end(), "mp.operation.either")
    assert "no engine sends that by itself" in found.summary
    assert found.level == "warning"


def test_an_unknown_number_ends_servers_up_to_0_5_5_and_is_dropped_by_0_5_6():
    talk = at_work("0.5.4").frames(b"u", pack(40))
    assert "mp.operation.kills" in rules(talk, "0.5.5")
    assert "mp.operation.unknown" in rules(talk, "0.5.6")


def test_a_server_that_answers_after_an_unknown_number_is_of_0_5_6():
    talk = at_work("0.5.5").frames(b"u", pack(77)).ask("NOOP").answer("NOOP", "OK")
    assert listen(talk.end().events).listener.guess("server").candidates == (Release.parse("0.5.6"),)


@pytest.mark.parametrize(
    ("release", "rule", "field", "frames"),
    [
        ("0.5.6", "mp.payload.count", "number of payloads of NOOP (frame 2, byte 0)", [b"u", pack(24), pack(1)]),
        ("0.5.6", "mp.payload.type", "payload 0 of END_SESSION (frame 2, byte 0)", [b"u", pack(13), pack(1)]),
        (
            "0.5.6",
            "mp.payload.type",
            "payload 0 of LOOKUP (frame 2, byte 0)",
            [b"u", pack(8), pack({"model_name": "m"}), pack(1)],
        ),
        ("0.5.6", "mp.payload.type", "payload 0 of END_SESSION (frame 2, byte 0)", [b"u", pack(13), b"\xc1"]),
    ],
)
def test_what_the_release_does_not_take_is_told_with_its_byte(release, rule, field, frames):
    found = one(at_work(release).frames(*frames), rule, release)
    assert found.field == field


def test_a_member_of_a_key_has_its_own_byte():
    record = key("0.5.6", worker=None, start="0")
    talk = at_work().frames(b"u", pack(8), pack(record), pack(1))
    found = one(talk, "mp.payload.type", "0.5.6")
    sent = b"".join(event.data for event in talk.events if event.side == "client")
    assert sent[found.offset : found.offset + 2] == pack("0")
    assert "start" in found.field


def test_a_lookup_of_0_5_4_that_0_5_5_leaves_without_an_answer_names_both():
    talk = at_work("0.5.4", "0.5.5")
    talk.ask("REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", CONTEXT)
    talk.answer("REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", {"shm_name": "x", "pool_size": 4096})
    talk.ask("LOOKUP", key("0.5.4", worker=None), 1).wait(3).ask("NOOP").answer("NOOP", "OK")
    heard = listen(talk.end().events)
    assert heard.listener.guess("client").words == "0.5.3 to 0.5.4"
    assert heard.listener.guess("server").words == "0.5.5 and later"
    assert heard.listener.first_wrong.rule.name == "mp.payload.readers"


@pytest.mark.parametrize(("frames", "rule"), [([b"u"], "mp.frames.single"), ([b"", b"\x00", pack(24)], "mp.frames.delimiter")])
def test_messages_of_other_shapes_are_told(frames, rule):
    assert rule in rules(at_work().frames(*frames))


def test_a_req_socket_is_told():
    found = one(Talk().open(client=greeting() + ready(b"REQ")), "mp.zmtp.socket")
    assert (found.expected, found.got) == ("DEALER", "REQ")


def test_http_to_the_port_of_the_server_is_told():
    assert "mp.zmtp.broken" in rules(Talk().open(client=b"GET /healthcheck HTTP/1.1\r\n\r\n"))


def test_an_encrypted_connection_is_told_and_not_read():
    secret = greeting(mechanism=b"CURVE") + command(b"HELLO", bytes(194)) + command(b"MESSAGE", bytes(99))
    assert rules(Talk().open(client=secret, server=greeting(mechanism=b"CURVE"))) == ["mp.zmtp.mechanism"]


def test_a_uid_that_is_open_is_not_used_again():
    assert "mp.uid.reused" in rules(at_work().ask("NOOP", uid=b"\x07").ask("NOOP", uid=b"\x07"))


@pytest.mark.parametrize(
    ("frames", "rule"),
    [
        ([b"\x63", pack(24), pack("OK")], "mp.reply.unasked"),
        ([b"\x01", pack(24), pack("OK")], "mp.reply.twice"),
        ([b"\x63"], "mp.reply.short"),
    ],
)
def test_replies_that_nobody_asked_for_are_told(frames, rule):
    assert rule in rules(at_work().frames(*frames, side="server"))


def test_a_reply_that_names_another_operation_is_told():
    talk = at_work().ask("NOOP")
    assert "mp.reply.echo" in rules(talk.frames(b"\x02", pack(25), pack("OK"), side="server"))


def test_a_reply_that_the_client_cannot_read_is_told_with_its_byte():
    talk = at_work().ask("NOOP")
    found = one(talk.frames(b"\x02", pack(24), pack(5), side="server"), "mp.reply.form", "0.5.6")
    assert (found.who, found.field) == ("server", "result of NOOP (frame 2, byte 0)")


def test_a_request_without_reply_is_told_once_its_time_is_over():
    talk = at_work().ask("END_SESSION", "r1").wait(6).ask("NOOP").answer("NOOP", "OK")
    assert "mp.request.unanswered" in rules(talk.wait(1).end())
    assert "mp.request.cut" in rules(at_work().ask("END_SESSION", "r1").end())


def test_what_the_server_may_have_dropped_a_request_for_is_told_although_its_release_is_open():
    talk = Talk("0.3.14", "0.3.15").open().ask("GET_CHUNK_SIZE").answer("GET_CHUNK_SIZE", 16)
    talk.ask("LOOKUP", [key("0.3.14", worker=None)]).wait(1).ask("END_SESSION", "r1").answer("END_SESSION")
    found = one(talk.end(), "mp.request.cut")
    sent = b"".join(event.data for event in talk.events if event.side == "client")
    assert found.summary.endswith("; lmcache 0.3.15 would drop it")
    assert sent[found.offset] == 0x91
    assert found.field.startswith("payload 0 of LOOKUP")


def test_a_wait_may_take_as_long_as_it_asked_for():
    talk = at_work("0.5.1").ask("WAIT_PREFETCH_STATUS", "r1", 60.0).wait(40).ask("NOOP").answer("NOOP", "OK")
    assert "mp.request.unanswered" not in rules(talk)


def test_a_server_that_falls_silent_is_told_with_the_request_before():
    talk = at_work("0.5.4").frames(b"u", pack(40)).ask("NOOP").wait(1).ask("GET_CHUNK_SIZE").wait(9)
    assert "mp.server.dead" in rules(talk.end(), "0.5.5")


def test_tokens_under_another_salt_are_not_found_and_that_is_told():
    talk = at_work().ask("PREPARE_STORE", key("0.5.6", cache_salt="a"), 7).answer("PREPARE_STORE", {"context": {}})
    talk.ask("LOOKUP", key("0.5.6", worker=None, cache_salt="b"), 1).answer("LOOKUP")
    talk.ask("QUERY_PREFETCH_STATUS", "r1").answer("QUERY_PREFETCH_STATUS", 0)
    assert "cache salt" in one(talk, "mp.key.spelling").summary


def test_locks_that_nobody_gives_back_are_told():
    talk = at_work().ask("LOOKUP", key("0.5.6", worker=None), 1).answer("LOOKUP")
    talk.ask("QUERY_PREFETCH_STATUS", "r1").answer("QUERY_PREFETCH_STATUS", 2)
    assert "mp.flow.locks" in rules(talk)
    talk.ask("FREE_LOOKUP_LOCKS", key("0.5.6", worker=None, cache_salt="x"), 1).answer("FREE_LOOKUP_LOCKS")
    assert "mp.flow.free" in rules(talk)


@pytest.mark.parametrize(
    ("name", "changes", "rule"),
    [
        ("LOOKUP", {"worker_id": 0}, "mp.key.worker"),
        ("LOOKUP", {"worker_id": None, "end": 99}, "mp.key.range"),
        ("FREE_LOOKUP_LOCKS", {"worker_id": None, "end": 20}, "mp.key.chunks"),
        ("LOOKUP", {"worker_id": None, "token_ids": [1 << 32] * 32}, "mp.key.tokens"),
        ("LOOKUP", {"worker_id": None, "num_kv_readers": 0}, "mp.payload.readers"),
    ],
)
def test_odd_keys_are_told(name, changes, rule):
    assert rule in rules(at_work().ask(name, key("0.5.6", **changes), 1), "0.5.6")


def test_slots_and_retrieves_that_are_left_open_are_told():
    slot = {"offset": 0, "length": 4, "shape": [1], "dtype": "float16"}
    talk = at_work().ask("PREPARE_STORE", key("0.5.6"), 7)
    talk.answer("PREPARE_STORE", {"context": {"slots": [slot], "chunk_indices": [0]}})
    talk.ask("PREPARE_RETRIEVE", key("0.5.6"), 7).answer("PREPARE_RETRIEVE", {"success": True, "data": b"", "context": {}})
    assert {"mp.flow.store", "mp.flow.retrieve", "mp.flow.unregistered"} <= set(rules(talk))


def test_clients_of_different_releases_are_told():
    talk = at_work("0.5.6")
    other = Talk("0.4.2").open(2)
    other.ask("NOOP", connection=2).ask("PING", connection=2)
    talk.events += [Event(event.at + 1, 2, event.side, event.do, event.data) for event in other.events]
    assert "mp.clients.differ" in rules(talk)


CONVERSATION = (
    at_work("0.4.7", "0.5.1").ask("LOOKUP", key("0.4.7", worker=None), 1).ask("NOOP", uid=b"\x01").frames(b"x").end().events
)


def pieces(events, cuts):
    """The same bytes at the same times in other segments."""
    for event in events:
        places = sorted({0, len(event.data), *(cut % (len(event.data) + 1) for cut in cuts)})
        if event.do != "data":
            yield event
        for first, last in itertools.pairwise(places):
            yield Event(event.at, event.connection, event.side, event.do, event.data[first:last])


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 500), max_size=12))
def test_any_segments_give_the_same_findings(cuts):
    whole, other = listen(CONVERSATION), listen(list(pieces(CONVERSATION, cuts)))
    assert other.findings == whole.findings
    assert other.listener.guess("server") == whole.listener.guess("server")


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_damaged_and_foreign_bytes_never_raise(data):
    events = []
    for event in CONVERSATION:
        bytes_ = bytearray(event.data)
        for _ in range(data.draw(st.integers(0, 2)) if bytes_ else 0):
            bytes_[data.draw(st.integers(0, len(bytes_) - 1))] = data.draw(st.integers(0, 255))
        extra = data.draw(
            st.sampled_from([b"", b"", b"", message(b"\x01", b"\xdd\xff\xff\xff\xff"), HELLO["client"], b"\x00" * 9])
        )
        events.append(Event(event.at, event.connection, event.side, event.do, bytes(bytes_) + extra if bytes_ else b""))
    heard = listen(events)
    assert len(heard.findings) < 2000


def test_what_is_remembered_of_a_flood_is_bounded():
    listener = MpListener()
    at = 0.0
    for event in at_work().events:
        list(listener.hear(event))
    for number in range(4200):
        at += 0.0001
        for _ in listener.hear(Event(at, 1, "client", "data", message(pack(number), pack(24)))):
            pass
    connection = listener.sides.connections[1]
    assert len(connection.open) == 4096
    assert len(connection.told) < 2000
