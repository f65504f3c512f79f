"""The store behind the reference connector: it goes away, is slow and comes back, and the connector's side bounds its waits."""

import socket
import time

import pytest

from harness.reference.remote.behind import WAIT, Behind
from harness.reference.remote.files import Damaged, digest
from harness.reference.remote.store import StoreBackend

ABOUT = {"fmt": "KV_2LTD", "dtype": "float16", "shape": (2, 2, 1, 8)}
DATA = bytes(range(64))


@pytest.fixture
def store():
    backend = StoreBackend()
    backend.start()
    yield backend
    backend.close()


@pytest.fixture
def behind(store):
    return Behind(store.start())


def write(behind, key, data=DATA):
    behind.write(key, memoryview(data), **ABOUT)


def test_what_is_written_is_read(behind):
    write(behind, "a/b@1")
    head, file = behind.open("a/b@1")
    assert (head.key, head.shape, head.size) == ("a/b@1", (2, 2, 1, 8), 64)
    assert head.digest == digest(memoryview(file.read()))
    assert behind.keys() == ["a/b@1"]


def test_removed_once(behind):
    write(behind, "a")
    assert [behind.has("a"), behind.remove("a"), behind.remove("a"), behind.has("a")] == [True, True, False, False]
    with pytest.raises(FileNotFoundError):
        behind.open("a")


def test_the_object_of_another_key_is_damage(behind):
    _, body = behind.ask({"do": "put", "key": "b"}, b"lmconform-chunk-1\n{}\n")
    assert body == b""
    with pytest.raises(Damaged):
        behind.open("b")


def test_while_it_is_stopped_callers_are_refused_and_afterwards_all_is_there(store, behind):
    write(behind, "a")
    store.stop()
    assert [behind.has("a"), behind.remove("a"), behind.there()] == [False, False, False]
    with pytest.raises(ConnectionRefusedError):
        write(behind, "b")
    store.start()
    assert [behind.has("a"), behind.has("b"), behind.there()] == [True, False, True]


def test_who_is_connected_is_cut_off_when_it_stops(store):
    host, _, port = store.start().rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        Behind.converse(connection, {"do": "keys"}, b"", None)  # the conversation has begun
        store.stop()
        assert connection.recv(1) == b""


def test_an_answer_that_takes_too_long_is_none(store, behind):
    write(behind, "a")
    store.slow(60)
    began = time.monotonic()
    assert not behind.has("a")
    assert WAIT <= time.monotonic() - began < 30
    store.slow(0)
    assert behind.has("a")


def test_an_address_without_a_port_is_refused():
    with pytest.raises(ValueError, match="must be HOST:PORT"):
        Behind("nowhere")
