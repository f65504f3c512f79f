"""Whoever talks through the proxy notices nothing of it."""

import random
import socket
import struct
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tapped import PATIENCE, connect, proxied, read_all, read_exactly, until, upstream

from harness.tap.address import Address
from harness.tap.proxy import Proxy
from harness.usage import UsageError


def echo(connection):
    while data := connection.recv(1 << 16):
        connection.sendall(data)


@pytest.fixture(scope="module")
def echoing():
    with upstream(echo) as server, proxied(server.address) as (proxy, events):
        yield proxy, events


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.binary(min_size=1, max_size=2000), max_size=8))
def test_any_bytes_pass_unchanged_in_both_directions(echoing, pieces):
    with connect(echoing[0].address) as client:
        for piece in pieces:
            client.sendall(piece)
        client.shutdown(socket.SHUT_WR)
        assert read_all(client) == b"".join(pieces)


def test_a_large_value_passes_unchanged_and_is_in_the_events(echoing):
    proxy, events = echoing
    value = random.Random(1).randbytes(3 << 20)
    with connect(proxy.address) as client:
        sender = threading.Thread(target=lambda: (client.sendall(value), client.shutdown(socket.SHUT_WR)), daemon=True)
        sender.start()
        assert read_all(client) == value
        sender.join(PATIENCE)
    number = proxy.connections
    for side in ("client", "server"):
        assert b"".join(event.data for event in events if event.connection == number and event.side == side) == value


def test_events_are_told_in_order(echoing):
    proxy, events = echoing
    with connect(proxy.address) as client:
        client.sendall(b"ping")
        assert read_exactly(client, 4) == b"ping"
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""
    number = proxy.connections
    until(lambda: any(event.connection == number and event.do == "close" for event in events))
    told = [f"{event.side} {event.do}" for event in events if event.connection == number]
    assert told == ["client open", "server open", "client data", "server data", "client half-close", "server close"]


def test_a_half_close_leaves_the_other_direction_open():
    def answer_at_the_end(connection):
        connection.sendall(b"got " + str(len(read_all(connection))).encode())

    with upstream(answer_at_the_end) as server, proxied(server.address) as (proxy, _), connect(proxy.address) as client:
        client.sendall(b"x" * 100)
        client.shutdown(socket.SHUT_WR)
        assert read_all(client) == b"got 100"


def test_the_end_of_the_server_is_passed_on_behind_its_last_byte():
    def say_goodbye(connection):
        connection.recv(1)
        connection.sendall(b"bye")

    with upstream(say_goodbye) as server, proxied(server.address) as (proxy, _), connect(proxy.address) as client:
        client.sendall(b"?")
        assert read_all(client) == b"bye"


@pytest.mark.parametrize("who", ["client", "server"])
def test_a_reset_is_passed_on_as_a_reset(who):
    seen = threading.Event()

    def serve(connection):
        connection.recv(1)
        if who == "server":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return
        connection.sendall(b"!")
        try:
            connection.recv(1)
        except ConnectionResetError:
            seen.set()

    with upstream(serve) as server, proxied(server.address) as (proxy, events), connect(proxy.address) as client:
        client.sendall(b"?")
        if who == "server":
            with pytest.raises(ConnectionResetError):
                client.recv(1)
        else:
            assert client.recv(1) == b"!"
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
            assert seen.wait(PATIENCE)
        until(lambda: any(event.do == "reset" and event.side == who for event in events))


def test_a_client_meets_a_reset_where_no_server_is():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = Address("127.0.0.1", free.getsockname()[1])
        with proxied(nobody) as (proxy, events), pytest.raises(ConnectionResetError), connect(proxy.address) as client:
            client.recv(1)
    assert [(event.side, event.do) for event in events] == [("client", "open"), ("server", "error")]
    assert "Connection refused" in events[1].text


def send_until_it_waits(connection):
    sent = 0
    try:
        while sent < 1 << 30:
            sent += connection.send(bytes(1 << 16))
    except TimeoutError:
        return sent
    pytest.fail("nothing ever waited")


def test_a_reader_that_does_not_read_holds_up_the_writer():
    reading = threading.Event()
    came = []

    def read_late(connection):
        reading.wait(PATIENCE)
        came.append(len(read_all(connection)))

    with upstream(read_late) as server, proxied(server.address) as (proxy, events), connect(proxy.address) as client:
        client.settimeout(0.5)
        sent = send_until_it_waits(client)
        passed = sum(event.size for event in events)
        assert passed < 64 << 20
        reading.set()
        client.settimeout(PATIENCE)
        client.shutdown(socket.SHUT_WR)
        until(lambda: came)
    assert came == [sent]


def open_descriptors():
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_hundreds_of_connections_are_served_at_once_and_nothing_of_them_is_left():
    with upstream(echo) as server, proxied(server.address) as (proxy, events):
        before = open_descriptors()
        clients = [connect(proxy.address) for _ in range(300)]
        try:
            for number, client in enumerate(clients):
                client.sendall(f"{number:03}".encode())
            assert [read_exactly(client, 3) for client in clients] == [f"{number:03}".encode() for number in range(300)]
        finally:
            for client in clients:
                client.close()
        until(lambda: open_descriptors() <= before)
    assert sum(event.do in {"close", "reset"} for event in events) == 300


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_tap_before_itself_is_refused(host):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(UsageError, match="where the tap itself listens"):
        Proxy(Address(host, port), Address("127.0.0.1", port), lambda _: None)


def test_a_stop_ends_connections_at_once():
    with upstream(echo) as server, proxied(server.address) as (proxy, _), connect(proxy.address) as client:
        client.sendall(b"?")
        assert client.recv(1) == b"?"
        proxy.stop()
        assert client.recv(1) == b""


def test_a_port_in_use_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(OSError, match="in use"):
        Proxy(Address("127.0.0.1", other.getsockname()[1]), Address("127.0.0.1", 1), lambda _: None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1:80", Address("127.0.0.1", 80)),
        (":0", Address("127.0.0.1", 0)),
        ("[::1]:80", Address("::1", 80)),
        ("lm://cache.example:65432", Address("cache.example", 65432)),
    ],
)
def test_addresses_are_read(text, expected):
    assert Address.parse(text, what="--listen", lowest=0) == expected


@pytest.mark.parametrize("text", ["", "80", "host", "host:", "host:70000", "host:-1", "host:٣", "host:1e3"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(UsageError, match="--to takes HOST:PORT"):
        Address.parse(text, what="--to")
