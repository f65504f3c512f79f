"""Which multiprocess servers start, how, and why others do not."""

import pytest

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
