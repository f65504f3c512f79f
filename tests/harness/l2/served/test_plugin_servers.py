"""Real servers with the plugin under test: one for each release, and whose fault it is where one does not start."""

import contextlib

import pytest

from fixturegen.errors import EnvironmentUnavailable
from harness.failure import TargetUnavailable
from harness.l2.served import servers as module
from harness.l2.served.servers import PluginRefused, PluginServers
from harness.l2.spec import parse_plugin
from wire.release import Release

NEW, OTHER, WITHOUT_DATA = Release.parse("0.5.6"), Release.parse("0.5.4"), Release.parse("0.4.5")


class Served:
    """A server that does nothing."""

    def __init__(self):
        self.server = self
        self.answers = self.rests = True
        self.log = None

    def alive(self):
        return self.answers

    def idle(self, _patience):
        return self.rests


class Environment:
    """Starts nothing, and remembers what it was asked for."""

    def __init__(self):
        self.places, self.running = [], []
        self.broken_plugin = self.broken = self.missing = False

    def prepare(self, release):
        if self.missing:
            raise EnvironmentUnavailable(f"no wheel of {release}")

    @contextlib.contextmanager
    def served(self, _environment, release, place, _folder, *, imports):
        if self.broken or self.broken_plugin:
            raise EnvironmentUnavailable("ended with status 1: the log")
        self.places.append((release, place, imports))
        one = Served()
        self.running.append(one)
        yield one
        self.running.remove(one)

    @contextlib.contextmanager
    def mp_server(self, _release, _launch):
        if self.broken:
            raise EnvironmentUnavailable("no module named zmq")
        yield


@pytest.fixture
def environment(monkeypatch):
    found = Environment()
    monkeypatch.setattr(module, "open_environment", lambda _: found)
    monkeypatch.setattr(module, "served", found.served)
    return found


@pytest.fixture
def make(tmp_path):
    return lambda spec=None: PluginServers(spec or parse_plugin("reference"), lambda: tmp_path)


def test_cases_of_a_release_share_a_server(environment, make):
    servers = make()
    assert servers.get(NEW) is servers.get(NEW)
    assert servers.get(OTHER) is not servers.get(NEW)
    assert [str(release) for release, _, _ in environment.places] == ["0.5.6", "0.5.4"]
    servers.close()
    assert environment.running == []


@pytest.mark.parametrize("left", ["answers", "rests"])
def test_a_server_that_a_case_left_silent_or_busy_is_started_again(environment, make, left):
    servers = make()
    first = servers.get(NEW)
    setattr(first, left, False)
    second = servers.get(NEW)
    assert second is not first
    assert environment.running == [second]


def test_the_plugin_is_made_with_its_parameters_and_nothing_but_its_package_is_importable(environment, make, tmp_path):
    make().get(NEW)
    ((_, place, imports),) = environment.places
    assert (place.kind, place.module, place.class_name) == ("native_plugin", "harness.reference.l2.plugin", "ReferencePlugin")
    assert place.params == {"folder": str(tmp_path)}
    assert [path.name for path in imports] == ["harness"]


def test_a_file_is_importable_under_its_name(environment, make, tmp_path):
    (tmp_path / "mine.py").touch()
    make(parse_plugin(f"{tmp_path}/mine.py:Mine")).get(NEW)
    ((_, place, imports),) = environment.places
    assert (place.module, place.class_name, imports) == ("mine", "Mine", (tmp_path / "mine.py",))


def test_an_adapter_of_lmcache_itself_is_named_by_its_type(environment, make):
    make(parse_plugin("lmcache:fs", None, '{"base_path": "{dir}/store"}')).get(NEW)
    ((_, place, imports),) = environment.places
    assert place.adapter().startswith('{"type": "fs", "base_path": "')
    assert imports == ()


def test_a_server_that_starts_without_the_plugin_alone_is_refused_by_the_plugin_at_once_the_next_time(environment, make):
    servers = make()
    environment.broken_plugin = True
    with pytest.raises(PluginRefused, match="ended with status 1: the log"):
        servers.get(NEW)
    environment.broken_plugin = False
    with pytest.raises(PluginRefused):
        servers.get(NEW)
    assert environment.places == []


def test_a_server_that_does_not_start_without_the_plugin_either_is_not_its_fault(environment, make):
    environment.broken = True
    with pytest.raises(TargetUnavailable, match="not even without the plugin: no module named zmq"):
        make().get(NEW)


def test_a_release_that_cannot_be_had_is_not_its_fault(environment, make):
    environment.missing = True
    with pytest.raises(TargetUnavailable, match=r"no wheel of 0\.5\.6; without live in --target none is needed"):
        make().get(NEW)


REASON = r"no live server of lmcache 0\.4\.5 can use a plugin: KV data moves through CUDA alone"


def test_a_release_that_moves_no_data_has_no_server_for_plugins(make):
    with pytest.raises(
        TargetUnavailable, match=r"no live server of lmcache 0\.4\.5 can use a plugin: KV data moves through CUDA alone"
    ):
        make().get(WITHOUT_DATA)
