"""The reference plugin behind a gateway that is down, slow, restarted or damaged."""

import socket
import time

import pytest

from harness.reference.l2.gateway.backend import GatewayBackend
from harness.reference.l2.gateway.frames import HEAD

KEY = "model@00000000@0@beef"
DATA = bytes(range(256)) * 40
WAIT = 0.3


@pytest.fixture
def far(opened, gateway):
    """A plugin that stored something behind the gateway."""
    plugin = opened(gateway=gateway.address, wait=10.0, retry=0.05)
    assert plugin.store({KEY: DATA}).ok
    return plugin


def comes_back(plugin):
    """Whether the object can be loaded again, soon."""
    until = time.monotonic() + 20
    while not plugin.holds(KEY, DATA):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def test_what_was_stored_is_loaded_by_others(far, opened, gateway):
    other = opened(gateway=gateway.address, wait=10.0)
    assert other.holds(KEY, DATA)
    assert other.look([KEY, "nothing"]) == [True, False]
    assert other.store({KEY: DATA}).ok
    assert other.count("deduplicated", "stored") == (1, 0)
    assert other.delete([KEY]) == [True]
    assert not far.holds(KEY, DATA)


def test_a_gateway_that_is_down_turns_answers_into_misses(far, gateway):
    gateway.stop()
    assert not far.holds(KEY, DATA)
    assert far.look([KEY]) == [False]
    assert not far.store({"new": b"x"}).ok
    assert far.count("missed", "absent") == (0, 0)
    assert far.count("unavailable") == (2,)


def test_it_comes_back_by_itself(far, gateway):
    gateway.stop()
    assert not far.holds(KEY, DATA)
    gateway.start()
    assert comes_back(far)


def test_a_restart_between_two_requests_is_not_noticed(far, gateway):
    gateway.restart()
    assert far.holds(KEY, DATA)
    assert far.count("unavailable") == (0,)


def test_a_gateway_that_is_not_up_yet(opened):
    backend = GatewayBackend()
    try:
        plugin = opened(gateway=backend.address, wait=10.0, retry=0.05)
        assert plugin.look([KEY]) == [False]
        backend.start()
        until = time.monotonic() + 20
        while not plugin.store({KEY: DATA}).ok:
            assert time.monotonic() < until
            time.sleep(0.02)
        assert plugin.holds(KEY, DATA)
    finally:
        backend.close()


def test_a_slow_gateway_costs_the_wait_and_no_more(opened, far, gateway):
    plugin = opened(gateway=gateway.address, wait=WAIT, retry=0.05)
    gateway.slow(5)
    began = time.monotonic()
    assert plugin.look([KEY, *map(str, range(20))]) == [False] * 21
    assert WAIT * 0.9 < time.monotonic() - began < 4
    gateway.slow(0)
    assert comes_back(plugin)


def test_a_late_answer_is_not_taken_for_the_next_one(opened, far, gateway):
    plugin = opened(gateway=gateway.address, wait=WAIT, retry=0.001, threads=1)
    far.store({"other": DATA[::-1]})
    gateway.slow(WAIT * 1.5)
    assert not plugin.holds(KEY, DATA)
    gateway.slow(0)
    until = time.monotonic() + 20
    while time.monotonic() < until:
        found, content = plugin.load({"other": len(DATA)})
        if found["other"]:
            break
    assert content["other"] == DATA[::-1]


def test_close_does_not_wait_for_a_slow_gateway(opened, gateway):
    plugin = opened(gateway=gateway.address, wait=60.0, close_wait=20.0)
    gateway.slow(60)
    plugin.plugin.submit_batch_exists([KEY])
    began = time.monotonic()
    plugin.plugin.close()
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("how", ["flip", "truncate", "delete"])
def test_damage_behind_the_gateway_is_a_miss_and_healed_by_the_next_store(far, gateway, how):
    assert gateway.corrupt(KEY, how)
    assert not far.holds(KEY, DATA)
    assert far.count("damaged") == (1,)
    assert far.store({KEY: DATA}).ok
    assert far.holds(KEY, DATA)


def test_damage_to_what_is_not_there(gateway):
    assert not gateway.corrupt("nothing", "flip")


@pytest.mark.parametrize(
    "nonsense", [b"GET / HTTP/1.1\r\n\r\n", HEAD.pack(2, 0) + b"[]", HEAD.pack(2, 0) + b"{}", HEAD.pack(9, 3)]
)
def test_nonsense_ends_its_connection_alone(far, gateway, nonsense):
    host, port = gateway.address.split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(nonsense)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""
    assert far.holds(KEY, DATA)


def test_nobody_else_gets_the_port_of_a_gateway_that_is_down(gateway):
    gateway.stop()
    host, port = gateway.address.split(":")
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind((host, int(port)))


def test_a_gateway_whose_owner_died_ends_and_leaves_nothing(gateway):
    process = gateway._process
    process.stdin.close()
    assert process.wait(20) == 0
    assert not gateway.folder.exists()


def test_an_address_must_be_one(opened):
    with pytest.raises(ValueError, match="HOST:PORT"):
        opened(gateway="nowhere")
