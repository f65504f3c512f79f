"""The plugin that misbehaves inside a server: it passes everything on, and each fault changes something."""

import json
import os

import pytest

from harness.l2.served import faulty
from harness.l2.served.faults import ENDING, FAULTS, LASTING, STARTING, Fault
from harness.l2.served.faulty import Faulty, PluginError

KEYS = ["a", "b", "c"]
IN_COMPLETIONS = [
    fault.name
    for fault in FAULTS
    if fault.lookups == 1
    and fault.name not in {*STARTING, *ENDING, *LASTING}
    and not fault.name.endswith(("raises", "-thread", "-blocks", "-no-id", "writes-late"))
]


class Inner:
    """Completes at once what it is asked."""

    submit_batch_delete = None

    def __init__(self):
        self.fd = os.eventfd(0, os.EFD_NONBLOCK)
        self.held, self.done, self.number = {}, [], 0
        self.closed = False

    def event_fd(self):
        return self.fd

    def complete(self, result):
        self.number += 1
        self.done.append((self.number, True, "", result))
        os.eventfd_write(self.fd, 1)
        return self.number

    def submit_batch_set(self, keys, buffers):
        self.held.update({key: bytes(one) for key, one in zip(keys, buffers, strict=True)})
        return self.complete(None)

    def submit_batch_get(self, keys, buffers):
        for key, one in zip(keys, buffers, strict=True):
            one[:] = self.held.get(key, bytes(one))
        return self.complete([key in self.held for key in keys])

    def submit_batch_exists(self, keys):
        return self.complete([key in self.held for key in keys])

    def drain_completions(self):
        found, self.done = self.done, []
        if found:
            os.eventfd_read(self.fd)
        return found

    def close(self):
        self.closed = True
        os.close(self.fd)


@pytest.fixture
def switch(tmp_path):
    path = tmp_path / "switch"
    path.touch()
    return path


@pytest.fixture
def make(switch, tmp_path):
    def make(fault=""):
        switch.write_text(fault)
        place = {"module": __name__, "class_name": Inner.__name__, "params": {}}
        return Faulty(switch=str(switch), journal=str(tmp_path / "journal"), **place)

    return make


def memory():
    return [memoryview(bytearray(b"%d" % number * 8)) for number in range(3)]


def used(plugin):
    """A store, a lookup and a load of three keys, each drained: the completions, and what was loaded."""
    found = []
    plugin.submit_batch_set(KEYS, memory())
    found.append(plugin.drain_completions())
    plugin.submit_batch_exists([*KEYS, "absent"])
    found.append(plugin.drain_completions())
    target = [memoryview(bytearray(8)) for _ in KEYS]
    plugin.submit_batch_get(KEYS, target)
    found.append(plugin.drain_completions())
    return found, [bytes(one) for one in target]


RIGHT = (
    [[(1, True, "", None)], [(2, True, "", [True, True, True, False])], [(3, True, "", [True, True, True])]],
    [b"0" * 8, b"1" * 8, b"2" * 8],
)


def test_without_a_fault_everything_is_passed_on(make):
    plugin = make()
    assert used(plugin) == RIGHT
    plugin.close()
    assert plugin._inner.closed


@pytest.mark.parametrize("fault", IN_COMPLETIONS)
def test_a_fault_in_completions_changes_one_of_them(make, switch, fault):
    plugin = make()
    switch.write_text(fault)
    assert used(plugin) != RIGHT
    switch.write_text("")
    plugin.submit_batch_exists(KEYS)
    assert plugin.drain_completions() == [(4, True, "", [True, True, True])]


@pytest.mark.parametrize(("fault", "raised"), [("raises", PluginError), ("ends-the-thread", SystemExit)])
def test_a_submit_raises(make, switch, fault, raised):
    plugin = make()
    for operation, call in (
        ("set", lambda: plugin.submit_batch_set(KEYS, memory())),
        ("get", lambda: plugin.submit_batch_get(KEYS, memory())),
        ("exists", lambda: plugin.submit_batch_exists(KEYS)),
    ):
        switch.write_text(f"{operation}-{fault}")
        with pytest.raises(raised):
            call()


@pytest.mark.parametrize(("fault", "raised"), [("drain-raises", PluginError), ("drain-ends-the-thread", SystemExit)])
def test_a_drain_raises(make, switch, fault, raised):
    plugin = make()
    switch.write_text(fault)
    with pytest.raises(raised):
        plugin.drain_completions()


def test_a_submit_blocks_for_a_while(make, switch, monkeypatch):
    plugin, slept = make(), []
    monkeypatch.setattr(faulty.time, "sleep", slept.append)
    switch.write_text("exists-blocks")
    plugin.submit_batch_exists(KEYS)
    assert slept == [faulty.BLOCKED]


def test_a_submit_gives_no_number(make, switch):
    plugin = make()
    switch.write_text("get-gives-no-id")
    assert plugin.submit_batch_get(KEYS, memory()) is None


def test_a_descriptor_is_readable_for_ever_or_closed_or_never_readable(make, switch):
    plugin = make()
    switch.write_text("fd-not-cleared")
    plugin.drain_completions()
    assert os.eventfd_read(plugin.event_fd()) == 1
    switch.write_text("fd-closed")
    plugin.submit_batch_exists(KEYS)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(plugin.event_fd())
    silent = make("fd-silent")
    silent.submit_batch_exists(KEYS)
    with pytest.raises(BlockingIOError):
        os.eventfd_read(silent.event_fd())


def test_a_load_is_overwritten_after_its_completion(make, switch, monkeypatch):
    plugin, later = make(), []

    class Timer:
        def __init__(self, seconds, write):
            later.append((seconds, write))

        def start(self):
            """Left to the test."""

    monkeypatch.setattr(faulty.threading, "Timer", Timer)
    switch.write_text("get-writes-late")
    found, loaded = used(plugin)
    assert (found, loaded) == RIGHT
    target = [memoryview(bytearray(8)) for _ in KEYS]
    plugin.submit_batch_get(KEYS, target)
    plugin.drain_completions()
    assert later[-1][0] == faulty.LATE
    later[-1][1]()
    assert [bytes(one) for one in target] == [b"\xdb" * 8] * 3


@pytest.mark.parametrize(("fault", "raised"), [("constructor-raises", PluginError), ("constructor-ends-the-thread", SystemExit)])
def test_a_constructor_raises(make, fault, raised):
    with pytest.raises(raised):
        make(fault)


def test_the_descriptor_is_refused(make):
    with pytest.raises(PluginError):
        make("event-fd-raises").event_fd()


def test_closing_raises(make, switch):
    plugin = make()
    switch.write_text("close-raises")
    with pytest.raises(PluginError):
        plugin.close()


def test_the_journal_tells_what_was_called_with_which_keys_and_memory(make, tmp_path):
    plugin = make()
    used(plugin)
    plugin.close()
    lines = [json.loads(line) for line in (tmp_path / "journal").read_text().splitlines()]
    assert [(line["op"], line["keys"], line["memory"]) for line in lines] == [
        ("set", KEYS, [["B", 1, False, 8]] * 3),
        ("exists", [*KEYS, "absent"], []),
        ("get", KEYS, [["B", 1, False, 8]] * 3),
        ("close", [], []),
    ]


def test_a_fault_that_meets_several_lookups_says_so_in_tables():
    assert Fault("a", 8).text == "a x8"
    assert len({fault.text for fault in FAULTS}) == len(FAULTS)
