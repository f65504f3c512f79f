"""What a run knows of the plugin that it judges."""

import pytest

from harness.client import Budget, ClientFailure, ClientHang, ClientUnavailable, NotAsked
from harness.judged import SubjectOptions
from harness.l2.session import PluginSession, open_plugin
from harness.l2.spec import parse_plugin
from harness.usage import UsageError
from wire.release import Release

RELEASE = Release.parse("0.5.6")


def test_a_session_tells_what_the_plugin_has(session_of):
    tiny, child = session_of("Tiny"), session_of("HasAChild", params='{"folder": "{dir}"}')
    assert tiny.description.name == "Tiny"
    assert set(tiny.description.operations) == {"native_plugin"}
    assert set(child.description.operations) == {"native_plugin", "statistics", "folder"}


def test_the_reference_has_everything_and_brings_its_backend_along():
    session = open_plugin(SubjectOptions("reference", releases=[RELEASE], budget=Budget()))
    try:
        assert {"native_plugin", "delete", "statistics", "corrupt", "folder", "backend"} <= set(session.description.operations)
    finally:
        session.stop()


def test_folders_go_with_the_session(session_of):
    session = session_of("Tiny")
    folder = session.open().folder
    assert folder.is_dir()
    session.stop()
    assert not folder.exists()


def test_a_new_case_ends_the_plugins_of_the_one_before(session_of):
    session = session_of("Talks")
    plugin = session.open()
    plugin.lookup(["a"])
    assert "a line on standard error" in session.stderr
    session.mark()
    assert not plugin.alive
    assert session.stderr == ""


def test_a_plugin_that_always_hangs_is_not_asked_for_ever(session_of):
    plugin = session_of("NeverCompletes", call=0.01).open()
    ends = set()
    for _ in range(50):
        with pytest.raises(ClientFailure) as caught:
            plugin.lookup(["a"])
        ends.add(caught.type)
    assert ends == {ClientHang, NotAsked}


def test_a_backend_that_nobody_gives_is_missed():
    with pytest.raises(ClientUnavailable, match="give --backend"):
        PluginSession(parse_plugin("m:C", None, '{"url": "{backend}"}'), release=RELEASE)


def test_a_backend_that_nobody_wants_is_refused():
    with pytest.raises(UsageError, match="is of no use"):
        open_plugin(SubjectOptions("reference", releases=[RELEASE], backend="m:C"))
