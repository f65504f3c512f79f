"""Which multiprocess servers start, how, and why others do not."""

import json
import sys

import pytest

from fixturegen.errors import EnvironmentUnavailable
from fixturegen.mp.launch import (
    CPU_TENSORS,
    GRPC,
    MODES,
    NEEDS_SHIM,
    NO_DATA_PATH,
    NO_SERVER,
    SHARED_MEMORY,
    STATUS_PATH,
    Launch,
    import_root,
    plugin_adapter,
)
from wire.mp.operations import FIRST_RELEASE
from wire.release import KNOWN_RELEASES, Release

WITH_PROTOCOL = [release for release in map(Release.parse, KNOWN_RELEASES) if release >= FIRST_RELEASE]


def releases_where(table):
    return [str(release) for release in WITH_PROTOCOL if table[release]]


def arguments(text, **asked):
    return Launch(**asked).arguments(Release.parse(text), "127.0.0.1", 5001, 5002, "pool")


def test_the_two_oldest_releases_alone_have_no_server_and_say_why():
    assert releases_where(NO_SERVER) == ["0.3.9.post1", "0.3.9.post2"]
    reason = Launch().refused(Release.parse("0.3.9.post2"))
    assert reason == "its wheel has the messages of the protocol, and no server that answers them"


def test_every_other_release_starts_in_the_mode_of_the_default():
    assert [release for release in WITH_PROTOCOL if NO_SERVER[release] is None and Launch().refused(release) is not None] == []


def test_servers_before_0_4_6_need_the_launcher_and_move_no_data():
    until_0_4_5 = [str(release) for release in WITH_PROTOCOL if Release.parse("0.3.10") <= release < Release.parse("0.4.6")]
    assert releases_where(NEEDS_SHIM) == until_0_4_5
    assert [text for text in releases_where(NO_DATA_PATH) if not text.startswith("0.3.9")] == until_0_4_5


@pytest.mark.parametrize(
    ("table", "first"), [(SHARED_MEMORY, "0.4.7"), (CPU_TENSORS, "0.5.5"), (GRPC, "0.5.6"), (STATUS_PATH, "0.4.1")]
)
def test_what_servers_can_do_begins_with_a_release_and_stays(table, first):
    assert releases_where(table) == [str(release) for release in WITH_PROTOCOL if release >= Release.parse(first)]


def test_a_mode_that_a_release_lacks_is_refused_with_the_reason():
    assert [mode for mode in MODES if Launch(mode=mode).refused(Release.parse("0.4.6")) is None] == ["engine"]
    assert "no lmcache-driven value" in Launch(mode="lmcache").refused(Release.parse("0.4.6"))


def test_grpc_is_refused_before_0_5_6():
    assert Launch(grpc=True).refused(Release.parse("0.5.5")) == "it speaks ZeroMQ alone"
    assert Launch(grpc=True).refused(Release.parse("0.5.6")) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0.3.10", ["lmcache.v1.multiprocess.server", "--cpu-buffer-size", "0.0625"]),
        ("0.4.1", ["lmcache.v1.multiprocess.http_server", "--l1-size-gb", "--disable-prometheus", "--http-port"]),
        ("0.4.6", ["--transfer-mode", "non_gpu", "--disable-metrics"]),
        ("0.4.7", ["--supported-transfer-mode", "non_gpu", "--shm-name=pool"]),
        ("0.5.6", ["lmcache.cli.main", "server", "engine_driven", "--shm-name=pool"]),
    ],
)
def test_a_server_is_asked_for_with_the_options_of_its_release(text, words):
    assert set(words) <= set(arguments(text))


def test_without_shared_memory_the_name_is_empty_which_no_release_takes_for_a_name():
    assert "--shm-name=" in arguments("0.5.4", shared_memory=False)


@pytest.mark.parametrize("release", [release for release in WITH_PROTOCOL if NO_SERVER[release] is None], ids=str)
def test_no_server_opens_a_port_that_we_did_not_choose(release):
    words = arguments(str(release))
    assert "127.0.0.1" in words
    assert "5001" in words
    if release >= Release.parse("0.3.15"):
        assert {"--disable-prometheus", "--disable-metrics"} & set(words)


@pytest.mark.parametrize(("kind", "first"), [("plugin", "0.4.2"), ("native_plugin", "0.4.3")])
def test_a_storage_plugin_is_refused_before_the_first_release_that_loads_its_kind(kind, first):
    launch = Launch(l2_adapters=(plugin_adapter(kind, "a.b", "C", {}),))
    refused = [release for release in WITH_PROTOCOL if launch.refused(release) and not Launch().refused(release)]
    assert all(launch.refused(release) == f"it has no storage plugins of type {kind}" for release in refused)
    assert refused == [release for release in WITH_PROTOCOL if Release.parse("0.3.10") <= release < Release.parse(first)]


def test_a_second_tier_that_lmcache_has_itself_is_not_refused():
    assert Launch(l2_adapters=('{"type": "fs"}',)).refused(Release.parse("0.4.1")) is None


def test_each_second_tier_is_an_option_in_the_order_given():
    words = arguments(
        "0.5.6", l2_adapters=('{"type": "mock"}', plugin_adapter("native_plugin", "mine.storage", "Mine", {"n": 1}))
    )
    first, second = [json.loads(words[at + 1]) for at, word in enumerate(words) if word == "--l2-adapter"]
    assert first == {"type": "mock"}
    assert second == {
        "type": "native_plugin", "module_path": "mine.storage", "class_name": "Mine", "adapter_params": {"n": 1}
    }  # fmt: skip


@pytest.fixture
def importable(tmp_path, monkeypatch):
    (tmp_path / "alone.py").touch()
    for name in ("package", "spread"):
        (tmp_path / name).mkdir()
    (tmp_path / "package" / "__init__.py").write_text("raise SystemExit('imported')")
    (tmp_path / "other" / "spread").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "other"), *sys.path])
    return tmp_path


@pytest.mark.parametrize(("module", "root"), [("alone", "alone.py"), ("package", "package"), ("package.deep.inside", "package")])
def test_the_root_of_a_module_is_found_without_importing_it(importable, module, root):
    assert import_root(module) == importable / root


def test_a_module_is_looked_for_in_the_given_folders_first(importable):
    (importable / "other" / "alone.py").touch()
    assert import_root("alone", [str(importable / "other")]) == importable / "other" / "alone.py"


def test_a_module_that_is_not_there_is_named(importable):
    with pytest.raises(EnvironmentUnavailable, match="no module 'lmconform_nowhere' is found"):
        import_root("lmconform_nowhere.inside")


@pytest.mark.parametrize("module", ["spread", "sys"])
def test_a_module_that_is_in_no_single_place_cannot_be_linked(importable, module):
    with pytest.raises(EnvironmentUnavailable, match=f"'{module}' is no package or module in one place"):
        import_root(module)
