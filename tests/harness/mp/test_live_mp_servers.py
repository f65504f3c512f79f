"""Live multiprocess servers: started once for a release, again when nobody answers, and stopped together."""

import contextlib

import pytest

from fixturegen.errors import EnvironmentUnavailable
from harness.failure import TargetUnavailable
from harness.mp import targets
from harness.mp.targets import LiveMpServers
from wire.release import Release

NEW, OLD = Release.parse("0.5.6"), Release.parse("0.4.4")


class Started:
    host = "127.0.0.1"

    def __init__(self, port):
        self.port = port
        self.dead = False


class Environment:
    """Starts nothing, and remembers what it was asked for."""

    def __init__(self):
        self.asked = []
        self.running = []
        self.problem = None

    @contextlib.contextmanager
    def mp_server(self, release, launch, *, host):
        assert host == "127.0.0.1"
        if self.problem is not None:
            raise EnvironmentUnavailable(self.problem)
        self.asked.append((str(release), launch.shared_memory, launch.chunk_size))
        server = Started(6000 + len(self.asked))
        self.running.append(server)
        yield server
        self.running.remove(server)


@pytest.fixture
def environment(monkeypatch):
    found = Environment()
    monkeypatch.setattr(targets, "open_environment", lambda _: found)

    def answers(_release, _host, port):
        return any(server.port == port and not server.dead for server in found.running)

    monkeypatch.setattr(targets, "answers_noop", answers)
    return found


def test_a_server_is_started_once_for_a_release_and_a_kind_of_memory(environment):
    servers = LiveMpServers()
    assert servers.get(NEW) is servers.get(NEW)
    assert servers.get(NEW, shared_memory=False) is not servers.get(NEW)
    assert environment.asked == [("0.5.6", True, 16), ("0.5.6", False, 16)]


def test_a_release_without_shared_memory_has_one_server_for_both(environment):
    servers = LiveMpServers()
    assert servers.get(OLD) is servers.get(OLD, shared_memory=False)
    assert environment.asked == [("0.4.4", False, 16)]


def test_a_server_whose_message_thread_died_is_replaced(environment):
    servers = LiveMpServers()
    first = servers.get(NEW)
    environment.running[0].dead = True
    second = servers.get(NEW)
    assert first.port != second.port
    assert [server.port for server in environment.running] == [second.port]


def test_servers_are_stopped_together(environment):
    servers = LiveMpServers()
    servers.get(NEW)
    servers.get(OLD)
    servers.close()
    assert environment.running == []


def test_a_server_that_does_not_start_is_unavailable_with_the_reason_and_not_tried_again(environment):
    servers = LiveMpServers()
    environment.problem = "its wheel has no server"
    for _ in range(2):
        with pytest.raises(TargetUnavailable, match=r"server of lmcache 0\.5\.6: its wheel has no server"):
            servers.get(NEW)
        environment.problem = None
    assert environment.asked == []


def test_the_server_of_the_user_is_taken_as_it_is_and_must_answer(environment, monkeypatch):
    monkeypatch.setattr(targets, "may_be", lambda *_: True)
    environment.running.append(Started(7000))
    target = LiveMpServers(address=("127.0.0.1", 7000)).get(NEW)
    assert (target.port, target.live, environment.asked) == (7000, None, [])
    with pytest.raises(TargetUnavailable, match=r"does not answer as lmcache 0\.5\.6 does"):
        LiveMpServers(address=("127.0.0.1", 7001)).get(NEW)
