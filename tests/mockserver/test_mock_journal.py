"""The journal remembers what crossed the wire."""

from __future__ import annotations

import hashlib
import threading

import pytest

from mockserver.endings import Ending
from mockserver.faults import parse_plan
from mockserver.journal import Journal
from mockserver.payloads import PayloadGoneError, SeenPayload
from mockserver.records import RunningExchange


def exchange(number, command="GET", connection=1, *, done=False):
    running = RunningExchange(connection, number, command, "k", b"", [])
    running.done = done
    return running


def test_an_exchange_tells_everything_about_a_put(start, dial):
    server = start()
    client = dial(server)
    client.put(b"payload")
    client.request("HEALTH")
    client.reply()
    put = server.journal.exchanges("PUT")[0]
    assert (put.connection, put.number, put.command, put.key) == (1, 1, "PUT", client.key)
    assert put.header == client.raw(command=1, length=7, dtype=3, shape0=2, shape1=3, shape2=4, shape3=5)
    assert (put.payload_length, put.payload) == (7, b"payload")
    assert put.payload_sha256 == hashlib.sha256(b"payload").hexdigest()
    assert put.bytes_in == len(put.header) + 7
    assert (put.reply_header, put.segments_out, put.done, put.ending) == (b"", (), True, None)
    times = [segment.at for segment in put.segments_in]
    assert times == sorted(times)


def test_an_exchange_tells_everything_about_a_get(start, dial):
    server = start()
    client = dial(server)
    client.put(b"payload")
    client.request("GET")
    header = client.read(36)
    client.read(7)
    get = server.journal.wait_for(lambda journal: (last := journal.last_exchange("GET")) and last.done and last)
    assert (get.number, get.reply_header, get.reply_body_length, get.bytes_out) == (2, header, 7, 43)
    assert (get.payload, get.payload_length, get.payload_sha256) == (None, 0, None)


def test_a_refused_request_is_recorded_with_the_reason(start, dial):
    server = start()
    client = dial(server)
    client.send(client.raw(b"non\xffsense", command=2))
    client.rest()
    refused = server.journal.last_exchange()
    assert refused.command == "GET"
    assert refused.key == "non\\xffsense"
    assert refused.ending.kind == "bad request"
    assert "UTF-8" in str(refused.ending)


def test_an_unknown_command_is_named_by_its_number(start, dial):
    server = start("0.3.1")
    client = dial(server)
    client.send(client.raw(command=77))
    client.request("HEALTH")
    client.reply()
    assert [seen.command for seen in server.journal.exchanges()] == ["77", "HEALTH"]


def test_a_cut_payload_is_recorded_as_far_as_it_came(start, dial):
    server = start()
    client = dial(server)
    client.send(client.raw(command=1, length=100) + b"some")
    client.finish()
    client.rest()
    put = server.journal.last_exchange("PUT")
    assert (put.payload, str(put.ending)) == (b"some", "cut payload: 4 of 100 bytes")


def test_exchanges_are_filtered_and_connections_counted():
    journal = Journal()
    for _ in range(2):
        journal.open_connection("peer")
    journal.begin(exchange(1, "PUT"))
    journal.begin(exchange(1, "GET", connection=2))
    journal.begin(exchange(2, "GET"))
    assert [seen.connection for seen in journal.exchanges("GET")] == [2, 1]
    assert len(journal.exchanges(connection=1)) == 2
    assert journal.last_exchange("PUT").number == 1
    assert journal.last_exchange("PUT", connection=2) is None
    journal.close_connection(1, Ending("peer closed"))
    assert [record.number for record in journal.open_connections] == [2]
    assert (journal.connection_count, journal.exchange_count) == (2, 3)
    assert journal.connection(1).ending == Ending("peer closed")
    with pytest.raises(KeyError, match="no connection 9"):
        journal.connection(9)


def test_a_snapshot_of_a_running_exchange_does_not_change():
    journal = Journal()
    running = exchange(1)
    journal.begin(running)
    early = journal.last_exchange()
    running.done = True
    assert (early.done, journal.last_exchange().done) == (False, True)


def test_old_exchanges_and_connections_are_forgotten_and_still_counted():
    journal = Journal(max_exchanges=3)
    for number in range(1, 11):
        journal.open_connection("peer")
        journal.begin(exchange(1, connection=number, done=True))
        journal.close_connection(number, Ending("peer closed"))
    assert [seen.connection for seen in journal.exchanges()] == [8, 9, 10]
    assert [record.number for record in journal.connections()] == [8, 9, 10]
    assert (journal.connection_count, journal.exchange_count) == (10, 10)


def test_a_journal_keeps_at_least_one_exchange():
    with pytest.raises(ValueError, match="at least 1"):
        Journal(max_exchanges=0)


def test_waiting_ends_as_soon_as_the_predicate_holds():
    journal = Journal()
    thread = threading.Thread(target=lambda: journal.begin(exchange(1)))
    thread.start()
    assert [seen.number for seen in journal.wait_for(lambda seen: seen.exchanges())] == [1]
    thread.join()


def test_waiting_in_vain_ends_with_what_the_journal_holds():
    journal = Journal()
    journal.open_connection("peer")
    journal.begin(exchange(1, "EXIST"))
    with pytest.raises(TimeoutError, match=r"1 connections \(1 open\), 1 exchanges, the last one EXIST"):
        journal.wait_for(lambda seen: seen.exchanges("PUT"), timeout=0.01)


def test_large_payloads_lose_their_bytes_and_keep_their_digest():
    journal = Journal(keep_payload_below=4)
    small, large = journal.see_payload(b"1234"), journal.see_payload(b"12345")
    assert small.data == b"1234"
    assert large.data is None
    assert large.length == 5
    for _ in range(2):
        assert large.sha256 == hashlib.sha256(b"12345").hexdigest()


def test_no_digest_is_made_that_nobody_asks_for(start, dial, monkeypatch):
    made = []
    monkeypatch.setattr("mockserver.payloads.hashlib.sha256", lambda data: made.append(data) or hashlib.md5(data))
    server = start(journal=Journal(retain_bytes=10))
    client = dial(server)
    for _ in range(5):
        client.put(b"payload")
    client.request("HEALTH")
    client.reply()
    assert made == []


def test_whoever_asks_too_late_for_a_digest_is_told_so():
    journal = Journal(retain_bytes=10)
    payloads = [journal.see_payload(bytes([number]) * 6) for number in range(3)]
    asked_before = journal.see_payload(b"before")
    digest = asked_before.sha256
    journal.see_payload(b"newer")
    assert (payloads[0].length, payloads[0].data) == (6, None)
    with pytest.raises(PayloadGoneError, match=r"this payload of 6 bytes.*digest_all=True"):
        _ = payloads[0].sha256
    assert asked_before.sha256 == digest == hashlib.sha256(b"before").hexdigest()


def test_a_journal_that_counts_keeps_no_exchange():
    journal = Journal(keep_exchanges=False)
    journal.begin(exchange(1))
    assert (journal.exchange_count, journal.exchanges()) == (1, [])


def test_payloads_that_are_let_go_are_digested_before_where_that_is_wanted():
    journal = Journal(retain_bytes=10, digest_all=True)
    payloads = [journal.see_payload(bytes([number]) * 6) for number in range(3)]
    assert [payload.data for payload in payloads] == [None, None, b"\x02" * 6]
    assert [payload.sha256 for payload in payloads] == [hashlib.sha256(bytes([number]) * 6).hexdigest() for number in range(3)]


def test_a_journal_for_measurements_keeps_only_lengths():
    payload = Journal(keep_payloads=False).see_payload(b"12345")
    assert (payload.length, payload.data, payload.sha256) == (5, None, None)


def test_a_digest_can_be_asked_for_by_many_threads():
    payload = SeenPayload(bytes(1 << 20), keep=False)
    digests = []
    threads = [threading.Thread(target=lambda: digests.append(payload.sha256)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert digests == [hashlib.sha256(bytes(1 << 20)).hexdigest()] * 8


def test_a_connection_is_gone_once_its_socket_is_closed_and_not_when_its_end_is_noted():
    journal = Journal()
    number = journal.open_connection("peer")
    assert not journal.is_gone(number)
    journal.close_connection(number, Ending("peer closed"))
    assert not journal.is_gone(number)
    journal.let_go(number)
    assert journal.is_gone(number)
    assert not journal.is_gone(number + 1)


def test_the_peer_sees_the_end_when_its_connection_is_gone(start, dial):
    server = start(faults=parse_plan(["close-between"]))
    client = dial(server)
    client.request("HEALTH")
    client.reply()
    server.journal.wait_for(lambda journal: journal.is_gone(1))
    client.socket.setblocking(False)
    assert client.socket.recv(1) == b""


def test_the_newest_payload_is_held_until_the_next_one_whatever_its_size():
    journal = Journal(retain_bytes=10)
    large = journal.see_payload(b"more than ten bytes")
    assert large.sha256 == hashlib.sha256(b"more than ten bytes").hexdigest()
    late = journal.see_payload(b"again more than ten")
    journal.see_payload(b"newer")
    with pytest.raises(PayloadGoneError):
        _ = late.sha256


@pytest.mark.parametrize("size", [100, 256 << 10, 2 << 20, 40 << 20])
@pytest.mark.parametrize("sent", [60, 50_000])
def test_what_has_come_of_a_payload_can_be_waited_for_while_its_sender_stalls(start, dial, size, sent):
    server = start()
    client = dial(server)
    header = client.raw(command=1, length=size)
    sent = min(sent, size - 1)
    client.send(header + bytes(sent))
    server.journal.wait_for(lambda journal: (last := journal.last_exchange("PUT")) and last.bytes_in == len(header) + sent)
    client.send(bytes(size - sent))
    client.request("HEALTH")
    client.reply()
    assert server.journal.last_exchange("PUT").payload_length == size
