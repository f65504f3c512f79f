"""Messages of every kind: what is answered, what is dropped, and what ends the message thread as it ends the real one."""

from __future__ import annotations

import msgspec
import pytest
import zmq

from wire.mp.values import pack
from wire.release import KNOWN_RELEASES, Release

RELEASES = [text for text in KNOWN_RELEASES if Release.parse(text) >= Release.parse("0.3.10")]
DEEP = b"\x91" * 100_000


@pytest.mark.parametrize("release", RELEASES)
def test_every_release_answers_its_own_noop_and_chunk_size(start, dial, release):
    client = dial(start(release, chunk_size=32))
    assert client.ask("NOOP") == "OK"
    assert client.ask("GET_CHUNK_SIZE") == 32


@pytest.mark.parametrize("uid", [b"", b"\xc1", b"x" * 300])
def test_a_uid_comes_back_whatever_it_is(client, uid):
    number = pack(client.server.table.named("NOOP").number)
    client.raw(uid, number)
    assert client.receive() == [uid, number, pack("OK")]


def test_the_number_comes_back_as_it_was_written(client):
    wide = b"\xcd\x00" + bytes([client.server.table.named("NOOP").number])
    client.raw(b"1", wide)
    assert client.receive() == [b"1", wide, pack("OK")]


def test_a_reply_without_result_has_two_frames(client):
    uid = client.send("END_SESSION", "nobody")
    assert client.receive() == [uid, pack(client.server.table.named("END_SESSION").number)]


@pytest.mark.parametrize("release", ["0.3.10", "0.5.5", "0.5.6"])
@pytest.mark.parametrize("frames", [[b"1"], [b""]])
def test_a_message_of_one_frame_ends_the_message_thread(start, dial, release, frames):
    client = dial(start(release))
    client.raw(*frames)
    assert client.server.journal.wait_for(lambda journal: journal.death) == "a message of 1 frame"
    assert not client.alive()
    assert not dial(client.server).alive()


@pytest.mark.parametrize(
    "operation", [pack(0), pack(255), pack(-1), pack("no_such_thing"), pack(2.5), pack(None), b"\xc1", b"\xa9x"]
)
def test_an_unknown_operation_ends_the_thread_up_to_0_5_5(start, dial, operation):
    for release, survives in (("0.5.5", False), ("0.5.6", True)):
        client = dial(start(release))
        client.raw(b"1", operation)
        client.server.journal.wait_for(lambda journal: journal.exchanges() and journal.exchanges()[0].done)
        assert client.alive() is survives


def test_0_5_6_takes_names_and_true_for_numbers_and_drops_the_retired_one(start, dial):
    client = dial(start())
    client.raw(b"1", pack("noop"))
    assert client.receive() == [b"1", pack("noop"), pack("OK")]
    client.raw(b"2", pack(True), pack(7))
    client.raw(b"3", pack(11), pack("r1"))
    assert client.alive()
    first, second = client.server.journal.exchanges()[1:3]
    assert first.operation == "REGISTER_KV_CACHE"
    assert "11" in second.dropped


@pytest.mark.parametrize("payloads", [[], [pack("r1"), pack(1)], [pack(7)], [b""], [b"\xc1"], [DEEP], [pack("r1") * 2]])
def test_bad_payloads_are_dropped(client, payloads):
    client.raw(b"1", pack(client.server.table.named("END_SESSION").number), *payloads)
    assert client.alive()
    assert client.server.journal.exchanges()[0].dropped


def test_an_operation_that_is_nested_too_deep_ends_the_thread(client):
    client.raw(b"1", DEEP)
    assert "deep" in client.server.journal.wait_for(lambda journal: journal.death)


def test_failing_handlers_are_silent(client, key):
    assert "not registered" in client.dropped("PREPARE_STORE", key(1), 99)
    client.register()
    assert "worker_id" in client.dropped("PREPARE_STORE", {**key(1), "worker_id": None}, 7)
    assert "multiple" in client.dropped("PREPARE_STORE", key(1, end=15), 7)
    assert "uint32" in client.dropped("LOOKUP", {**key(1, token_ids=[-1] * 16), "worker_id": None}, 1)
    assert "dtype" in client.dropped(
        client.register_name,
        {
            "instance_id": 1, "model_name": "m", "world_size": 1, "block_size": 16, "num_layers": 2,
            "hidden_dim_size": 4, "dtype_str": "system", "use_mla": False,
        },
    )  # fmt: skip


def test_a_lookup_that_says_nothing_of_its_readers_is_silent_from_0_5_5(start, dial, key):
    client = dial(start())
    client.register()
    assert "num_kv_readers" in client.dropped("LOOKUP", {**key(1, num_kv_readers=0), "worker_id": None}, 1)


def test_tokens_that_end_before_the_range_do_not_keep_a_worker_busy(start, dial, key):
    client = dial(start("0.5.4"))
    client.register()
    assert "far beyond" in client.dropped("PREPARE_STORE", key(1, end=1 << 40), 7)


@pytest.mark.parametrize("mode", ["engine_driven", "lmcache_driven", "auto"])
def test_a_server_has_the_transfer_operations_of_its_mode(start, dial, key, mode):
    client = dial(start(mode=mode))
    assert ("no handler" in client.dropped("PREPARE_STORE", key(1), 99)) is (mode == "lmcache_driven")
    assert ("no handler" in client.dropped("REGISTER_KV_CACHE", 99, [], "m", 1, "vllm", {}, [])) is (mode == "engine_driven")


def test_operations_of_modules_that_are_off_are_dropped(start, dial):
    client = dial(start("0.5.5"))
    assert "no handler" in client.dropped("CB_PROTOCOL_HANDSHAKE", 1)
    assert client.ask("GET_EXPERIMENTAL") == []
    assert dial(start("0.5.6")).ask("GET_EXPERIMENTAL") == ["kv_event_stream"]


@pytest.mark.parametrize(("release", "offsets"), [("0.5.2", [0, -1, -1]), ("0.5.3", [0, -1, 4096]), ("0.5.6", [0, -1, 4096])])
def test_other_servers_can_look_objects_up(start, dial, key, release, offsets):
    client = dial(start(release))
    client.register()
    client.store(key(2), [1, 2])
    with client.server.engine.lock:
        known = [{"chunk_hash": name.chunk_hash, "model_name": "m", "kv_rank": name.kv_rank} for name in client.server.store.keys]
    layout = {"shapes": [[2]], "dtypes": ["float16"]}
    layouts = layout if release == "0.5.2" else {0: layout}
    task = client.ask("P2P_LOOKUP_AND_LOCK", [known[0], {**known[0], "chunk_hash": b"0" * 32}, known[1]], layouts)
    places = client.ask("P2P_QUERY_LOOKUP_RESULTS", task)
    assert [place["offset"] for place in places] == offsets
    assert client.ask("P2P_QUERY_LOOKUP_RESULTS", task) is None
    client.ask("P2P_UNLOCK_OBJECTS", known)
    assert client.server.status()["storage_manager"]["l1_manager"]["read_locked_count"] == 0


def test_a_subscription_brings_a_first_batch_and_ends_when_it_is_cancelled(start, dial):
    client = dial(start())
    uid = client.send("SUBSCRIBE_KV_EVENTS", 7, "m", 0, 10)
    frames = client.receive()
    assert frames is not None
    batch = msgspec.msgpack.decode(frames[2])
    assert {**batch, "incarnation": 0} == {"enabled": True, "incarnation": 0, "next_cursor": 0, "lost": False, "events": []}
    client.raw(uid, b"", b"ack")
    assert client.silent()
    client.raw(uid, b"", b"cancel")
    assert client.receive() == [uid, pack("subscribe_kv_events")]


def test_a_subscriber_hears_of_removed_objects_of_its_model_when_it_has_credit(start, dial, key):
    client = dial(start())
    client.register()
    client.store(key(2), [1, 2])
    uid = client.send("SUBSCRIBE_KV_EVENTS", 7, "m", 0, 10)
    client.receive()
    client.ask("CLEAR", True)
    assert client.silent()
    client.raw(uid, b"", b"ack")
    frames = client.receive()
    assert frames is not None
    (event,) = msgspec.msgpack.decode(frames[2])["events"]
    assert (event["kind"], event["model_name"], len(event["block_hashes"])) == ("removed", "m", 2)
    client.raw(uid, b"", b"ack")
    client.store(key(1, "r2", model_name="n"), [3])
    client.ask("CLEAR", True)
    assert client.silent()


def test_a_message_of_many_frames_is_cut_in_memory_and_dropped(client):
    client.raw(b"1", pack(client.server.table.named("NOOP").number), *[b"x"] * 50_000)
    assert client.alive()
    exchange = client.server.journal.exchanges()[0]
    assert (exchange.frame_count, len(exchange.frames)) == (50_002, 32)
    assert "takes 0 payloads" in exchange.dropped


def test_two_clients_with_their_own_addresses_get_their_own_replies(start, dial):
    server = start()
    first, second = dial(server, b"first"), dial(server)
    assert (first.ask("NOOP"), second.ask("NOOP")) == ("OK", "OK")
    assert [exchange.connection for exchange in server.journal.exchanges()] == [1, 2]
    assert server.journal.exchanges()[0].identity == b"first"


def test_a_peer_that_went_away_is_noted(start):
    server = start()
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.setsockopt(zmq.LINGER, 1000)
        socket.connect(server.url)
        socket.send_multipart([b"1", pack(24)])
        socket.recv_multipart()
    assert server.journal.exchanges()[0].reply == (b"1", pack(24), pack("OK"))
