"""Each fault does what it says, and the journal shows it."""

from __future__ import annotations

import socket
import time

import pytest

from mockserver.faults import (
    CloseAfter,
    Delay,
    FaultPlan,
    FaultRule,
    Match,
    NotApplicableError,
    ReplaceField,
    Segments,
    Stall,
    TruncateBody,
)
from wire.lm.frames import Description

HEADER = 36
BODY = b"0123456789abcdefghij"


@pytest.fixture
def server(start):
    server = start()
    server.preload("model@1@0@ab@half", Description(len(BODY), "KV_2LTD", "uint8", (1, 1, 1, len(BODY))), BODY)
    return server


def plan(*actions, **match):
    return FaultPlan([FaultRule(match=Match(**match), action=actions)])


def finished(server, command="GET"):
    return server.journal.wait_for(lambda journal: (last := journal.last_exchange(command)) and last.done and last)


def sizes(exchange):
    return [segment.size for segment in exchange.segments_out]


def test_segments_arrive_one_by_one_however_large_the_reads_are(server, client):
    server.set_faults(plan(Segments((10, 26, 5))))
    client.request("GET")
    arrived = []
    while sum(arrived) < HEADER + len(BODY):
        arrived.append(len(client.socket.recv(4096)))
        assert arrived[-1], "the server closed the connection"
    assert arrived == [10, 26, 5, 5, 5, 5]
    exchange = finished(server)
    assert sizes(exchange) == arrived
    assert exchange.faults == ("segments:sizes=10+26+5",)
    assert exchange.ending is None


def test_a_segment_may_span_header_and_body(server, client):
    server.set_faults(plan(Segments((30, 10, 100))))
    client.request("GET")
    header = client.read(HEADER)
    assert client.read(len(BODY)) == BODY
    assert header[:4] == (200).to_bytes(4, "little")
    assert sizes(finished(server)) == [30, 10, 16]


def test_segments_are_sent_even_if_the_client_never_reads_them_one_by_one(server, client):
    server.set_faults(plan(Segments((10,), patience=0.05)))
    client.request("GET")
    exchange = finished(server)
    assert sizes(exchange) == [10, 10, 10, 10, 10, 6]
    assert client.read(HEADER + len(BODY))[HEADER:] == BODY


def test_a_delayed_reply_comes_late_and_whole(server, client):
    server.set_faults(plan(Delay(0.2)))
    began = time.monotonic()
    client.request("GET")
    client.reply()
    assert time.monotonic() - began >= 0.2
    assert client.read(len(BODY)) == BODY
    exchange = finished(server)
    assert exchange.segments_out[0].at - exchange.segments_in[0].at >= 0.2


@pytest.mark.parametrize("count", [0, 1, 35, 36, 40])
def test_a_stall_sends_its_bytes_and_then_nothing(server, client, count):
    server.set_faults(plan(Stall(count)))
    client.request("GET")
    assert len(client.read(count)) == count
    exchange = server.journal.wait_for(lambda journal: (last := journal.last_exchange("GET")) and last.faults and last)
    assert not exchange.done
    client.socket.settimeout(0.05)
    with pytest.raises(TimeoutError):
        client.socket.recv(1)
    server.stop()
    assert client.rest() == (b"", "fin")


def test_a_stalled_connection_does_not_stall_the_others(server, client, dial):
    server.set_faults(plan(Stall(), connection=1))
    client.request("HEALTH")
    server.journal.wait_for(lambda journal: journal.exchange_count == 1)
    other = dial(server)
    other.request("HEALTH")
    assert other.reply().code == "SUCCESS"


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("count", [0, 1, 35, 36, 37, 55, 56])
def test_close_after_ends_the_connection_at_the_byte(server, client, count, reset):
    server.set_faults(plan(CloseAfter(count, reset=reset)))
    client.request("GET")
    data, end = client.rest()
    assert len(data) == count
    assert end == ("rst" if reset else "fin")
    exchange = finished(server)
    assert exchange.bytes_out == count
    assert exchange.ending.kind == "fault"
    assert str(server.journal.wait_for(lambda journal: journal.connections()[0].ending)) == f"fault: {exchange.faults[0]}"


def test_close_after_is_an_end_of_stream_even_if_more_requests_wait_unread(server, client):
    server.set_faults(plan(CloseAfter(10)))
    client.send(client.raw(command=2) + client.raw(command=5) * 20)
    data, end = client.rest()
    assert (len(data), end) == (10, "fin")


def test_close_after_more_bytes_than_the_reply_has_closes_at_its_end(server, client):
    server.set_faults(plan(CloseAfter(1000)))
    client.request("HEALTH")
    data, end = client.rest()
    assert (len(data), end) == (HEADER, "fin")


def test_close_after_a_put_closes_once_it_is_stored(server, client):
    server.set_faults(plan(CloseAfter(0, reset=True), command="PUT"))
    client.put(b"stored all the same")
    assert client.rest() == (b"", "rst")
    assert bytes(server.store.get(server.key(client.key)).data) == b"stored all the same"
    assert finished(server, "PUT").faults == ("close-after:bytes=0,reset=true",)


def test_a_truncated_body_ends_early(server, client):
    server.set_faults(plan(TruncateBody(7)))
    client.request("GET")
    assert client.reply().about.length == len(BODY)
    assert client.rest() == (BODY[:7], "fin")
    exchange = finished(server)
    assert exchange.reply_body_length == len(BODY)
    assert exchange.bytes_out == HEADER + 7


def test_replies_without_a_longer_body_are_not_truncated(server, client):
    server.set_faults(plan(TruncateBody(len(BODY))))
    for command in ("HEALTH", "GET"):
        client.request(command)
        client.reply()
    assert client.read(len(BODY)) == BODY
    assert finished(server).faults == ()


@pytest.mark.parametrize(("name", "offset"), [("code", 0), ("length", 4), ("dtype", 12), ("shape3", 28), ("location", 32)])
def test_a_replaced_field_changes_four_bytes_and_nothing_else(server, client, name, offset):
    client.request("GET")
    honest = client.read(HEADER + len(BODY))
    server.set_faults(plan(ReplaceField(name, -2)))
    client.request("GET")
    expected = honest[:offset] + (-2).to_bytes(4, "little", signed=True) + honest[offset + 4 :]
    assert client.read(HEADER + len(BODY)) == expected
    assert finished(server).reply_header == expected[:HEADER]
    client.request("HEALTH")
    assert len(client.read(HEADER)) == HEADER


def test_a_field_that_replies_of_the_release_do_not_have_is_refused(start):
    with pytest.raises(NotApplicableError, match="location"):
        start("0.3.1", faults=plan(ReplaceField("location", 1)))


def test_actions_combine(server, client):
    server.set_faults(
        plan(Delay(0.1), ReplaceField("length", 99), ReplaceField("code", 7), Segments((20,)), CloseAfter(50, reset=True))
    )
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.request("GET")
    data, end = client.rest()
    assert end == "rst"
    assert data[:8] == (7).to_bytes(4, "little") + (99).to_bytes(4, "little")
    exchange = finished(server)
    assert sizes(exchange) == [20, 20, 10]
    assert len(exchange.faults) == 5


def test_a_fault_overrides_the_end_that_a_cut_value_brings(server, client, dial):
    server.preload(client.key, Description(9, "KV_2LTD", "uint8", (1, 1, 1, 9)), None)
    server.set_faults(plan(CloseAfter(5)))
    client.request("GET")
    assert len(client.rest()[0]) == 5
    assert finished(server).ending.kind == "fault"


def test_requests_that_are_refused_meet_no_faults(server, client):
    server.set_faults(plan(Stall()))
    client.send(client.raw(b"nonsense"))
    assert client.rest() == (b"", "fin")
