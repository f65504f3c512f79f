"""Storing, looking up and retrieving, and the locks between them."""

from __future__ import annotations

import pytest
from mp_client import INSTANCE, LENGTH

from wire.mp.pickled_chunks import Chunk, read_chunks, write_chunks


def counts(client):
    tier = client.server.status()["storage_manager"]["l1_manager"]
    return tier["total_object_count"], tier["read_locked_count"], tier["write_locked_count"]


def test_chunks_come_back_as_they_were(stocked, key):
    assert stocked.lookup(key(2)) == 2
    assert stocked.retrieve(key(2)) == [bytes([1]) * LENGTH, bytes([2]) * LENGTH]
    assert counts(stocked) == (2, 0, 0)


def test_a_lookup_finds_whole_leading_chunks(stocked, key):
    assert stocked.lookup(key(3)) == 2
    assert stocked.lookup(key(2, "r2", token_ids=[*range(31)], end=31)) == 1
    assert stocked.lookup(key(2, "r3", token_ids=[9, *range(1, 32)])) == 0


@pytest.mark.parametrize("other", [{"cache_salt": "pepper"}, {"model_name": "n"}, {"world_size": 2}])
def test_another_salt_model_or_world_finds_nothing(stocked, key, other):
    assert stocked.lookup(key(2, **other)) == 0


def test_a_chunk_of_two_ranks_is_found_when_both_have_stored_it(client, key):
    client.register(world_size=2)
    client.store(key(1, "s0", world_size=2), [1])
    assert client.lookup(key(1, "r1", world_size=2)) == 0
    client.store(key(1, "s1", world_size=2, worker_id=1), [2])
    assert client.lookup(key(1, "r2", world_size=2)) == 1
    assert client.retrieve(key(1, "r2", world_size=2, worker_id=1)) == [bytes([2]) * LENGTH]


def test_a_retrieve_without_a_lookup_fails_and_so_does_a_second_one(stocked, key):
    assert stocked.retrieve(key(2)) is None
    stocked.lookup(key(2))
    assert stocked.retrieve(key(2)) is not None
    assert stocked.retrieve(key(2)) is None


def test_every_lookup_is_worth_one_retrieve(stocked, key):
    stocked.lookup(key(2, "r1"))
    stocked.lookup(key(2, "r2"))
    assert stocked.retrieve(key(2, "r1")) is not None
    assert stocked.retrieve(key(2, "r2")) is not None
    assert stocked.retrieve(key(2, "r2")) is None


def test_a_lookup_for_several_readers_is_worth_as_many_retrieves(stocked, key):
    counted = stocked.server.release.text == "0.5.6"
    two = key(2, num_kv_readers=2 if counted else 1)
    assert stocked.lookup(two, 1 if counted else 2) == 2
    assert stocked.retrieve(two) is not None
    assert stocked.retrieve(two) is not None
    assert stocked.retrieve(two) is None


def test_locks_are_given_back_by_the_key_of_the_lookup_alone(stocked, key):
    stocked.lookup(key(2))
    assert counts(stocked) == (2, 2, 0)
    stocked.ask("FREE_LOOKUP_LOCKS", {**key(2, cache_salt="pepper"), "worker_id": None}, 1)
    assert counts(stocked) == (2, 2, 0)
    stocked.ask("FREE_LOOKUP_LOCKS", {**key(2), "worker_id": None}, 1)
    assert counts(stocked) == (2, 0, 0)


def test_the_end_of_a_session_keeps_the_locks(stocked, key):
    stocked.lookup(key(2))
    stocked.ask("END_SESSION", "r1")
    assert counts(stocked) == (2, 2, 0)


def test_a_lookup_gives_its_result_once(stocked, key):
    stocked.lookup(key(2))
    assert stocked.ask("QUERY_PREFETCH_STATUS", "r1") == 0


def test_chunks_that_are_there_are_not_stored_again(stocked, key):
    answer = stocked.ask("PREPARE_STORE", key(3, "again"), INSTANCE)["context"]
    assert answer["chunk_indices"] == [2]
    assert len(answer["slots"]) == 1


def test_an_object_that_is_not_committed_is_not_found(client, key):
    client.register()
    client.ask("PREPARE_STORE", key(1), INSTANCE)
    assert client.lookup(key(1, "r2")) == 0
    assert counts(client) == (1, 0, 1)
    assert client.ask("COMMIT_STORE", key(1), INSTANCE, b"") is True
    assert client.ask("COMMIT_STORE", key(1), INSTANCE, b"") is False
    assert client.lookup(key(1, "r3")) == 1


def test_an_instance_that_leaves_commits_what_it_had_under_way(client, key):
    client.register()
    client.ask("PREPARE_STORE", key(1), INSTANCE)
    client.ask(client.register_name.replace("REGISTER", "UNREGISTER"), INSTANCE)
    assert counts(client) == (1, 0, 0)


def test_clear_with_force_removes_what_is_locked(stocked, key):
    stocked.lookup(key(2))
    if stocked.server.release.text == "0.5.6":
        stocked.ask("CLEAR", False)
        assert counts(stocked) == (2, 2, 0)
        stocked.ask("CLEAR", True)
    else:
        stocked.ask("CLEAR")
    assert counts(stocked) == (0, 0, 0)
    assert stocked.retrieve(key(2)) is None


def test_a_full_pool_has_no_slots(start, dial, key):
    client = dial(start(pool_size=3 * 4096))
    client.register()
    assert client.store(key(2, "s1"), [1, 2])
    answer = client.ask("PREPARE_STORE", key(2, "s2", token_ids=[7] * 32), INSTANCE)
    assert answer == {"context": {"slots": [], "chunk_indices": []}}


def test_the_longest_unused_object_goes_when_the_pool_is_nearly_full(start, dial, key):
    client = dial(start(pool_size=5 * 4096))
    client.register()
    for number in range(4):
        client.store(key(1, f"s{number}", token_ids=[number] * 16), [number])
    with client.server.engine.lock:
        assert len(client.server.store.evict()) == 1
    assert client.lookup(key(1, "r0", token_ids=[0] * 16)) == 0
    assert client.lookup(key(1, "r1", token_ids=[1] * 16)) == 1


def test_the_offsets_are_the_lowest_free_ones(stocked, key):
    slots = stocked.ask("PREPARE_STORE", key(2, "other", cache_salt="s"), INSTANCE)["context"]["slots"]
    assert [slot["offset"] for slot in slots] == [8192, 12288]
    assert slots[0] == {"offset": 8192, "length": LENGTH, "shape": [2, 2, 16, 4], "dtype": "float16"}


@pytest.mark.parametrize("release", ["0.4.6", "0.5.6"])
def test_without_shared_memory_chunks_travel_as_a_pickle(start, dial, key, release):
    client = dial(start(release, shared_memory=False))
    client.register()
    chunks = [Chunk("float16", (2, 2, 16, 4), bytes([number]) * LENGTH) for number in (1, 2)]
    assert client.ask("PREPARE_STORE", key(2), INSTANCE) == {"context": {}}
    assert client.ask("COMMIT_STORE", key(2), INSTANCE, write_chunks(chunks)) is True
    assert client.lookup(key(2)) == 2
    answer = client.ask("PREPARE_RETRIEVE", key(2), INSTANCE)
    assert (answer["success"], answer["context"], read_chunks(answer["data"])) == (True, {}, chunks)
    assert client.ask("PREPARE_RETRIEVE", key(2), INSTANCE)["success"] is False


def test_a_pickle_of_another_shape_stores_nothing(start, dial, key):
    client = dial(start(shared_memory=False))
    client.register()
    small = write_chunks([Chunk("float16", (2, 2, 8, 4), bytes(256))])
    assert client.ask("COMMIT_STORE", key(1), INSTANCE, small) is False
    assert client.lookup(key(1)) == 0


def test_a_malicious_pickle_is_not_answered_and_not_loaded(start, dial, key, tmp_path):
    client = dial(start(shared_memory=False))
    client.register()
    trap = tmp_path / "sprung"
    evil = f"cos\nsystem\n(S'touch {trap}'\ntR.".encode()
    assert "os.system" in client.dropped("COMMIT_STORE", key(1), INSTANCE, evil)
    assert not trap.exists()


@pytest.mark.parametrize("release", ["0.3.10", "0.3.15", "0.4.1", "0.4.5"])
def test_servers_before_the_engine_driven_path_answer_lookups_and_cannot_store(start, dial, key, release):
    client = dial(start(release))
    assert "GPU" in client.dropped(*register_tensors(client))
    record = {**key(1), "worker_id": 0, "chunk_hash": b"1" * 32}
    payloads = {"0.3.10": ([record], True), "0.3.15": (record,)}.get(release, (record, 1))
    expected = {"0.3.10": [False], "0.3.15": 0, "0.4.1": 0, "0.4.5": None}[release]
    assert client.ask("LOOKUP", *payloads) == expected
    if release >= "0.4.1":
        assert client.ask("QUERY_PREFETCH_STATUS", 0 if release == "0.4.1" else "r1") == 0


def register_tensors(client):
    fillers = {"int": 7, "str": "m"}
    types = client.server.table.named("REGISTER_KV_CACHE").payloads
    values = [[] if str(type_).startswith("[") else {"EngineType": "vllm", "LayoutHints": {}}.get(str(type_)) for type_ in types]
    return "REGISTER_KV_CACHE", *(fillers.get(str(type_), value) for type_, value in zip(types, values, strict=True))


def test_a_commit_resolves_its_key_once_more_where_the_request_has_begun(stocked, key):
    """The real server does so to log how many tokens it moved; what it is asked for first is done already."""
    stocked.lookup(key(2))
    stocked.ask("PREPARE_RETRIEVE", key(2), INSTANCE)
    assert "multiple" in stocked.dropped("COMMIT_RETRIEVE", key(2, end=17), INSTANCE)
    assert stocked.ask("COMMIT_RETRIEVE", key(2, end=17), INSTANCE) is True
    assert counts(stocked) == (2, 2, 0)
    assert stocked.ask("COMMIT_RETRIEVE", key(2), INSTANCE) is True
    assert counts(stocked) == (2, 0, 0)
