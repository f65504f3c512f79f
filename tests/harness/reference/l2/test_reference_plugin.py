"""The reference plugin over a folder: what it keeps, what it counts, and how it behaves as a guest of the server."""

import ast
import select
import sys
import threading
import time
from pathlib import Path

import pytest
from plugin_caller import BLANK, view_of

import harness.reference.l2 as package
from harness.reference.l2 import ReferencePlugin
from harness.reference.l2.outcomes import Outcome

OBJECTS = {
    f"model@00000000@0@{size:064x}": bytes(number % 251 for number in range(size)) for size in (0, 1, 999, 1000, 1001, 5000)
}
KEY = "model@00000000@0@beef"


class Gate(ReferencePlugin):
    """Holds every store until the gate is opened."""

    def __init__(self, **params):
        self.gate = threading.Event()
        self.began = threading.Semaphore(0)
        super().__init__(**params)

    def _store(self, key, source, until):
        self.began.release()
        assert self.gate.wait(20)
        return super()._store(key, source, until)


def test_what_was_stored_is_loaded(opened):
    plugin = opened()
    assert plugin.store(OBJECTS).ok
    found, content = plugin.load({key: len(data) for key, data in OBJECTS.items()})
    assert all(found.values())
    assert content == OBJECTS


def test_a_miss_leaves_its_buffer_alone_and_the_others_whole(opened):
    plugin = opened()
    plugin.store({"a": b"first", "c": b"third"})
    found, content = plugin.load({"a": 5, "b": 5, "c": 5})
    assert found == {"a": True, "b": False, "c": True}
    assert content == {"a": b"first", "b": bytes([BLANK]) * 5, "c": b"third"}


def test_another_instance_finds_it(opened):
    opened().store({KEY: b"bytes"})
    assert opened().holds(KEY, b"bytes")


def test_a_buffer_of_another_size_is_a_miss_and_the_object_stays(opened):
    plugin = opened()
    plugin.store({KEY: b"bytes"})
    assert plugin.load({KEY: 6})[0] == {KEY: False}
    assert plugin.holds(KEY, b"bytes")
    assert plugin.count("mismatched", "missed") == (1, 0)


def test_a_key_that_is_there_is_not_written_again(opened, tmp_path):
    plugin = opened()
    plugin.store({KEY: b"bytes"})
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert plugin.store({KEY: b"other"}).ok
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path in before} == before
    assert plugin.count("stored", "deduplicated") == (1, 1)
    assert plugin.holds(KEY, b"bytes")


def test_an_object_of_another_size_takes_the_place_of_the_old_one(opened):
    plugin = opened()
    plugin.store({KEY: b"bytes"})
    plugin.store({KEY: b"more bytes"})
    assert plugin.holds(KEY, b"more bytes")


def test_of_two_stores_under_way_one_writes(opened):
    plugin = opened(Gate)
    numbers = [plugin.submit_store({KEY: b"bytes"}) for _ in range(3)]
    plugin.plugin.gate.set()
    assert all(plugin.wait(number).ok for number in numbers)
    assert plugin.count("stored", "deduplicated") == (1, 2)


def test_a_deleted_object_is_gone_and_can_be_stored_again(opened):
    plugin = opened()
    plugin.store({"a": b"first", "b": b"second"})
    assert plugin.delete(["a", "c"]) == [True, False]
    assert plugin.look(["a", "b", "c"]) == [False, True, False]
    plugin.store({"a": b"third"})
    assert plugin.holds("a", b"third")


@pytest.mark.parametrize(
    "key", ["k" * 3000, "../../up", "a/b\\c", "nul\0", "mo:del*?", "ключ", "", "a@b"], ids=lambda key: ascii(key[:8])
)
def test_any_text_is_a_key(opened, key):
    plugin = opened()
    plugin.store({key: b"bytes"})
    assert plugin.holds(key, b"bytes")
    assert plugin.look([key.upper() + "x", key + "x", key[:-1] + "y"]) == [False] * 3


def test_a_batch_beyond_the_backlog_is_refused_at_once_and_counted(opened):
    plugin = opened(Gate, backlog_objects=2)
    first = plugin.submit_store({"a": b"1", "b": b"2"})
    refused = plugin.store({"c": b"3"})
    assert not refused.ok
    assert "backlog" in refused.error
    assert plugin.count("rejected", "backlog_objects", "backlog_bytes") == (1, 2, 2)
    plugin.plugin.gate.set()
    assert plugin.wait(first).ok
    assert plugin.count("backlog_objects", "backlog_bytes") == (0, 0)
    assert plugin.store({"c": b"3"}).ok


def test_the_backlog_is_limited_in_bytes_too(opened):
    plugin = opened(backlog_bytes=10)
    assert plugin.store({"a": b"ten bytes!"}).ok
    assert not plugin.store({"b": b"more than ten"}).ok


def test_loads_do_not_wait_for_stores(opened):
    opened().store({KEY: b"bytes"})
    plugin = opened(Gate, threads=2)
    stores = [plugin.submit_store({f"{number}": b"x"}) for number in range(20)]
    plugin.plugin.began.acquire()
    assert plugin.holds(KEY, b"bytes")
    assert plugin.look([KEY]) == [True]
    plugin.plugin.gate.set()
    assert all(plugin.wait(number).ok for number in stores)


def test_with_one_thread_a_load_goes_ahead_of_the_stores_that_wait(opened):
    opened().store({KEY: b"bytes"})
    plugin = opened(Gate, threads=1)
    stores = [plugin.submit_store({f"{number}": b"x"}) for number in range(5)]
    plugin.plugin.began.acquire()
    view, memory = view_of(bytes(5))
    load = plugin.plugin.submit_batch_get([KEY], [view])
    plugin.plugin.gate.set()
    order = []
    poller = select.poll()
    poller.register(plugin.plugin.event_fd(), select.POLLIN)
    while len(order) < 6:
        assert poller.poll(20_000)
        order += [number for number, *_ in plugin.plugin.drain_completions()]
    assert order == [stores[0], load, *stores[1:]]
    assert bytes(memory) == b"bytes"


def test_the_descriptor_is_readable_until_everything_is_drained(opened):
    plugin = opened().plugin
    poller = select.poll()
    poller.register(plugin.event_fd(), select.POLLIN)
    assert not poller.poll(0)
    numbers = {plugin.submit_batch_exists(["a"]) for _ in range(5)}
    drained = []
    while len(drained) < 5:
        assert poller.poll(20_000)
        assert poller.poll(0), "a poll must not consume the readiness"
        drained += plugin.drain_completions()
        assert plugin.drain_completions() == [] or len(drained) < 5
    assert not poller.poll(0)
    assert {number for number, *_ in drained} == numbers


def test_close_ends_though_a_store_is_stuck_and_no_buffer_is_touched_afterwards(opened):
    plugin = opened(Gate, close_wait=0.2).plugin
    view, _ = view_of(b"bytes")
    plugin.submit_batch_set([KEY], [view])
    plugin.began.acquire()
    waiting = plugin.submit_batch_set(["later"], [view])
    began = time.monotonic()
    plugin.close()
    assert time.monotonic() - began < 5
    view.release()  # raises BufferError while somebody holds a part of it
    plugin.gate.set()
    assert [(number, ok) for number, ok, _, _ in plugin.drain_completions()][:1] == [(waiting, False)]
    with pytest.raises(RuntimeError, match="closed"):
        plugin.submit_batch_exists(["a"])


def test_a_batch_of_unequal_lists_is_refused(opened):
    with pytest.raises(ValueError, match="2 keys came with 1 buffers"):
        opened().plugin.submit_batch_set(["a", "b"], [view_of(b"x")[0]])


@pytest.mark.parametrize(("params", "words"), [({"folder": ""}, "neither folder nor gateway"), ({"threads": 0}, "threads is 0")])
def test_senseless_parameters_are_refused(opened, params, words):
    with pytest.raises(ValueError, match=words):
        opened(**params)


def test_an_unexpected_error_still_completes_the_batch(opened):
    class Broken(ReferencePlugin):
        def _load(self, *_):
            raise ArithmeticError("odd")

    plugin = opened(Broken)
    plugin.store({KEY: b"bytes"})
    number = plugin.plugin.submit_batch_get([KEY], [view_of(b"12345")[0]])
    ended = plugin.wait(number)
    assert (ended.ok, ended.error, ended.each) == (False, "ArithmeticError: odd", [False])


def test_every_outcome_is_counted_by_its_name(opened):
    assert set(opened().plugin.statistics()) == {*(outcome.value for outcome in Outcome), "backlog_objects", "backlog_bytes"}


def test_it_imports_nothing_but_the_standard_library_and_itself_and_python_3_10_reads_it():
    for path in Path(package.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 10))):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                assert name.partition(".")[0] in sys.stdlib_module_names or name.startswith("harness.reference.l2"), path
