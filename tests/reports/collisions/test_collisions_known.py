"""Collisions that are known from elsewhere: from measurements of real servers, and from tables written by hand."""

import pytest

from reports.collisions.harm import Grade, Harm


def test_asking_0_5_1_for_the_chunk_size_as_0_4_7_does_clears_its_cache(fate):
    found = fate("0.4.7", "0.5.1", "GET_CHUNK_SIZE")
    assert (found.number, found.meets, found.executed) == (17, "CLEAR", True)
    assert found.grade == Grade(Harm.DESTROYS)
    assert "nil" in found.detail


def test_the_server_of_0_5_5_dies_of_an_engine_of_0_5_4_that_starts(fate):
    """Number 40 is GET_EXPERIMENTAL in 0.5.3 and 0.5.4; the enumeration of 0.5.5 ends with 33."""
    found = fate("0.5.4", "0.5.5", "GET_EXPERIMENTAL")
    assert (found.number, found.meets) == (40, None)
    assert found.grade == Grade(Harm.KILLS)


def test_the_server_of_0_5_6_drops_a_number_that_it_does_not_know(fate):
    assert fate("0.5.4", "0.5.6", "GET_EXPERIMENTAL").grade == Grade(Harm.HANGS)


@pytest.mark.parametrize("operation", ["LOOKUP", "FREE_LOOKUP_LOCKS"])
def test_lookups_without_num_kv_readers_are_refused_from_0_5_5_on(fate, operation):
    found = fate("0.5.4", "0.5.5", operation)
    assert (found.meets, found.executed, found.grade) == (operation, False, Grade(Harm.HANGS))
    assert "num_kv_readers" in found.detail
    assert fate("0.5.5", "0.5.4", operation).same


@pytest.mark.parametrize(
    ("client", "server", "same"),
    [
        ("0.4.7", "0.5.0", True),
        ("0.5.0", "0.5.1", False),
        ("0.5.1", "0.5.0", False),
        ("0.5.5", "0.5.6", False),
        ("0.5.6", "0.5.5", False),
    ],
)
def test_tensors_of_cuda_devices_register_only_where_their_class_is_found(fate, client, server, same):
    """The real classes were asked: the module of CudaIPCWrapper moved with 0.5.1, and 0.5.6 loads no pickles."""
    assert fate(client, server, "REGISTER_KV_CACHE").same is same


def test_a_lookup_by_id_and_one_by_request_leave_their_locks_behind(fate):
    """0.4.3 waits for an id, which 0.4.4 does not give any more; 0.4.4 waits for nothing, and 0.4.3 gives an id."""
    forth, back = fate("0.4.3", "0.4.4", "LOOKUP"), fate("0.4.4", "0.4.3", "LOOKUP")
    assert forth.executed
    assert back.executed
    assert forth.grade == back.grade == Grade(Harm.LEAKS)
    assert "nil where int was expected" in forth.detail.replace("reads as nil, ", "")
    assert "message thread dies" in back.detail


def test_locks_of_lookups_stay_where_they_are_freed_by_another_number(fate):
    found = fate("0.4.7", "0.5.1", "FREE_LOOKUP_LOCKS")
    assert (found.number, found.meets, found.executed) == (8, "QUERY_PREFETCH_LOOKUP_HITS", False)
    assert found.grade == Grade(Harm.LEAKS)


def test_a_retrieve_that_is_committed_begins_another_one(fate):
    """(key, int) is what both take; a map that is read as a boolean is true."""
    found = fate("0.4.7", "0.5.1", "COMMIT_RETRIEVE")
    assert (found.meets, found.executed, found.grade) == ("PREPARE_RETRIEVE", True, Grade(Harm.LEAKS))
    assert "reads as true" in found.detail


def test_lookups_of_0_5_6_give_back_the_locks_of_others_at_0_4_7(fate):
    found = fate("0.5.6", "0.4.7", "LOOKUP")
    assert (found.meets, found.executed, found.grade) == ("FREE_LOOKUP_LOCKS", True, Grade(Harm.CORRUPTS))


@pytest.mark.parametrize(("operation", "same"), [("LOOKUP", False), ("STORE", True)])
def test_lookups_of_0_3_13_have_no_worker_which_0_3_12_refuses(fate, operation, same):
    assert fate("0.3.13", "0.3.12", operation).same is same
    assert fate("0.3.12", "0.3.13", operation).same


def test_the_heartbeat_of_0_4_6_clears_0_5_1(fate):
    assert fate("0.4.6", "0.5.1", "PING").meets == "CLEAR"


def test_an_answer_that_cannot_be_read_ends_the_thread_of_older_clients_alone(fate):
    assert "the client's message thread dies of it" in fate("0.5.1", "0.4.7", "CLEAR").detail
    assert fate("0.5.1", "0.4.7", "CLEAR").grade == Grade(Harm.STRANDS)
    assert "the client drops it and waits on" in fate("0.5.6", "0.4.7", "FREE_LOOKUP_LOCKS").detail


def test_operations_of_blending_are_dropped_by_servers_without_it(pair):
    plain, blending = [fate for fate in pair("0.5.6", "0.4.7").fates if fate.operation == "PING"]
    assert (plain.meets, plain.executed, plain.grade) == ("CB_UNREGISTER_KV_CACHE", False, Grade(Harm.HANGS))
    assert (blending.executed, blending.grade) == (True, Grade(Harm.CORRUPTS, plain=False))
    assert blending.odd == "a server with blend"


def test_names_of_0_5_6_kill_older_servers(fate):
    found = fate("0.5.6", "0.5.5", "CB_REORDER_PLAN")
    assert (found.number, found.grade) == ("cb_reorder_plan", Grade(Harm.KILLS, plain=False))


@pytest.mark.parametrize(("client", "server"), [("0.5.0", "0.5.2"), ("0.5.1", "0.5.2"), ("0.5.3", "0.5.4")])
def test_what_changed_only_for_blending_leaves_plain_use_alone(pair, client, server):
    found = pair(client, server).casualties
    assert found == ([] if client != "0.5.0" else ["REGISTER_KV_CACHE"])
