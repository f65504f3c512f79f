"""Starting and stopping mock servers leaves nothing behind."""

from __future__ import annotations

import gc
import socket
import threading
import time
from pathlib import Path

import pytest

from mockserver.faults import CloseAfter, Delay, FaultPlan, FaultRule, Match, Segments, Stall
from mockserver.lm import LmServer, PortInUseError, RemoteHostError
from mockserver.store import Store
from wire.lm.frames import Description

KEY = "model@1@0@ab@half"


def open_descriptors():
    gc.collect()
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


def mock_threads():
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("mock-")]


def test_the_kernel_picks_a_port_and_the_address_tells_it(start):
    server = start()
    assert server.address == ("127.0.0.1", server.port)
    assert server.url == f"lm://127.0.0.1:{server.port}"


def test_a_server_that_does_not_run_has_no_address():
    with pytest.raises(RuntimeError, match="start"):
        _ = LmServer("0.5.6").port


def test_stop_may_be_called_before_the_start_and_twice():
    server = LmServer("0.5.6")
    server.stop()
    server.start()
    server.stop()
    server.stop()


def test_a_server_can_be_started_again_with_what_it_stored(dial):
    server = LmServer("0.5.6")
    with server:
        client = dial(server)
        client.put(b"x")
        client.request("EXIST")
        client.reply()
    with server:
        client = dial(server)
        client.request("EXIST")
        assert client.reply().code == "SUCCESS"


def test_a_port_is_free_again_right_after_the_stop(start, dial):
    server = start()
    port = server.port
    dial(server).put(b"x")
    server.stop()
    assert start(port=port).port == port


def test_a_port_in_use_is_refused_with_its_number(start):
    port = start().port
    with pytest.raises(PortInUseError, match=str(port)):
        start(port=port)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_hosts_that_others_can_reach_are_refused(host):
    with pytest.raises(RemoteHostError, match="allow_remote"):
        LmServer("0.5.6", host=host).start()


def test_hosts_that_others_can_reach_are_allowed_on_request():
    with LmServer("0.5.6", host="0.0.0.0", allow_remote=True) as server:
        assert server.port


def test_starting_twice_is_an_error(start):
    with pytest.raises(RuntimeError, match="runs already"):
        start().start()


def test_nothing_is_left_behind(dial):
    before = open_descriptors()
    with LmServer("0.5.6") as server:
        clients = [dial(server) for _ in range(20)]
        for client in clients:
            client.put(b"x")
        for client in clients[:10]:
            client.close()
        server.journal.wait_for(lambda journal: len(journal.open_connections) == 10)
        server.set_faults(FaultPlan([FaultRule(action=Segments((1,)))]))
        clients[-1].request("GET")
        clients[-1].reply()
    for client in clients:
        client.close()
    assert mock_threads() == []
    assert open_descriptors() == before
    assert {record.ending.kind for record in server.journal.connections()} == {"peer closed", "server stopped"}


def test_finished_threads_are_let_go_while_the_server_runs(start, dial):
    server = start()
    for number in range(1, 300):
        dial(server).close()
        server.journal.wait_for(lambda journal, number=number: journal.connection_count == number)
    server.journal.wait_for(lambda journal: not journal.open_connections)
    assert len(server._listener._served) <= 130


@pytest.mark.parametrize(
    "action", [Stall(), Stall(10), Delay(3600), Segments((1,), pause=3600)], ids=lambda action: action.spec()
)
def test_stopping_ends_connections_that_misbehave_for_ever(dial, action):
    with LmServer("0.5.6", faults=FaultPlan([FaultRule(action=action)])) as server:
        clients = [dial(server) for _ in range(5)]
        for client in clients:
            client.request("HEALTH")
        server.journal.wait_for(lambda journal: journal.exchange_count == 5)
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < 1
    assert mock_threads() == []
    assert {str(exchange.ending) for exchange in server.journal.exchanges()} == {"server stopped"}


def test_stopping_ends_a_send_to_a_client_that_does_not_read(dial):
    with LmServer("0.5.6") as server:
        server.preload(KEY, Description(64 << 20, "KV_2LTD", "uint8", (1, 1, 1, 64 << 20)), bytes(64 << 20))
        dial(server).request("GET")
        server.journal.wait_for(lambda journal: journal.last_exchange("GET"))
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < 1
    assert str(server.journal.last_exchange().ending) == "server stopped"


def test_stopping_inside_a_payload_stores_nothing(dial):
    with LmServer("0.5.6") as server:
        client = dial(server)
        client.send(client.raw(command=1, length=100) + b"x")
        server.journal.wait_for(lambda journal: journal.last_exchange("PUT"))
    assert len(server.store) == 0
    assert str(server.journal.last_exchange().ending) == "server stopped"


def test_connections_are_numbered_in_order_of_acceptance(start, dial):
    server = start()
    clients = [dial(server) for _ in range(30)]
    ports = [client.socket.getsockname()[1] for client in clients]
    server.journal.wait_for(lambda journal: journal.connection_count == 30)
    assert [record.peer for record in server.journal.connections()] == [f"127.0.0.1:{port}" for port in ports]


def test_many_clients_at_once_see_whole_values(start, dial):
    server = start()
    clients = [dial(server) for _ in range(24)]
    failures = []

    def work(number, client):
        mine = f"model@1@{number}@ab@half"
        shared = "shared@1@0@ab@half"
        for turn in range(30):
            own = bytes([number]) * (1000 + turn)
            client.put(own, mine)
            client.put(bytes([number]) * 5000, shared)
            client.request("GET", mine)
            reply = client.reply()
            if client.read(reply.about.length) != own:
                failures.append(("own", number, turn))
            client.request("GET", shared)
            body = client.read(client.reply().about.length)
            if len(set(body)) != 1 or len(body) != 5000:
                failures.append(("shared", number, turn))

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert server.journal.exchange_count == 24 * 30 * 4
    server.journal.wait_for(lambda journal: all(exchange.done for exchange in journal.exchanges()))
    for connection in range(1, 25):
        commands = [exchange.command for exchange in server.journal.exchanges(connection=connection)]
        assert commands == ["PUT", "PUT", "GET", "GET"] * 30


def test_journal_and_store_may_be_shared_by_two_servers(start, dial):
    store = Store()
    first, second = start(store=store), start(store=store)
    client = dial(first)
    client.put(b"x")
    client.request("HEALTH")
    client.reply()
    other = dial(second)
    other.request("EXIST")
    assert other.reply().code == "SUCCESS"


def test_a_plan_can_be_replaced_while_the_server_runs(start, dial):
    server = start(faults=FaultPlan([FaultRule(match=Match(command="HEALTH"), action=CloseAfter(0))]))
    first = dial(server)
    first.request("HEALTH")
    assert first.rest() == (b"", "fin")
    server.set_faults(FaultPlan())
    second = dial(server)
    second.request("HEALTH")
    assert second.reply().code == "SUCCESS"


def test_ipv6_loopback_is_loopback():
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    try:
        server = LmServer("0.5.6", host="::1").start()
    except OSError:
        pytest.skip("no ::1 here")
    try:
        assert server.url == f"lm://[::1]:{server.port}"
    finally:
        server.stop()
