"""The fixtures of cases about storage plugins."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.case import Cell
from harness.l2.keys import L2Keys
from harness.l2.plugin_process import Plugin
from harness.l2.session import PluginSession

NAMES = ("l2_keys", "plugin", "plugins")


@pytest.fixture
def plugin(plugins: PluginSession) -> Iterator[Plugin]:
    """The plugin under test, opened in a process and a folder of its own; the process ends with the case."""
    yield plugins.open()
    plugins.end_plugins()


@pytest.fixture
def l2_keys(cell: Cell) -> L2Keys:
    """Makes keys of objects that no other case uses."""
    return L2Keys(cell.release)
