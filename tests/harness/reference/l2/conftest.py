"""The reference plugin over a folder, and a gateway for it."""

import contextlib

import pytest
from plugin_caller import Caller

from harness.reference.l2 import ReferencePlugin
from harness.reference.l2.gateway.backend import GatewayBackend


@pytest.fixture
def opened(tmp_path):
    """Open plugins, over one folder unless another or a gateway is named; all are closed at the end."""
    with contextlib.ExitStack() as ends:

        def start(kind=ReferencePlugin, **params):
            place = {} if "gateway" in params else {"folder": str(tmp_path / "objects-of-the-test")}
            plugin = kind(**{**place, "durable": False, "fragment_size": 1000, **params})
            ends.callback(plugin.close)
            return Caller(plugin)

        yield start


@pytest.fixture
def gateway():
    """A gateway that runs."""
    backend = GatewayBackend()
    backend.start()
    yield backend
    backend.close()
