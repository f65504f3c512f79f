"""Faults of the listener: slow, refusing, full, restarted."""

from __future__ import annotations

import socket
import threading
import time

import pytest
from stored_body import BODY

from mockserver.faults import parse_plan
from wire.lm.frames import Description


def answers(dial, server):
    client = dial(server)
    client.request("HEALTH")
    return client.reply().code == "SUCCESS"


def refused(server):
    try:
        socket.create_connection(server.address, timeout=5).close()
    except ConnectionRefusedError:
        return True
    return False


def unanswered(server):
    try:
        socket.create_connection(server.address, timeout=0.2).close()
    except TimeoutError:
        return True
    return False


@pytest.mark.shows("slow-accept")
def test_a_connection_is_accepted_late_and_served_then(stocked, misbehave, dial):
    misbehave("slow-accept:seconds=0.2,connection=2")
    assert answers(dial, stocked)
    began = time.monotonic()
    late = dial(stocked)
    assert time.monotonic() - began < 0.15
    late.request("EXIST")
    assert late.reply().code == "SUCCESS"
    assert time.monotonic() - began >= 0.2
    assert answers(dial, stocked)
    assert [record.faults for record in stocked.journal.connections()] == [(), ("slow-accept:seconds=0.2",), ()]


def test_a_server_can_be_stopped_while_a_connection_waits_to_be_accepted(stocked, misbehave, dial):
    misbehave("slow-accept:seconds=3600")
    dial(stocked)
    began = time.monotonic()
    stocked.stop()
    assert time.monotonic() - began < 1
    assert stocked.journal.connection_count == 0


@pytest.mark.shows("refuse")
def test_connections_are_refused_from_the_one_that_was_named_until_the_plan_ends(stocked, misbehave, dial):
    misbehave("refuse:connection=2..")
    first = dial(stocked)
    first.request("HEALTH")
    assert first.reply().code == "SUCCESS"
    assert refused(stocked)
    assert refused(stocked)
    first.request("EXIST")
    assert first.reply().code == "SUCCESS"
    assert stocked.journal.connection_count == 1
    misbehave()
    assert answers(dial, stocked)
    assert stocked.journal.connection_count == 2


def test_a_port_refuses_as_soon_as_it_is_told_to(stocked, misbehave, dial):
    assert answers(dial, stocked)
    for _ in range(5):
        misbehave("refuse")
        assert refused(stocked)
        misbehave()
        assert answers(dial, stocked)


@pytest.mark.shows("backlog-full")
def test_a_full_backlog_answers_no_attempt_to_connect(stocked, misbehave, dial):
    first = dial(stocked)
    first.request("HEALTH")
    assert first.reply().code == "SUCCESS"
    misbehave("backlog-full")
    assert unanswered(stocked)
    assert unanswered(stocked)
    first.request("EXIST")
    assert first.reply().code == "SUCCESS"
    assert stocked.journal.connection_count == 1
    misbehave()
    assert answers(dial, stocked)
    assert stocked.journal.connection_count == 2


def test_a_backlog_fills_after_the_connections_that_come_first(stocked, misbehave, dial):
    misbehave("backlog-full:connection=2..")
    assert answers(dial, stocked)
    assert unanswered(stocked)


def test_a_door_goes_from_any_state_to_any_other(stocked, misbehave, dial):
    tests = {"backlog-full": unanswered, "refuse": refused}
    for fault in ("refuse", "backlog-full", "refuse", "backlog-full"):
        misbehave(fault)
        assert tests[fault](stocked)
    misbehave()
    assert answers(dial, stocked)
    assert stocked.journal.connection_count == 1


def test_two_faults_of_the_door_do_not_act_together_and_the_first_holds(stocked, misbehave):
    misbehave("refuse", "backlog-full")
    assert refused(stocked)


@pytest.mark.shows("restart")
@pytest.mark.parametrize("moves", [True, False])
def test_a_restarted_server_is_up_with_an_empty_store_when_the_connection_ends(stocked, misbehave, honest, caller, dial, moves):
    port = stocked.port
    bystander = dial(stocked)
    stocked.journal.wait_for(lambda journal: journal.connection_count == 3)
    misbehave(f"restart:moves={moves},command=GET,nth=1")
    caller.request("GET")
    assert caller.rest() == (honest["hit"], "fin")
    assert (stocked.port != port) is moves
    assert bystander.rest() == (b"", "fin")
    again = dial(stocked)
    again.request("EXIST")
    assert again.reply().code == "FAIL"
    exchange = stocked.journal.last_exchange("GET")
    assert exchange.faults == ("restart" if moves else "restart:moves=false",)
    assert exchange.ending.kind == "fault"
    if moves:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5)


def test_a_restart_may_keep_the_store(stocked, misbehave, caller, dial):
    misbehave("restart:empties=false,command=GET")
    caller.request("GET")
    caller.rest()
    client = dial(stocked)
    client.request("EXIST")
    assert client.reply().code == "SUCCESS"


def test_a_server_can_be_restarted_from_outside(start, dial):
    seen = []
    server = start(on_restart=lambda restarted: seen.append(restarted.port))
    server.preload("model@1@0@ab@half", Description(len(BODY), "KV_2LTD", "uint8", (1, 1, 1, len(BODY))), BODY)
    client = dial(server)
    port = server.port
    server.journal.wait_for(lambda journal: journal.connection_count)
    server.restart()
    assert client.rest() == (b"", "fin")
    assert seen == [server.port] != [port]
    assert len(server.store) == 0
    assert answers(dial, server)


def test_restarts_from_many_connections_at_once_leave_one_server(stocked, misbehave, dial):
    misbehave("restart:moves=false")
    clients = [dial(stocked) for _ in range(8)]
    stocked.journal.wait_for(lambda journal: journal.connection_count == 8)
    together = threading.Barrier(len(clients))

    def ask(client):
        together.wait()
        client.request("HEALTH")
        client.rest()

    threads = [threading.Thread(target=ask, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    misbehave()
    assert answers(dial, stocked)


def test_a_server_that_does_not_run_is_not_restarted(start):
    server = start()
    server.stop()
    server.restart()
    with pytest.raises(RuntimeError, match="does not run"):
        _ = server.port


@pytest.mark.parametrize(
    "text", ["refuse:command=GET", "backlog-full:nth=2", "slow-accept:seconds=1,key=a", "refuse:probability=0.5"]
)
def test_what_picks_exchanges_cannot_pick_connections(text):
    with pytest.raises(ValueError, match="only connection= can pick"):
        parse_plan([text])
