"""Clients for the tests of the MP mock, and servers that are stopped when a test ends."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from mp_client import MpClient, key_of

from mockserver.mp import MpServer
from mockserver.mp.faults import parse_mp_plan


@pytest.fixture
def start() -> Iterator[Callable[..., MpServer]]:
    """Starts servers that are stopped when the test ends."""
    with contextlib.ExitStack() as stack:

        def start_one(release: str = "0.5.6", *faults: str, **options: Any) -> MpServer:
            return stack.enter_context(MpServer(release, faults=parse_mp_plan(faults), **options))

        yield start_one


@pytest.fixture
def dial() -> Iterator[Callable[..., MpClient]]:
    """Opens raw clients that are closed when the test ends."""
    with contextlib.ExitStack() as stack:

        def dial_one(server: MpServer, identity: bytes | None = None) -> MpClient:
            client = MpClient(server, identity)
            stack.callback(client.close)
            return client

        yield dial_one


@pytest.fixture
def key() -> Callable[..., dict[str, Any]]:
    """Makes keys."""
    return key_of


@pytest.fixture(params=["0.4.7", "0.5.6"])
def client(request: pytest.FixtureRequest, start: Callable[..., MpServer], dial: Callable[..., MpClient]) -> MpClient:
    """A client of a server without faults that shares its memory, of the first release that does and of the newest."""
    return dial(start(request.param))


@pytest.fixture
def stocked(client: MpClient) -> MpClient:
    """A client that is registered and has stored two chunks."""
    client.register()
    assert client.store(key_of(2, "store"), [1, 2])
    return client
