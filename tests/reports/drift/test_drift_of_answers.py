"""Answers of a server to come, for the same conversations."""

import struct

from future_captures import heard

from reports.drift.model import Aspect, Level, Levels

OK = struct.pack("<9i", 200, 0, 1, 2, 0, 0, 0, 0, 0).hex()


def commands(transcript, index):
    return [struct.unpack_from("<i", header)[0] for header in heard(transcript, index)]


def test_an_answer_to_list_is_one_change_that_breaks_clients_that_load(future, the_change):
    def answered(transcript, index, got):
        heard_before = commands(transcript, index)
        return {"bytes": OK, "closed": False} if heard_before and heard_before[-1] == 4 and not got["closed"] else None

    change = the_change(future.retold(answered).drift())
    assert change.aspect is Aspect.ANSWERS
    assert change.title == "LIST: SUCCESS, not silence"
    assert change.levels == Levels(Level.NONE, Level.BREAKING, Level.BREAKING)
    assert change.must == "Expect from 9.9.9: SUCCESS."
    assert "lm.server.list-silent (LIST is never answered; the connection stays usable.)" in change.detail[0]
    assert change.examples[0].before.text == "silence"


def test_a_reply_to_put_breaks_clients_that_store(future):
    def answered(transcript, index, got):
        heard_before = commands(transcript, index)
        silent = got.get("bytes") == "" and not got["closed"]
        return {"bytes": OK, "closed": False} if silent and heard_before and heard_before[-1] == 1 else None

    drift = future.retold(answered).drift()
    assert [change.title for change in drift.changes] == ["PUT: SUCCESS, not silence"]
    assert drift.levels == Levels(Level.BREAKING, Level.NONE, Level.BREAKING)


def test_the_same_change_in_many_conversations_is_told_once(future, the_change):
    """HEALTH answers with another dtype, in every conversation that ends with it."""

    def other_dtype(transcript, index, got):
        heard_before = commands(transcript, index)
        if not heard_before or heard_before[-1] != 5 or len(got.get("bytes", "")) != 72:
            return None
        return {**got, "bytes": got["bytes"][:24] + "03000000" + got["bytes"][32:]}

    drift = future.retold(other_dtype).drift()
    ordinary = [change for change in drift.changes if change.levels.worst is Level.BREAKING]
    assert [change.title for change in ordinary] == ["HEALTH: a reply with dtype bfloat16, not a reply with dtype float16"]
    assert ordinary[0].evidence > 20
    assert len(drift.changes) <= 2


def test_odd_input_that_is_answered_otherwise_is_behavioural(future, the_change):
    def refused_politely(transcript, _index, got):
        return {"bytes": OK, "closed": True} if transcript.id == "lm.server.bad-dtype-nine" and got["bytes"] == "" else None

    change = the_change(future.retold(refused_politely).drift())
    assert (
        change.title
        == "EXIST after odd input: SUCCESS, then the end of the connection, not the connection ends without an answer"
    )
    assert change.levels == Levels(Level.NONE, Level.BEHAVIOURAL, Level.BEHAVIOURAL)


def test_a_value_that_comes_back_otherwise_is_a_change(future):
    def spoiled(transcript, _index, got):
        if transcript.id != "lm.server.put-get" or len(got["bytes"]) <= 72:
            return None
        return {**got, "bytes": got["bytes"][:-2] + "00"}

    drift = future.retold(spoiled).drift()
    assert [change.aspect for change in drift.changes] == [Aspect.ANSWERS]
    assert drift.levels.loads is Level.BREAKING


def test_a_large_value_that_comes_back_otherwise_is_a_change(future, the_change):
    def spoiled(_transcript, _index, got):
        return {**got, "sha256": "0" * 64} if "sha256" in got else None

    assert the_change(future.retold(spoiled).drift()).aspect is Aspect.ANSWERS
