"""Runs of kills: the reference plugin loses nothing, and defects are found."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from harness.l2.calls.watcher import why_not
from harness.l2.crashes.report import CrashReport
from harness.l2.crashes.run import CrashRun
from harness.l2.session import PluginSession
from harness.l2.spec import parse_plugin
from wire.release import Release

RELEASE = Release.parse("0.5.6")


@contextmanager
def session(plugin: str) -> Iterator[PluginSession]:
    found = PluginSession(parse_plugin(plugin), release=RELEASE)
    try:
        yield found
    finally:
        found.stop()


def run(plugin: str, kills: int, seed: int = 1) -> CrashReport:
    with session(plugin) as opened:
        return CrashRun(opened, RELEASE, kills, seed, findings=1).run()


def test_the_reference_plugin_loses_nothing() -> None:
    found = run("reference", 8)
    assert found.findings == []
    assert found.all_kills == 8
    assert found.after_crash.whole > 0
    assert "0 lost, 0 wrong" in "\n".join(found.lines())


@pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
def test_a_seed_makes_the_same_kills() -> None:
    assert run("reference", 3, seed=4).kills == run("reference", 3, seed=4).kills


def test_a_plugin_that_acknowledges_too_early_is_found() -> None:
    found = run("mutant:l2-acknowledged-before-written", 20)
    assert {finding.fault.kind for finding in found.findings} == {"lost"}
    assert f"{len(found.findings)} lost, 0 wrong" in "\n".join(found.lines())
