"""Clients that mean harm: whatever they send, the mock goes on for the others, in bounds, and this process lives."""

from __future__ import annotations

import os
import secrets
import threading

import pytest
import zmq
from mp_client import INSTANCE, key_of
from msgspec.msgpack import Ext

from mockserver.mp import MpServer, messages
from mockserver.mp.journal import KEPT_IDENTITIES, KEPT_REASON, MpJournal
from mockserver.mp.leash import SEGMENTS
from wire.mp.registration import encode_registration
from wire.mp.values import pack
from wire.release import Release

RELEASE = Release.parse("0.5.6")
EVENT = b"stub_ipc_handle"


@pytest.fixture
def segment():
    """A file of shared memory of the client's."""
    path = SEGMENTS / f"lmconform-{secrets.token_hex(8)}"
    path.touch()
    yield path
    path.unlink(missing_ok=True)


def tensor(path, nbytes, shape=(2, 4, 1, 16, 4)):
    """A layer of float16 in shared memory."""
    strides = [1]
    for number in reversed(shape[1:]):
        strides.insert(0, strides[0] * number)
    fields = {
        "shm_name": f"/{path.name}", "nbytes": nbytes, "handle": None, "dtype": "float16", "shape": list(shape),
        "stride": strides, "storage_offset": 0, "device_uuid": "cpu",
    }  # fmt: skip
    return Ext(1, encode_registration(RELEASE, "CpuShmTensorWrapper", fields))


def register_tensors(client, *wrappers, instance=INSTANCE):
    return (instance, list(wrappers), "m", 1, "vllm", {}, [])


@pytest.mark.parametrize("release", ["0.4.7", "0.5.6"])
def test_a_world_of_a_billion_ranks_makes_no_list_of_them(start, dial, release):
    client = dial(start(release))
    client.register(world_size=10**9)
    assert "1000000000" in client.dropped("LOOKUP", key_of(1, world_size=10**9, worker_id=None), 1)
    assert client.lookup(key_of(1)) == 0


def test_a_cursor_beyond_all_numbers_ends_nothing(start, dial):
    client = dial(start())
    client.send("SUBSCRIBE_KV_EVENTS", 1, "m", 2**64 - 1, 5)
    frames = client.receive()
    assert frames is not None
    assert client.alive()


def test_a_chunk_of_another_layout_than_the_blocks_ends_no_worker(start, dial, segment):
    client = dial(start(mode="auto"))
    client.register(instance=1, num_layers=1, hidden_dim_size=1)
    key = key_of(1)
    assert client.store(key, [3], 1)
    segment.write_bytes(bytes(2 * 4 * 16 * 4 * 2))
    client.ask("REGISTER_KV_CACHE", *register_tensors(client, tensor(segment, 1024)))
    assert client.lookup(key) == 1
    client.dropped("RETRIEVE", key, INSTANCE, [[1]], EVENT, 0)
    assert client.store(key_of(1, "r2", cache_salt="other"), [4], 1)


def test_memory_larger_than_an_address_space_ends_nothing(start, dial, segment):
    size = 1 << 47
    os.truncate(segment, size)
    client = dial(start(mode="lmcache_driven"))
    client.send("REGISTER_KV_CACHE", *register_tensors(client, tensor(segment, size)))
    client.socket.poll(1000)
    assert client.server.journal.death == ""
    assert dial(client.server).alive()


def test_memory_of_a_client_that_shrinks_afterwards_ends_no_process(start, dial, segment):
    segment.write_bytes(bytes(1024))
    client = dial(start(mode="lmcache_driven"))
    client.ask("REGISTER_KV_CACHE", *register_tensors(client, tensor(segment, 1024)))
    os.truncate(segment, 0)
    assert segment.name in client.dropped("STORE", key_of(1), INSTANCE, [[1]], EVENT)


def test_a_pool_that_a_client_cuts_off_ends_no_process(start, dial):
    server = start(mode="engine_driven")
    client = dial(server)
    client.register()
    client.store(key_of(1), [1])
    os.truncate(SEGMENTS / server.shm_name, 0)
    (only,) = server.store.keys
    with pytest.raises(OSError, match=server.shm_name):
        server.store.data(only)


def test_reasons_with_text_of_the_peer_are_kept_short(start, dial):
    client = dial(start())
    client.register()
    assert len(client.dropped(client.register_name, {**CONTEXT, "dtype_str": "x" * (8 << 20)})) <= KEPT_REASON
    client.raw(b"u", pack("x" * (8 << 20)))  # an operation that there is not
    assert client.alive()
    assert all(len(one.dropped) <= KEPT_REASON for one in client.server.journal.exchanges())


CONTEXT = {
    "instance_id": 99, "model_name": "m", "world_size": 1, "block_size": 16, "num_layers": 2,
    "hidden_dim_size": 4, "dtype_str": "float16", "use_mla": False,
}  # fmt: skip


def test_a_defect_of_a_handler_costs_one_request_and_no_thread(start, dial, monkeypatch):
    client = dial(start())

    def broken(*_):
        raise AttributeError("a defect")

    for name in ("NOOP", "PING", "COMMIT_STORE"):
        handler = client.server.engine.handlers[name]
        monkeypatch.setitem(client.server.engine.handlers, name, broken)
        client.send(name, *{"NOOP": [], "PING": [None], "COMMIT_STORE": [key_of(1), 1, b""]}[name])
        exchange = client.server.journal.wait_for(lambda journal, name=name: [one for one in journal.exchanges(name) if one.done])
        assert "a defect" in exchange[-1].dropped
        monkeypatch.setitem(client.server.engine.handlers, name, handler)
    assert client.ask("PING", None) is True
    assert client.alive()


def test_a_journal_keeps_so_many_bytes_and_forgets_the_oldest():
    journal = MpJournal(retain_bytes=100)
    first, *_, last = [journal.begin(1, b"me", [b"x" * 40], 1, 40) for _ in range(4)]
    assert [one.number for one in journal.exchanges()] == [3, 4]
    journal.sent(last, [b"y" * 30], last=True)
    assert [one.number for one in journal.exchanges()] == [4]
    journal.sent(first, [b"z" * 90], last=True)
    assert [one.number for one in journal.exchanges()] == [4]
    assert journal.exchange_count == 4


def test_an_exchange_that_was_dropped_on_request_weighs_nothing_afterwards():
    journal = MpJournal(retain_bytes=100)
    done = journal.begin(1, b"me", [b"x" * 10], 1, 10)
    journal.sent(done, [b"y" * 10], last=True)
    journal.forget()
    journal.sent(done, [b"z" * 90], last=True)
    for _ in range(2):
        journal.begin(1, b"me", [b"x" * 40], 1, 40)
    assert [one.number for one in journal.exchanges()] == [2, 3]


def test_a_frame_that_no_memory_is_had_for_costs_its_request_alone(start, dial, monkeypatch):
    client = dial(start())
    receive = zmq.Socket.recv

    def recv(sock, *arguments, **options):
        frame = receive(sock, *arguments, **options)
        if frame == b"large":
            raise MemoryError
        return frame

    monkeypatch.setattr(zmq.Socket, "recv", recv)
    client.raw(b"uid", b"large", b"more")
    assert client.alive()
    first, _ = client.server.journal.exchanges()
    assert "no memory for frame 2" in first.dropped
    assert (first.frame_count, client.server.journal.death) == (3, "")


def test_replies_to_a_peer_that_does_not_read_wait_in_bounds_and_none_is_lost(dial, monkeypatch):
    size, count, waited = 16 << 10, 2500, []
    monkeypatch.setattr(messages, "MOST_UNSENT", 64 * size, raising=False)

    gate = threading.Event()

    class Watched(messages.MessageThread):
        def _answer(self, job):
            gate.wait(60)
            super()._answer(job)

        def _queue(self, *arguments, **options):
            super()._queue(*arguments, **options)
            waited.append(self._out.qsize())

    class WatchedServer(MpServer):
        message_thread_class = Watched

    with WatchedServer("0.5.6") as server:
        client = dial(server)
        name = next(name for name in server.engine.handlers if name == "LOOKUP")
        monkeypatch.setitem(server.engine.handlers, name, lambda *_: "x" * size)
        sent = [client.send(name, {**key_of(1), "worker_id": None}, 1) for _ in range(count)]
        server.journal.wait_for(lambda journal: journal.exchange_count == count, 30)
        gate.set()
        server.journal.wait_for(lambda _: server._thread._unsent > 60 * size, 30)
        came = [client.receive()[0] for _ in range(count)]
        assert came == sent
        assert max(waited) <= 64 + 4
        assert server._thread._unsent == 0


def test_identities_come_and_go_without_end():
    journal = MpJournal()
    for number in range(KEPT_IDENTITIES + 2):
        journal.connection_of(number.to_bytes(4, "big"))
    assert journal.connection_of((5).to_bytes(4, "big")) == 6
    assert journal.connection_of(bytes(4)) == journal.connection_count == KEPT_IDENTITIES + 3
