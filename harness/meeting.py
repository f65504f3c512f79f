"""Where the servers of this process listen, so that its client reaches them: on loopback, unless the client is in a container."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Final

from harness.clients.spec import meeting_address

NOBODY: Final = ""
_client = NOBODY


def expect(client: str) -> None:
    """Servers that are started from now on are for this client, as users write it."""
    global _client  # noqa: PLW0603  # cases start servers themselves, and know of no run
    _client = client


def expect_nobody() -> None:
    """The client is gone."""
    expect(NOBODY)


@contextlib.contextmanager
def expected(client: str) -> Iterator[None]:
    """Within the block, servers are for this client; after it, for nobody."""
    expect(client)
    try:
        yield
    finally:
        expect_nobody()


def host() -> str:
    """The address to listen on.

    Raises:
        ClientUnavailable: the client is in a container that cannot reach this machine.
    """
    return _found(_client)


_found = functools.cache(meeting_address)
