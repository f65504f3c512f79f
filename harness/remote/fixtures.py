"""The fixtures of cases about remote connectors."""

from __future__ import annotations

import pytest

from harness.case import Cell
from harness.remote.chunks import Chunks
from harness.remote.connector import Connector
from harness.remote.session import Connectors

NAMES = ("chunks", "connector")


@pytest.fixture
def connector(connectors: Connectors) -> Connector:
    """The connector under test, opened in an engine and a folder of its own; the engine ends with the case."""
    return connectors.open()


@pytest.fixture
def chunks(cell: Cell) -> Chunks:
    """Makes keys and chunks that no other case uses."""
    return Chunks(cell.release)
