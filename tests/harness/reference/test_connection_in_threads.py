"""The reference client asked from several threads at once."""

import socket
import threading

import pytest
from scripted_server import TIMEOUT, Read
from test_connection import NO, REQUEST, YES, kind

from harness.client import Call, ClientError, Error, Ok
from harness.reference.connection import Connection


def exists(link, count):
    return [Call.of("exist", connection="c", key=link.key) for _ in range(count)]


def test_requests_at_once_travel_one_after_the_other(play):
    server, link = play([Read(REQUEST), YES, Read(REQUEST), NO, Read(REQUEST), YES])
    found = link.session.call_all(exists(link, 3), deadline=20)
    assert sorted(answer.values["exists"] for answer in found) == [False, True, True]
    assert link.open_connections() == 1
    assert len(server.received[0]) == 3 * REQUEST


def test_a_request_that_waits_for_another_sends_nothing_when_its_time_is_over(play):
    server, link = play([Read(REQUEST)])
    found = link.session.call_all(exists(link, 3), deadline=20)
    assert {kind(answer) for answer in found} == {"timeout"}
    assert len(server.received[0]) == REQUEST


def test_closing_ends_what_another_thread_waits_for(play):
    _, link = play([Read(REQUEST)])
    exist, closed = link.session.call_all([*exists(link, 1), Call.of("close", connection="c")], deadline=20)
    assert kind(exist) == "connection"
    assert closed == Ok({})
    assert link.open_connections() == 0


def test_of_several_that_connect_under_one_name_one_succeeds_and_the_others_leave_nothing(play):
    server, link = play(*[[] for _ in range(5)])
    args = {"connection": "d", "protocol": "lm", "host": "127.0.0.1", "port": server.port, "release": "0.5.6"}
    found = link.session.call_all([Call.of("connect", **args, timeout_ms=round(TIMEOUT * 1000)) for _ in range(4)], deadline=20)
    assert sum(answer == Ok({}) for answer in found) == 1
    assert {kind(answer) for answer in found if isinstance(answer, Error)} == {"refused"}
    assert link.open_connections() == 2


def test_state_tells_of_threads(play):
    _, link = play([])
    assert link.call("state").values["threads"] >= 2


def test_closing_ends_an_exchange_that_opens_a_new_socket_just_then(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        connection = Connection("127.0.0.1", server.getsockname()[1], TIMEOUT)
        server.accept()[0].close()
        closer = threading.Thread(target=connection.close)
        really = socket.create_connection

        def as_the_owner_closes(*address, **options):
            opened = really(*address, **options)
            closer.start()
            assert closing.wait(20)
            return opened

        closing = threading.Event()
        wake = connection._wake
        monkeypatch.setattr(connection, "_wake", lambda: (wake(), closing.set()))
        monkeypatch.setattr(socket, "create_connection", as_the_owner_closes)
        with pytest.raises(ClientError, match="closed by its owner"), connection.exchange():
            connection.send(b"never")
        closer.join(20)
        assert not connection.is_open
        late, _ = server.accept()
        with late:
            late.settimeout(20)
            assert late.recv(8) == b""
