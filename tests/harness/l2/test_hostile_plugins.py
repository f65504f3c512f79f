"""A plugin that does harm to its process, to the pipe or to memory is told apart from a fault of the harness."""

import pytest

from harness.client import Budget, ClientCrash, ClientHang, ClientTooLarge, ClientUnavailable
from harness.l2.host_process import PluginRaised
from harness.l2.session import PluginSession
from harness.l2.spec import parse_plugin
from tests.harness.l2.conftest import RELEASE, TINY

HOSTILE = TINY.with_name("hostile_plugin.py")


@pytest.fixture
def open_hostile():
    """Opens a class of ``hostile_plugin.py``."""
    sessions = []

    def make(name, *, call=5.0, memory=None):
        spec = parse_plugin(f"{HOSTILE}:{name}")
        sessions.append(PluginSession(spec, release=RELEASE, budget=Budget(start=20.0, call=call, memory=memory)))
        return sessions[-1].open()

    yield make
    for session in sessions:
        session.stop()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("RaisesFatal", "submit_batch_exists raised Fatal: not caught by most"),
        ("Leaves", "submit_batch_exists raised SystemExit: 0"),
        ("RaisesUnspeakable", r"raised Unspeakable: \(its message cannot be shown\)"),
        ("GivesInfinity", "gave inf; it must be a number"),
        ("GivesNoNumber", "a NoNumber that cannot be shown; it must be a number"),
        ("GivesVeryMuch", "gave a number of 16610 bits"),
        ("NoDescriptor", "event_fd gave -1, which is no descriptor"),
        ("HugeDescriptor", r"event_fd gave \d+, which is no descriptor"),
        ("DrainsNothingReadable", "the truth of it is ambiguous"),
    ],
)
def test_whatever_is_raised_or_given_is_the_plugins(open_hostile, name, said):
    with pytest.raises(PluginRaised, match=said):
        open_hostile(name).lookup(["a"])


def test_a_list_that_cannot_be_read_is_the_plugins(open_hostile):
    plugin = open_hostile("DrainsFatal")
    plugin.submit_lookup(["a"])
    with pytest.raises(PluginRaised, match="must be a list of tuples"):
        plugin.drain()


@pytest.mark.parametrize(
    "name",
    ["WritesText", "WritesHeader", "WritesDeep", "WritesHugeBlob", "WritesNegativeBlob", "WritesNoFailure", "ReplacesJson"],
)
def test_what_is_no_answer_is_told_and_ends_the_process(open_hostile, name):
    plugin = open_hostile(name)
    with pytest.raises(ClientCrash, match="writes to descriptors that are not its own"):
        plugin.lookup(["a"])
    assert not plugin.alive


def test_closed_descriptors_are_a_crash(open_hostile):
    with pytest.raises(ClientCrash):
        open_hostile("ClosesAll").lookup(["a"])


def test_a_stopped_process_is_a_hang_and_is_gone(open_hostile):
    plugin = open_hostile("Stops", call=0.2)
    plugin._process.grace = 0.2
    with pytest.raises(ClientHang):
        plugin.lookup(["a"])
    assert not plugin.alive


def test_memory_has_a_limit(open_hostile):
    plugin = open_hostile("Grows", call=60.0, memory=200 << 20)
    with pytest.raises(ClientTooLarge, match="used more than 209715200 bytes"):
        plugin.lookup(["a"])
    assert not plugin.alive


@pytest.mark.parametrize(("name", "said"), [("LoopedStatistics", "cannot be told"), ("HugeStatistics", "number of 16610 bits")])
def test_statistics_that_cannot_be_told_are_the_plugins(open_hostile, name, said):
    with pytest.raises(PluginRaised, match=said):
        open_hostile(name).statistics()


@pytest.mark.parametrize(("name", "said"), [("MakingExits", "SystemExit: 0"), ("HasBadNames", "nobody looks at this")])
def test_a_plugin_that_cannot_be_made_says_why(open_hostile, name, said):
    with pytest.raises(ClientUnavailable, match=said):
        open_hostile(name)
