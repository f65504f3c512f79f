"""The relay in front of a Redis, and the Redis itself where the machine has one."""

import contextlib
import shutil
import socket
import socketserver
import threading
import time

import pytest

from harness.l2.redis import PROGRAM, RedisBackend, Relay


class Echo(socketserver.StreamRequestHandler):
    """Gives back each line that it is sent."""

    def handle(self):
        for line in self.rfile:
            self.wfile.write(line)


@pytest.fixture
def echo():
    """The port of a server that gives back what it gets."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture
def relay(echo):
    """A relay to that port."""
    made = Relay()
    made.open(echo)
    yield made
    made.close()
    made.forget()


def connected(relay):
    host, _, port = relay.address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=5)


def test_what_is_sent_comes_back(relay):
    with connected(relay) as connection:
        connection.sendall(b"hello\n")
        assert connection.recv(64) == b"hello\n"


def test_a_delay_is_one_of_answers(relay):
    with connected(relay) as connection:
        relay.delay = 0.2
        began = time.monotonic()
        connection.sendall(b"hello\n")
        assert connection.recv(64) == b"hello\n"
        assert time.monotonic() - began >= 0.2


def test_who_is_connected_is_cut_off(relay):
    with connected(relay) as connection:
        connection.sendall(b"hello\n")
        connection.recv(64)
        relay.close()
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(64) == b""


def test_who_connects_while_it_is_closed_is_refused(relay):
    relay.close()
    with pytest.raises(ConnectionRefusedError):
        connected(relay)


def test_the_address_stays(relay, echo):
    before = relay.address
    relay.close()
    relay.open(echo)
    assert relay.address == before
    with connected(relay) as connection:
        connection.sendall(b"again\n")
        assert connection.recv(64) == b"again\n"


def test_without_the_program_it_says_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(RuntimeError, match="apt-get install redis-server"):
        RedisBackend().start()


@pytest.mark.skipif(shutil.which(PROGRAM) is None, reason=f"there is no {PROGRAM} on this machine")
def test_what_a_redis_was_told_survives_a_restart_and_can_be_damaged():
    backend = RedisBackend()
    try:
        address = backend.start()
        backend._command(b"SET", b"a@key", b"bytes of an object")
        backend.restart()
        assert backend.start() == address
        assert backend._command(b"GET", b"a@key") == b"bytes of an object"
        assert backend.corrupt("@key", "truncate")
        assert backend._command(b"GET", b"a@key") == b"bytes of an objec"
        assert backend.corrupt("@key", "flip")
        assert backend._command(b"GET", b"a@key") != b"bytes of an objec"
        assert backend.corrupt("@key", "delete")
        assert not backend.corrupt("@key", "delete")
    finally:
        backend.close()
