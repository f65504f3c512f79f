"""Plugins of ``tiny_plugin.py``, opened for a test."""

from pathlib import Path

import pytest

from harness.client import Budget
from harness.l2.session import PluginSession
from harness.l2.spec import parse_plugin
from wire.release import Release

TINY = Path(__file__).with_name("tiny_plugin.py")
RELEASE = Release.parse("0.5.6")


@pytest.fixture
def session_of():
    """Makes sessions of a class, which end with the test."""
    opened = []

    def make(name, *, params=None, call=5.0):
        spec = parse_plugin(f"{TINY}:{name}", None, params)
        opened.append(PluginSession(spec, release=RELEASE, budget=Budget(start=20.0, call=call)))
        return opened[-1]

    yield make
    for session in opened:
        session.stop()


@pytest.fixture
def open_plugin(session_of):
    """Opens a class."""

    def make(name, **more):
        return session_of(name, **more).open()

    return make
