"""Each fault does what it says, and the journal shows it."""

from __future__ import annotations

import pytest
from mp_client import INSTANCE, LENGTH
from waiting import wait_until

from mockserver.faults import FaultSpecError
from mockserver.mp import MpServer
from mockserver.mp.faults import MP_FAULTS, parse_mp, parse_mp_plan
from wire.mp.values import pack, unpack


@pytest.fixture
def misbehave(stocked):
    """Gives the server faults, written as for ``--fault``."""
    return lambda *texts: stocked.server.set_faults(parse_mp_plan(texts))


def number(client, operation):
    return pack(client.server.table.named(operation).number)


def last(client, operation):
    return client.server.journal.last_exchange(operation)


@pytest.mark.shows("drop-reply")
def test_a_dropped_reply_never_comes_and_the_operation_is_executed(stocked, misbehave, key):
    misbehave("drop-reply:operation=COMMIT_STORE")
    stocked.ask("PREPARE_STORE", key(1, "new", cache_salt="s"), INSTANCE)
    stocked.send("COMMIT_STORE", key(1, "new", cache_salt="s"), INSTANCE, b"")
    assert stocked.silent()
    assert last(stocked, "COMMIT_STORE").faults == ("drop-reply",)
    assert stocked.lookup(key(1, cache_salt="s")) == 1


@pytest.mark.shows("lose-request")
def test_a_lost_request_is_neither_executed_nor_answered(stocked, misbehave):
    misbehave("lose-request:operation=CLEAR")
    stocked.send("CLEAR", *([True] if stocked.server.table.named("CLEAR").payloads else []))
    assert stocked.silent()
    assert len(stocked.server.store.keys) == 2
    assert last(stocked, "CLEAR").faults == ("lose-request",)


@pytest.mark.shows("late-reply")
def test_a_late_reply_comes_behind_later_ones(stocked, misbehave):
    misbehave("late-reply:seconds=0.5,operation=GET_CHUNK_SIZE")
    uid = stocked.send("GET_CHUNK_SIZE")
    assert stocked.alive()
    assert stocked.receive() == [uid, number(stocked, "GET_CHUNK_SIZE"), pack(16)]
    exchange = last(stocked, "GET_CHUNK_SIZE")
    assert exchange.replied_at - exchange.at >= 0.5


@pytest.mark.shows("duplicate-reply")
def test_a_duplicated_reply_comes_twice(stocked, misbehave):
    misbehave("duplicate-reply:operation=GET_CHUNK_SIZE")
    stocked.send("GET_CHUNK_SIZE")
    assert stocked.receive() == stocked.receive()
    assert len(last(stocked, "GET_CHUNK_SIZE").replies) == 2


@pytest.mark.shows("swap-replies")
def test_swapped_replies_come_in_the_other_order(stocked, misbehave):
    misbehave("swap-replies:operation=GET_CHUNK_SIZE,nth=1")
    uid = stocked.send("GET_CHUNK_SIZE")
    assert stocked.silent()
    assert stocked.alive()
    assert stocked.receive()[0] == uid


@pytest.mark.shows("wrong-uid")
@pytest.mark.parametrize(("text", "uid"), [("wrong-uid", None), ("wrong-uid:uid=beef", b"\xbe\xef")])
def test_a_reply_has_another_uid(stocked, misbehave, text, uid):
    misbehave(text)
    sent = stocked.send("NOOP")
    got = stocked.receive()
    assert got[0] == (uid or sent[:-1] + bytes([sent[-1] ^ 1]))
    assert got[2] == pack("OK")


@pytest.mark.shows("wrong-operation")
def test_a_reply_echoes_another_operation(stocked, misbehave):
    misbehave("wrong-operation:number=3,operation=NOOP")
    uid = stocked.send("NOOP")
    assert stocked.receive() == [uid, pack(3), pack("OK")]


@pytest.mark.shows("extra-frames")
def test_a_reply_has_more_frames_behind_or_in_front(stocked, misbehave):
    misbehave("extra-frames:count=2,nth=1", "extra-frames:front=true,nth=2")
    first, noop = stocked.send("NOOP"), number(stocked, "NOOP")
    assert stocked.receive() == [first, noop, pack("OK"), b"\xc0", b"\xc0"]
    second = stocked.send("NOOP")
    assert stocked.receive() == [b"", second, noop, pack("OK")]


@pytest.mark.shows("missing-frames")
def test_a_reply_has_fewer_frames(stocked, misbehave):
    misbehave("missing-frames:keep=1,nth=1", "missing-frames:nth=2")
    first = stocked.send("NOOP")
    assert stocked.receive() == [first]
    second = stocked.send("NOOP")
    assert stocked.receive() == [second, number(stocked, "NOOP")]


@pytest.mark.shows("garbage-result")
def test_a_result_is_no_msgpack(stocked, misbehave):
    misbehave("garbage-result:bytes=92c3")
    uid = stocked.send("NOOP")
    assert stocked.receive() == [uid, number(stocked, "NOOP"), b"\x92\xc3"]


@pytest.mark.shows("wrong-type")
@pytest.mark.parametrize(("operation", "expected"), [("NOOP", 7), ("GET_CHUNK_SIZE", "nothing of the kind")])
def test_a_result_has_another_type(stocked, misbehave, operation, expected):
    misbehave("wrong-type")
    stocked.send(operation)
    assert unpack(stocked.receive()[2]) == expected


@pytest.mark.shows("refuse")
def test_a_refused_request_was_executed_and_says_that_it_failed(stocked, misbehave, key):
    misbehave("refuse")
    stocked.lookup(key(2))
    assert stocked.ask("PREPARE_RETRIEVE", key(2), INSTANCE) == {"success": False, "data": b"", "context": {}}
    assert stocked.ask("COMMIT_RETRIEVE", key(2), INSTANCE) is False
    assert stocked.ask("GET_CHUNK_SIZE") == 16
    assert last(stocked, "GET_CHUNK_SIZE").faults == ()
    assert stocked.server.status()["storage_manager"]["l1_manager"]["read_locked_count"] == 0


@pytest.mark.shows("still-running")
def test_a_lookup_that_still_runs_is_nil_and_keeps_its_result(stocked, misbehave, key):
    misbehave("still-running:nth=1..2,operation=QUERY_PREFETCH_STATUS")
    assert stocked.lookup(key(2)) is None
    assert stocked.ask("QUERY_PREFETCH_STATUS", "r1") is None
    assert stocked.ask("QUERY_PREFETCH_STATUS", "r1") == 2


@pytest.mark.shows("shrink-hits")
def test_hits_that_shrink_fail_the_retrieve(stocked, misbehave, key):
    misbehave("shrink-hits:operation=QUERY_PREFETCH_STATUS")
    assert stocked.lookup(key(2)) == 2
    assert stocked.retrieve(key(2)) is None
    assert stocked.lookup(key(2, "r2")) == 1
    assert last(stocked, "QUERY_PREFETCH_STATUS").faults == ("shrink-hits",)


@pytest.mark.shows("slots-outside")
@pytest.mark.parametrize("by", [1, -4096])
def test_slots_lie_at_the_end_of_the_pool_or_behind_it(stocked, misbehave, key, by):
    misbehave(f"slots-outside:by={by}")
    slots = stocked.ask("PREPARE_STORE", key(1, cache_salt="s"), INSTANCE)["context"]["slots"]
    assert [slot["offset"] for slot in slots] == [stocked.server.pool_size - by]


@pytest.mark.shows("slot-length")
def test_slots_have_another_length(stocked, misbehave, key):
    misbehave("slot-length:by=-2")
    stocked.lookup(key(2))
    slots = stocked.ask("PREPARE_RETRIEVE", key(2), INSTANCE)["context"]["slots"]
    assert [slot["length"] for slot in slots] == [LENGTH - 2] * 2


@pytest.mark.shows("die")
def test_a_dead_message_thread_takes_connections_and_answers_nobody(stocked, misbehave, dial):
    misbehave("die:operation=NOOP,nth=2")
    assert stocked.alive()
    stocked.send("NOOP")
    assert stocked.silent()
    other = dial(stocked.server)
    other.send("NOOP")
    assert other.silent()
    assert stocked.server.journal.death == "a fault"
    stocked.server.restart()
    assert stocked.server.journal.death == ""


@pytest.mark.shows("restart")
def test_a_restarted_server_forgets_and_has_new_memory_under_the_old_name(stocked, misbehave, key, dial):
    before = stocked.server.address, stocked.server.shm_name
    misbehave("restart:operation=PING")
    assert stocked.ask("PING", *([None] if stocked.server.table.named("PING").payloads else [])) is True
    wait_until(lambda: stocked.server.restarts == 1, lambda: "it did not restart")
    again = dial(stocked.server)
    assert "not registered" in again.dropped("PREPARE_STORE", key(1), INSTANCE)
    assert (stocked.server.address, stocked.server.shm_name) == before
    assert again.lookup(key(2)) == 0


def test_rules_count_and_pick_by_operation_occurrence_and_connection(start, dial):
    server = start("0.5.6", "drop-reply:operation=NOOP,nth=2", "wrong-uid:connection=2,operation=NOOP")
    first, second = dial(server), dial(server)
    assert first.ask("NOOP") == "OK"
    first.send("NOOP")
    assert first.silent()
    assert first.ask("GET_CHUNK_SIZE") == 16
    second.send("NOOP")
    assert second.receive()[0] != pack(second.sent)


def test_a_share_of_the_requests_is_drawn_the_same_way_again(start, dial):
    plans = []
    for _ in range(2):
        client = dial(start("0.5.6", "wrong-operation:probability=0.5,seed=3"))
        for _ in range(12):
            client.send("NOOP")
            client.receive()
        plans.append([bool(exchange.faults) for exchange in client.server.journal.exchanges()])
    assert plans[0] == plans[1]
    assert {True, False} == set(plans[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no-such-fault", "there are drop-reply"),
        ("drop-reply:command=GET", "it takes operation"),
        ("drop-reply:operation=noop", "in capitals"),
        ("late-reply", "needs seconds"),
        ("wrong-uid:uid=xyz", "wrong-uid"),
        ("missing-frames:keep=3", "keep is 1 or 2"),
        ("drop-reply:nth=0", "counts from 1"),
    ],
)
def test_a_text_that_is_no_fault_is_explained(text, expected):
    with pytest.raises(FaultSpecError, match=expected):
        parse_mp(text)


@pytest.mark.parametrize("name", MP_FAULTS)
def test_the_example_of_every_fault_is_one(name):
    rule = parse_mp(MP_FAULTS[name].example)
    assert rule.action.fault == name


def test_a_plan_can_be_given_at_the_start_and_changed(start, dial):
    with MpServer("0.5.6", faults=parse_mp_plan(["drop-reply"])) as server:
        client = dial(server)
        client.send("NOOP")
        assert client.silent()
        server.set_faults(parse_mp_plan([]))
        assert client.ask("NOOP") == "OK"
