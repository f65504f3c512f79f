"""The store keeps what it is given, without copying it."""

from __future__ import annotations

import dataclasses
from collections import deque

from mockserver import buffers
from mockserver.buffers import MAPPED_FROM, writable
from mockserver.lm.replies import Replies
from mockserver.lm.requests import ServerRequest
from mockserver.store import Store, StoredValue
from wire.keys import CacheKey
from wire.lm.frames import NOTHING
from wire.lm.profile import lm_profile
from wire.release import Release

KEY = CacheKey("model", 1, 0, 0xAB, "float16")
OTHER = dataclasses.replace(KEY, layer=3)


def test_values_are_found_by_equal_keys_and_not_copied():
    store = Store()
    value = StoredValue(memoryview(b"data"), NOTHING)
    store.put(KEY, value)
    assert store.get(dataclasses.replace(KEY)) is value
    assert store.get(OTHER) is None
    assert store.contains(KEY)
    assert OTHER not in store
    assert len(store) == 1


def test_a_cut_value_exists():
    store = Store()
    store.put(KEY, StoredValue(None, NOTHING))
    assert KEY in store
    assert store.get(KEY).data is None


def test_keys_are_listed_oldest_first_and_cleared():
    store = Store()
    store.put(OTHER, StoredValue(b"1", NOTHING))
    store.put(KEY, StoredValue(b"2", NOTHING))
    assert store.keys() == [OTHER, KEY]
    store.clear()
    assert store.keys() == []


def test_preloaded_values_are_served(start, dial):
    server = start()
    server.preload("model@1@0@ab@half", dataclasses.replace(NOTHING, length=4), b"data")
    client = dial(server)
    client.request("GET")
    assert client.reply().about.length == 4
    assert client.read(4) == b"data"


def test_buffers_of_every_size_can_be_filled():
    for size in (0, 1, 1 << 20, 3 << 20):
        buffer = writable(size)
        assert len(buffer) == size
        buffer[:] = b"x" * size
        assert buffer.toreadonly() == b"x" * size


def test_a_large_buffer_is_used_again_once_nobody_holds_it(monkeypatch):
    monkeypatch.setattr(buffers, "_mappings", deque())
    first, second = writable(MAPPED_FROM), writable(MAPPED_FROM)
    first[:5], second[:5] = b"first", b"other"
    part = first[1:4].toreadonly()
    del first
    third = writable(MAPPED_FROM)
    assert bytes(part) == b"irs"
    third[:5] = b"third"
    assert bytes(part) == b"irs"
    del part
    again = writable(MAPPED_FROM)
    assert bytes(again[:5]) == b"first"
    assert (bytes(second[:5]), bytes(third[:5])) == (b"other", b"third")


def test_of_large_buffers_no_more_is_kept_than_a_few():
    held = [writable(MAPPED_FROM) for _ in range(20)]
    del held
    assert sum(map(len, buffers._mappings)) <= buffers._REMEMBERED


def test_an_answer_that_is_kept_with_a_value_is_that_of_the_server_that_asks():
    store = Store()
    store.put(KEY, StoredValue(b"payload", dataclasses.replace(NOTHING, length=7)))
    request = ServerRequest("GET", KEY, "key", NOTHING)
    old, new = (Replies(lm_profile(Release.parse(release))) for release in ("0.3.2", "0.5.6"))
    answers = [replies.answer(request, store) for replies in (old, new, old, new, new)]
    assert [len(answer.header) for answer in answers] == [32, 36, 32, 36, 36]
    assert {bytes(answer.body) for answer in answers} == {b"payload"}
    assert answers[3] is answers[4]
