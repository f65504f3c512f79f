"""The reference client of the multiprocess server: round trips, silence, and what it never does."""

import os
import pickle
from typing import Any

import pytest

from harness.client import Call, ClientError, Error, Miss, Ok, Unsupported
from harness.reference.mp.connection import MpConnection
from harness.reference.mp.pool import SHARED_FOLDER, Pool
from mockserver.mp import MpServer
from wire.mp.frames import encode_reply
from wire.mp.operations import operation_table
from wire.release import Release

RELEASES = ["0.4.6", "0.4.7", "0.5.1", "0.5.4", "0.5.5", "0.5.6"]
every_release = pytest.mark.parametrize("talk", RELEASES, indirect=True)


def kind(answer: Any) -> str:
    assert isinstance(answer, Error), answer
    return answer.kind


@every_release
def test_chunks_come_back_as_they_were_stored(talk):
    key, data = talk.stored(3)
    assert talk.ok("mp_lookup", key=key, tp_size=1) == {"hits": 3}
    assert talk.ok("mp_retrieve", instance_id=1, key=key) == {"chunks": data}
    assert talk.locks() == 0


def test_chunks_come_back_as_pickles(pickled):
    key, data = pickled.stored(3)
    assert pickled.ok("mp_lookup", key=key, tp_size=1) == {"hits": 3}
    assert pickled.ok("mp_retrieve", instance_id=1, key=key) == {"chunks": data}


def test_partial_chunks_are_cut_off_before_the_key_is_sent(talk):
    key, data = talk.stored(2)
    longer = {**key, "tokens": [*key["tokens"], 1, 2, 3], "end": key["end"] + 3}
    assert talk.ok("mp_lookup", key=longer, tp_size=1) == {"hits": 2}
    assert talk.ok("mp_retrieve", instance_id=1, key=longer) == {"chunks": data}


@pytest.mark.parametrize("changes", [{"start": 1}, {"end": 1000}, {"tokens": [2**32] * 16}, {"cache_salt": "a@b"}])
def test_a_key_that_means_nothing_is_refused_and_not_sent(talk, changes):
    talk.stored()
    before = len(talk.asked())
    answer = talk.ask("mp_store", instance_id=1, key={**talk.keys(1), **changes}, chunks=talk.keys.chunks(1, talk.context))
    assert kind(answer) == "refused"
    assert len(talk.asked()) == before


def test_chunks_of_another_number_or_length_are_refused_and_not_sent(talk):
    talk.stored()
    for chunks in ([], [b"short"], talk.keys.chunks(2, talk.context)):
        assert kind(talk.ask("mp_store", instance_id=1, key=talk.keys(1), chunks=chunks)) == "refused"
    assert len(talk.asked("PREPARE_STORE")) == 1


def test_a_range_without_a_whole_chunk_asks_nobody(talk):
    talk.stored()
    before = len(talk.asked())
    key = {**talk.keys(1), "end": 3}
    assert talk.ok("mp_store", instance_id=1, key=key, chunks=[]) == {"stored": True}
    assert talk.ok("mp_lookup", key=key, tp_size=1) == {"hits": 0}
    assert talk.ok("mp_retrieve", instance_id=1, key=key) == {"chunks": []}
    assert len(talk.asked()) == before


def test_what_is_stored_already_is_not_committed_again(talk):
    key, data = talk.stored()
    assert talk.ok("mp_store", instance_id=1, key=key, chunks=data) == {"stored": True}
    assert talk.asked("COMMIT_STORE") == ["COMMIT_STORE"]


def test_a_retrieve_without_a_lookup_is_a_miss(talk):
    key, _ = talk.stored()
    assert isinstance(talk.ask("mp_retrieve", instance_id=1, key=key), Miss)


def test_silence_is_a_timeout_and_the_late_reply_belongs_to_nobody(talk):
    talk.server.misbehave("late-reply:operation=NOOP,seconds=0.6,nth=1")
    assert kind(talk.ask("mp_noop")) == "timeout"
    assert talk.ok("mp_chunk_size") == {"chunk_size": 16}
    assert talk.ok("mp_noop") == {"text": "OK"}


def test_a_commit_that_is_not_answered_is_not_sent_again(talk):
    talk.ok("mp_register", instance_id=1, context=talk.context)
    talk.server.misbehave("drop-reply:operation=COMMIT_STORE")
    assert kind(talk.ask("mp_store", instance_id=1, key=talk.keys(1), chunks=talk.keys.chunks(1, talk.context))) == "timeout"
    assert talk.asked("COMMIT_STORE") == ["COMMIT_STORE"]


@pytest.mark.parametrize("fault", ["slots-outside", "slot-length"])
def test_slots_that_cannot_be_are_refused_and_no_store_is_committed(talk, fault):
    talk.ok("mp_register", instance_id=1, context=talk.context)
    talk.server.misbehave(f"{fault}:operation=PREPARE_STORE")
    answer = talk.ask("mp_store", instance_id=1, key=talk.keys(1), chunks=talk.keys.chunks(1, talk.context))
    assert kind(answer) == "refused"
    assert talk.asked("COMMIT_STORE") == []


@pytest.mark.parametrize("fault", ["slots-outside", "slot-length", "drop-reply"])
def test_locks_are_given_back_when_a_retrieve_fails(talk, fault):
    key, _ = talk.stored()
    talk.ok("mp_lookup", key=key, tp_size=1)
    talk.server.misbehave(f"{fault}:operation=PREPARE_RETRIEVE")
    assert kind(talk.ask("mp_retrieve", instance_id=1, key=key)) in {"refused", "timeout"}
    talk.server.journal.wait_for(lambda journal: [one for one in journal.exchanges("COMMIT_RETRIEVE") if one.done])
    assert talk.locks() == 0


def test_a_lookup_that_does_not_end_is_a_timeout(talk):
    key, _ = talk.stored()
    talk.server.misbehave("still-running:operation=QUERY_PREFETCH_STATUS")
    assert kind(talk.ask("mp_lookup", key=key, tp_size=1)) == "timeout"
    assert len(talk.asked("LOOKUP")) == 1


def test_locks_are_given_back_on_request(talk):
    key, _ = talk.stored()
    talk.ok("mp_lookup", key=key, tp_size=1)
    assert talk.locks() > 0
    assert talk.ok("mp_free_locks", key=key, tp_size=1) == {}
    assert talk.locks() == 0


def test_lookups_ask_for_all_workers_whatever_the_key_says(talk):
    key, _ = talk.stored()
    talk.ok("mp_lookup", key={**key, "worker_id": 0}, tp_size=1)
    (lookup,) = talk.server.journal.exchanges("LOOKUP")
    assert b"\xa9worker_id\xc0" in lookup.payloads[0]


def test_a_server_that_comes_back_is_reached_and_registered_with_again(talk):
    talk.stored()
    talk.server.restart()
    assert talk.ok("mp_noop") == {"text": "OK"}
    key, data = talk.stored()
    talk.ok("mp_lookup", key=key, tp_size=1)
    assert talk.ok("mp_retrieve", instance_id=1, key=key) == {"chunks": data}


def test_nothing_is_sent_to_a_server_that_comes_later(talk):
    talk.ok("mp_noop")
    talk.server.stop()
    assert kind(talk.ask("mp_clear")) == "timeout"
    with MpServer(talk.server.release, port=talk.server.port) as later:
        assert talk.ok("mp_noop") == {"text": "OK"}
        assert [exchange.operation for exchange in later.journal.exchanges()] == ["NOOP"]


def test_a_closed_connection_answers_so_and_is_not_counted(talk):
    talk.stored()
    assert talk.call("state").values["connections"] == 1
    assert talk.ask("close") == talk.ask("close") == Ok({})
    assert kind(talk.ask("mp_noop")) == "connection"
    assert talk.call("state").values["connections"] == 0


def test_a_name_that_is_taken_is_refused(talk):
    assert kind(talk.connect("c")) == "refused"


def test_another_wire_and_an_older_release_are_unsupported(talk):
    where = {"host": talk.server.host, "port": talk.server.port, "timeout_ms": 100}
    assert isinstance(talk.call("connect", connection="d", protocol="lm", release="0.5.6", **where), Unsupported)
    assert isinstance(talk.call("connect", connection="d", protocol="mp", release="0.3.9", **where), Unsupported)


@pytest.mark.parametrize("talk", ["0.4.6"], indirect=True)
def test_an_operation_that_the_release_lacks_is_unsupported(talk):
    assert isinstance(talk.ask("mp_unregister", instance_id=1), Unsupported)


def test_several_requests_on_one_connection_get_their_own_replies(talk):
    talk.server.misbehave("swap-replies:nth=1..2")
    calls = [Call("mp_noop", {"connection": "c"}), Call("mp_chunk_size", {"connection": "c"})] * 4
    answers = talk.session.call_all(calls, deadline=20.0)
    assert [answer.values for answer in answers] == [{"text": "OK"}, {"chunk_size": 16}] * 4


class Planted:
    """Whoever loads it tells."""

    def __reduce__(self):
        return (open, ("/nonexistent/lmconform-was-here", "w"))


def test_a_planted_pickle_is_refused_and_not_loaded(pickled, monkeypatch):
    key, _ = pickled.stored()
    pickled.ok("mp_lookup", key=key, tp_size=1)
    planted = {"success": True, "data": pickle.dumps([Planted()]), "context": {}}
    reply = encode_reply(operation_table(Release.parse("0.5.6")), "PREPARE_RETRIEVE", planted)
    ask = pickled.session._client.connection_class.ask

    def forged(self, frames, until):
        answered = ask(self, frames, until)
        return reply if frames[0] == reply[0] else answered

    monkeypatch.setattr("harness.reference.mp.connection.MpConnection.ask", forged)
    answer = pickled.ask("mp_retrieve", instance_id=1, key=key)
    assert kind(answer) == "protocol"
    assert "open" in answer.message


@pytest.mark.parametrize("name", ["", "/", "a/b", "..", "lmconform-there-is-none"])
def test_memory_that_is_not_there_is_refused(name):
    with pytest.raises(ClientError) as caught:
        Pool(name, 4096)
    assert caught.value.kind == "refused"


def test_memory_that_the_server_cuts_off_afterwards_is_refused(talk):
    key, _ = talk.stored()
    talk.ok("mp_lookup", key=key, tp_size=1)
    os.truncate(SHARED_FOLDER / talk.server.mock.shm_name, 0)
    answer = talk.ask("mp_retrieve", instance_id=1, key=key)
    assert kind(answer) == "refused"
    assert "cut" in answer.message
    other = {**talk.keys(1), "cache_salt": "other"}
    store = talk.ask("mp_store", instance_id=1, key=other, chunks=talk.keys.chunks(1, talk.context))
    assert kind(store) == "refused"
    assert talk.asked("COMMIT_STORE") == ["COMMIT_STORE"]


class Endless:
    """A socket on which there is always another message, up to a number that nobody may read at once."""

    def __init__(self):
        self.left = 10_000

    def recv_multipart(self, _):
        self.left -= 1
        assert self.left, "nothing else is done while messages come in"
        return [b"nobody", b"noise"]


def test_a_server_that_never_stops_to_send_keeps_nobody_from_being_sent_to(talk):
    connection = MpConnection(talk.server.host, talk.server.port, 2.0)
    connection.close()
    connection._socket = Endless()
    connection._receive_all()
    assert connection._socket.left > 0
