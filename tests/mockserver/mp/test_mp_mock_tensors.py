"""The transfer where the server copies blocks of tensors that lie in shared memory of the client."""

from __future__ import annotations

import os
import pickle
import secrets
import struct

import pytest
from msgspec.msgpack import Ext

from mockserver.mp.leash import SEGMENTS
from wire.mp.registration import encode_registration
from wire.mp.values import pack
from wire.release import Release

BLOCKS = 4
BLOCK = 16 * 4 * 2
"""Bytes of the keys, or of the values, of a block: 16 tokens of 4 elements of float16."""
EVENT = b"stub_ipc_handle"


class Segment:
    """Shared memory of a client: two planes of blocks."""

    def __init__(self, shape=(2, BLOCKS, 1, 16, 4)):
        self.name = f"lmconform-{secrets.token_hex(8)}"
        self.path = SEGMENTS / self.name
        self.shape = shape
        size = 2
        for number in shape:
            size *= number
        self.path.write_bytes(bytes(size))
        self.size = size

    def wrapper(self, release, **changes):
        shape = list(self.shape)
        strides = [1]
        for number in reversed(shape[1:]):
            strides.insert(0, strides[0] * number)
        fields = {
            "shm_name": f"/{self.name}", "nbytes": self.size, "handle": None, "dtype": "float16", "shape": shape,
            "stride": strides, "storage_offset": 0, "device_uuid": "cpu", **changes,
        }  # fmt: skip
        return Ext(1, encode_registration(release, "CpuShmTensorWrapper", fields))

    def write(self, plane, block, data):
        with self.path.open("r+b") as memory:
            memory.seek((plane * BLOCKS + block) * BLOCK)
            memory.write(data)

    def read(self, plane, block):
        return self.path.read_bytes()[(plane * BLOCKS + block) * BLOCK :][:BLOCK]


@pytest.fixture
def segment():
    made = Segment()
    yield made
    made.path.unlink(missing_ok=True)


@pytest.fixture(params=["0.5.5", "0.5.6"])
def client(request, start, dial):
    return dial(start(request.param, mode="lmcache_driven"))


def register(client, *wrappers, hints=None):
    return ("REGISTER_KV_CACHE", 7, list(wrappers), "m", 1, "vllm", hints or {}, [])


def test_blocks_are_stored_and_retrieved_into_others(client, segment, key):
    client.ask(*register(client, segment.wrapper(client.server.release)))
    for plane in range(2):
        segment.write(plane, 1, bytes([plane + 1]) * BLOCK)
        segment.write(plane, 3, bytes([plane + 8]) * BLOCK)
    assert client.ask("STORE", key(2), 7, [[1, 3]], b"") == [EVENT, True]
    assert client.lookup(key(2)) == 2
    assert client.ask("RETRIEVE", key(2), 7, [[2, 0]], b"", 0) == [EVENT, True]
    assert [segment.read(plane, block) for plane in range(2) for block in (2, 0)] == [
        bytes([number]) * BLOCK for number in (1, 8, 2, 9)
    ]
    assert client.server.status()["storage_manager"]["l1_manager"]["read_locked_count"] == 0


def test_the_first_tokens_are_left_alone_where_asked(client, segment, key):
    client.ask(*register(client, segment.wrapper(client.server.release)))
    segment.write(0, 1, b"\1" * BLOCK)
    client.ask("STORE", key(2), 7, [[1, 1]], b"")
    client.lookup(key(2))
    assert client.ask("RETRIEVE", key(2), 7, [[2, 3]], b"", 16) == [EVENT, True]
    assert (segment.read(0, 2), segment.read(0, 3)) == (bytes(BLOCK), b"\1" * BLOCK)


def test_a_retrieve_without_a_lookup_copies_nothing(client, segment, key):
    client.ask(*register(client, segment.wrapper(client.server.release)))
    segment.write(0, 1, b"\1" * BLOCK)
    client.ask("STORE", key(1), 7, [[1]], b"")
    assert client.ask("RETRIEVE", key(1), 7, [[2]], b"", 0) == [EVENT, False]
    assert segment.read(0, 2) == bytes(BLOCK)


def test_block_0_stands_for_no_data(client, segment, key):
    client.ask(*register(client, segment.wrapper(client.server.release)))
    assert client.ask("STORE", key(2), 7, [[1, 0]], b"") == [EVENT, True]
    assert client.lookup(key(2)) == 1


@pytest.mark.parametrize("blocks", [[1], [1, BLOCKS], [1, -1]])
def test_too_few_blocks_or_unknown_ones_store_nothing(client, segment, key, blocks):
    client.ask(*register(client, segment.wrapper(client.server.release)))
    assert client.ask("STORE", key(2), 7, [blocks], b"") == [EVENT, False]
    assert client.server.store.keys == []


def test_an_instance_that_is_not_registered_is_told_and_its_locks_are_given_back(client, segment, key):
    assert client.ask("STORE", key(1), 9, [[1]], b"") == [b"", False]
    client.ask(*register(client, segment.wrapper(client.server.release)))
    client.ask("STORE", key(1), 7, [[1]], b"")
    client.lookup(key(1))
    for _ in range(2):
        assert client.ask("RETRIEVE", key(1), 9, [[1]], b"", 0) == [b"", False]
    assert client.server.status()["storage_manager"]["l1_manager"]["read_locked_count"] == 0


def test_heads_and_tokens_may_stand_the_other_way_round(start, dial, key):
    release = Release.parse("0.5.6")
    heads_first, tokens_first = Segment((2, BLOCKS, 2, 16, 2)), Segment((2, BLOCKS, 16, 2, 2))
    try:
        client = dial(start(release, mode="lmcache_driven"))
        client.ask(*register(client, heads_first.wrapper(release)))
        client.ask("REGISTER_KV_CACHE", 8, [tokens_first.wrapper(release)], "m", 1, "vllm", {"kv_layout": "NHD"}, [])
        heads_first.write(0, 1, b"".join(bytes([head, token, 0, 0]) for head in range(2) for token in range(16)))
        client.ask("STORE", key(1), 7, [[1]], b"")
        client.lookup(key(1))
        assert client.ask("RETRIEVE", key(1), 8, [[2]], b"", 0) == [EVENT, True]
        assert tokens_first.read(0, 2) == b"".join(bytes([head, token, 0, 0]) for token in range(16) for head in range(2))
    finally:
        heads_first.path.unlink()
        tokens_first.path.unlink()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"shm_name": "/lmconform-no-such-memory"}, "cannot be opened"),
        ({"shm_name": "/../etc/passwd"}, "no name"),
        ({"shm_name": ""}, "no name"),
        ({"nbytes": 1 << 30}, "were promised"),
        ({"shape": [BLOCKS, 2, 1, 16, 4]}, "a segment of"),
        ({"dtype": "complex64"}, "dtype|names"),
    ],
)
def test_tensors_that_cannot_be_opened_are_not_answered(client, segment, changes, reason):
    wrapper = segment.wrapper(client.server.release, **changes)
    dropped = client.dropped(*register(client, wrapper))
    assert any(word in dropped for word in reason.split("|")), dropped


def test_tensors_of_a_gpu_are_refused(client):
    fields = {
        "handle": [0, {"hex": "00" * 64}, 64, 0, {"hex": "00"}, 0, {"hex": "00" * 64}, True], "dtype": "float16",
        "shape": [2], "stride": [1], "storage_offset": 0, "device_uuid": "GPU-0",
    }  # fmt: skip
    wrapper = Ext(1, encode_registration(client.server.release, "CudaIPCWrapper", fields))
    assert "need a GPU" in client.dropped(*register(client, wrapper))


def test_a_malicious_wrapper_is_not_loaded(client, tmp_path):
    trap = tmp_path / "sprung"

    class Evil:
        def __reduce__(self):
            return os.system, (f"touch {trap}",)

    assert client.dropped(*register(client, Ext(1, pickle.dumps(Evil()))))
    assert client.dropped(*register(client, Ext(1, pack({"type": "cpu_shm"}))))
    assert client.dropped(*register(client, Ext(1, struct.pack("<Q", 0))))
    assert not trap.exists()


def test_an_instance_that_leaves_lets_its_memory_go(client, segment, key):
    client.ask(*register(client, segment.wrapper(client.server.release)))
    client.ask(*register(client, segment.wrapper(client.server.release)))
    assert client.server.status()["registered_gpu_ids"] == [7]
    client.ask("UNREGISTER_KV_CACHE", 7)
    assert client.server.status()["registered_gpu_ids"] == []
    assert client.lookup(key(1)) == 0
