"""The fixtures of cases about remote connectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest

from harness.case import Cell, spec_of
from harness.plugin import matrix_of
from harness.remote.chunks import Chunks
from harness.remote.connector import Connector
from harness.remote.session import Connectors, ConnectorSession


@pytest.fixture
def connectors(request: pytest.FixtureRequest, cell: Cell) -> Iterator[Connectors]:
    """Opens connectors under test, all in a folder of this case; what is open at its end is left as a crash would leave it."""
    session = cast("ConnectorSession", matrix_of(request.config).judged())
    spec = spec_of(request.function)
    assert spec is not None
    session.require(spec.needs)
    session.mark()
    yield Connectors(session, cell.release)
    session.end_case()


@pytest.fixture
def connector(connectors: Connectors) -> Connector:
    """The connector under test, opened in an engine and a folder of its own."""
    return connectors.open()


@pytest.fixture
def chunks(cell: Cell) -> Chunks:
    """Makes keys and chunks that no other case uses."""
    return Chunks(cell.release)
