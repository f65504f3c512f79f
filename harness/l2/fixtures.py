"""The fixtures of cases about storage plugins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from harness.case import Cell, spec_of
from harness.failure import UnsupportedByClient
from harness.judge import Judge
from harness.l2.adapter_calls import AdapterCalls
from harness.l2.keys import L2Keys
from harness.l2.plugin_process import Plugin
from harness.l2.served.engine import Engine
from harness.l2.served.server import ServedPlugin
from harness.l2.served.servers import PluginRefused
from harness.l2.session import PluginSession
from harness.plugin import matrix_of

NEEDS: Final = {
    "native_plugin": "it is a plugin of another type",
    "plugin": "it is a plugin of another type",
    "delete": "it cannot delete",
    "usage": "it does not tell what it uses",
    "statistics": "it tells nothing of itself: it has neither statistics() nor report_status()",
    "corrupt": "stored bytes cannot be damaged: it has no lmconform_corrupt",
    "folder": "its parameters do not name a folder by {dir}",
    "listeners": "the release has no listeners",
    "listing": "it does not list its keys",
    "survives-power": 'it does not say that its objects survive a loss of power (lmconform_durability = "power")',
    "backend": "its parameters do not name a backend by {backend}",
}
"""Why a plugin lacks what a case needs."""


@pytest.fixture
def plugins(request: pytest.FixtureRequest, cell: Cell) -> Iterator[PluginSession]:
    """Makes instances of the plugin under test, which has what the case needs; their processes end with the case."""
    session = matrix_of(request.config).judged()
    assert isinstance(session, PluginSession)
    spec = spec_of(request.function)
    assert spec is not None
    lacking = next((what for what in spec.needs if what not in session.description.operations), None)
    if lacking is not None:
        raise UnsupportedByClient(lacking, NEEDS.get(lacking, "the plugin does not have it"))
    session.require(spec.needs)
    session.mark()
    session.use(cell.release)
    yield session
    session.end_plugins()


@pytest.fixture
def plugin(plugins: PluginSession) -> Plugin:
    """The plugin under test, opened in a process and a folder of its own."""
    return plugins.open()


@pytest.fixture
def adapter(plugin: Plugin) -> AdapterCalls:
    """The same, for cases about the calls of kind ``plugin``."""
    return AdapterCalls(plugin)


@pytest.fixture
def served(request: pytest.FixtureRequest, cell: Cell, judge: Judge, plugins: PluginSession) -> ServedPlugin:
    """A real server of the release that has the plugin, and nothing to do; the cases of a release share it."""
    try:
        return plugins.servers(matrix_of(request.config).live_mp.runtime).get(cell.release)
    except PluginRefused as refused:
        judge.fail(
            f"a server of lmcache {cell.release} does not start with the plugin; it does without",
            cite="PLUG-HOST-001",
            client_answered=str(refused),
            conformant_answer="a server that answers NOOP",
        )


@pytest.fixture
def engine(served: ServedPlugin) -> Iterator[Engine]:
    """What stores and loads there: a model of its own, over a connection of its own."""
    with served.engine() as engine:
        yield engine


@pytest.fixture
def l2_keys(cell: Cell) -> L2Keys:
    """Makes keys of objects that no other case uses."""
    return L2Keys(cell.release)
