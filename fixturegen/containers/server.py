"""A server in a container: listening on this machine's loopback when it is handed out, gone afterwards."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import time
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from docker.errors import APIError
from docker.models.containers import Container

from fixturegen.containers.container import Limits, Order, Reach, create, removed_at_last
from fixturegen.containers.engine import Engine, engine_trouble
from fixturegen.containers.image import Image
from fixturegen.containers.last_words import decoded, last_words, quoted
from fixturegen.errors import EnvironmentUnavailable
from fixturegen.server_process import free_port

SERVER: Final = ("python3", "-m", "lmcache.v1.server", "{host}", "{port}")
"""The real ``lm://`` server. ``{host}`` and ``{port}`` are filled in when it starts."""

Network = Literal["host", "published"]

_PUBLISHED_PORT: Final = 8100
_START_ATTEMPTS: Final = 3
_LISTEN: Final = "0A"


class RunningServer:
    """A server in a container, reachable at ``host`` and ``port`` from this machine."""

    def __init__(self, container: Container, image: Image, host: str, port: int) -> None:
        self.host = host
        self.port = port
        self.image = image
        self._container = container

    def alive(self) -> bool:
        """Whether the server process still runs."""
        with engine_trouble("look after a server"):
            self._container.reload()
            return self._container.status == "running"

    def logs(self) -> str:
        """Everything the server wrote so far, both streams."""
        with engine_trouble("read the log of a server"):
            return decoded(self._container.logs())


@contextlib.contextmanager
def listening(
    engine: Engine, order: Order, limits: Limits, *, network: Network | None, address: str, ready_within: float
) -> Iterator[RunningServer]:
    """Start a server, yield it once it listens, and stop it whatever happens.

    It is found to listen by the kernel's table and not by connecting, so the first connection it sees is
    the caller's own.

    Raises:
        EnvironmentUnavailable: it ended, or did not listen in time.
    """
    chosen: Network = network or ("host" if engine.shares_loopback else "published")
    for attempt in range(1, _START_ATTEMPTS + 1):
        port = free_port(address)
        if chosen == "host":
            host, inner_port, reach = address, port, Reach("host")
        else:
            host, inner_port = "0.0.0.0", _PUBLISHED_PORT  # noqa: S104 # inside the container
            reach = Reach(None, published=(inner_port, address, port))
        command = [part.format(host=host, port=inner_port) for part in order.argv]
        container = create(engine, dataclasses.replace(order, argv=command), limits, reach)
        with removed_at_last(container):
            if _start(container, command, inner_port, ready_within, retry=attempt < _START_ATTEMPTS):
                yield RunningServer(container, order.image, address, port)
                return


def _start(container: Container, argv: Sequence[str], port: int, ready_within: float, *, retry: bool) -> bool:
    """Start a server and wait until it listens; False when somebody else has got its port meanwhile."""
    try:
        container.start()
    except APIError as error:
        if retry and ("address already in use" in str(error) or "port is already allocated" in str(error)):
            return False
        raise EnvironmentUnavailable(f"the engine cannot start {quoted(argv)}: {error.explanation or error}") from error
    deadline = time.monotonic() + ready_within
    while time.monotonic() < deadline:
        with engine_trouble("look after a server"):
            container.reload()
            running = container.status == "running"
            if running and _listens(container, port):
                return True
            written = "" if running else decoded(container.logs())
        if not running:
            if retry and os.strerror(errno.EADDRINUSE).lower() in written.lower():
                return False
            code = container.attrs["State"].get("ExitCode")
            raise EnvironmentUnavailable(f"{quoted(argv)} ended with status {code} before it listened{last_words(written)}")
        time.sleep(0.1)
    raise EnvironmentUnavailable(
        f"{quoted(argv)} does not listen on port {port} after {ready_within:g} s{last_words(decoded(container.logs()))}"
    )


def _listens(container: Container, port: int) -> bool:
    """Whether a TCP socket listens on the port in the container's network.

    Columns of ``/proc/net/tcp``: number, local address in hex with the port after the colon, remote, state.
    """
    try:
        _, table = container.exec_run(["cat", "/proc/net/tcp"])
    except APIError:
        container.reload()
        if container.status == "running":
            raise
        return False  # it ended after it was found running; the next look tells how
    assert isinstance(table, bytes)  # not a stream, as none was asked for
    rows = (line.split() for line in decoded(table).splitlines()[1:])
    return any(len(row) > 3 and row[3] == _LISTEN and int(row[1].rpartition(":")[2], 16) == port for row in rows)
