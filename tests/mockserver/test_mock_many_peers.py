"""Peers that come and go in any way, and peers that take their time, cost the mock nothing and the others nothing."""

import threading

import pytest
from stored_body import BODY

from mockserver.peer import PeerWatch
from wire.lm.frames import Description

LARGE = 8 << 20


def threads_of(server):
    return [thread for thread in threading.enumerate() if thread.name.startswith(f"mock-lm-{server.release}-127.")]


@pytest.mark.parametrize("fault", ["stall:bytes=body+3,connection=2", "stop-reading:connection=2"])
@pytest.mark.parametrize("how", ["close", "reset"])
def test_a_stalled_connection_ends_with_its_peer(stocked, misbehave, honest, dial, fault, how):
    misbehave(fault)
    client = dial(stocked)
    client.request("GET")
    client.read(client.profile.header.reply_size + (3 if "stall" in fault else len(BODY)))
    getattr(client, how)()
    stocked.journal.wait_for(lambda journal: journal.is_gone(2))
    assert str(stocked.journal.connection(2).ending).startswith("peer closed" if how == "close" else "peer reset")


@pytest.mark.parametrize("fault", ["stall:bytes=body+3,connection=2", "stop-reading:connection=2"])
@pytest.mark.parametrize("seen", [True, False])
def test_a_peer_that_ends_its_stream_and_still_reads_stays_stalled(stocked, misbehave, honest, dial, monkeypatch, fault, seen):
    looks = threading.Semaphore(0)
    look = PeerWatch.is_held

    def counted(watch):
        looks.release()
        return look(watch) if seen else None

    monkeypatch.setattr(PeerWatch, "is_held", counted)
    misbehave(fault)
    client = dial(stocked)
    client.request("GET")
    client.read(client.profile.header.reply_size + (3 if "stall" in fault else len(BODY)))
    client.finish()
    for _ in range(3 if seen else 1):
        assert looks.acquire(timeout=5)
    assert stocked.journal.connection(2).is_open
    if seen:
        client.close()
        stocked.journal.wait_for(lambda journal: journal.is_gone(2))
        assert str(stocked.journal.connection(2).ending) == "peer closed"


def test_peers_that_end_badly_leave_no_thread(stocked, dial):
    steady = dial(stocked)
    steady.request("EXIST")
    assert steady.reply().code == "SUCCESS"
    half = steady.raw()[:50]
    for number in range(60):
        client = dial(stocked)
        if number % 3 == 0:
            client.send(half)
        elif number % 3 == 1:
            client.request("GET")
        (client.reset if number % 2 else client.close)()
    stocked.journal.wait_for(lambda journal: len(journal.open_connections) == 1 and journal.connection_count == 61)
    for thread in threads_of(stocked)[1:]:
        thread.join(5)
    assert len(threads_of(stocked)) == 1
    steady.request("EXIST")
    assert steady.reply().code == "SUCCESS"


def test_a_slow_reader_does_not_hold_up_others_and_gets_its_value(start, dial):
    server = start()
    value = bytes(range(256)) * (LARGE // 256)
    slow, fast = dial(server), dial(server)
    slow.put(value)
    slow.request("GET")
    server.journal.wait_for(lambda journal: len(journal.exchanges("GET")) == 1)
    other = fast.key.replace("model", "other")
    for number in range(20):
        fast.put(BODY, other)
        fast.request("GET", other)
        assert fast.reply().about.length == len(BODY)
        assert fast.read(len(BODY)) == BODY, number
    assert slow.reply().about.length == LARGE
    assert slow.read(LARGE) == value


def test_a_slow_writer_does_not_hold_up_others_and_its_value_is_whole(start, dial):
    server = start()
    value = bytes(range(256)) * 4096
    slow, fast = dial(server), dial(server)
    other = slow.key.replace("model", "other")
    slow.request("PUT", other, Description(len(value), "KV_2LTD", "bfloat16", (2, 3, 4, 5)))
    slow.send(value[:1000])
    for _ in range(20):
        fast.request("EXIST", other)
        assert fast.reply().code == "FAIL"
    slow.send(value[1000:])
    slow.request("GET", other)
    assert slow.reply().about.length == len(value)
    assert slow.read(len(value)) == value
