"""The reference client of the multiprocess server's wire in front of the mock."""

from collections.abc import Iterator
from typing import Any

import pytest

from harness.client import Answer, Ok
from harness.clients.dispatch import load_factory
from harness.clients.inprocess import InProcessSession
from harness.mp.keys import MpKeys
from harness.mp.targets import MpTarget, mock_mp_server
from wire.release import Release

TIMEOUT = 0.4


class Talk:
    """A client, a mock and a connection between them."""

    def __init__(self, server: MpTarget, *, timeout: float = TIMEOUT) -> None:
        self.server = server
        self.keys = MpKeys(server.release)
        self.context = self.keys.context()
        self.session = InProcessSession(load_factory("reference-mp"))
        self.connect("c", timeout=timeout)

    def connect(self, name: str, *, timeout: float = TIMEOUT, port: int | None = None) -> Answer:
        where = {"host": self.server.host, "port": port or self.server.port, "release": str(self.server.release)}
        return self.call("connect", connection=name, protocol="mp", **where, timeout_ms=round(timeout * 1000))

    def call(self, op: str, **args: Any) -> Answer:
        return self.session.call(op, args, deadline=20.0)

    def ask(self, op: str, **args: Any) -> Answer:
        return self.call(op, connection="c", **args)

    def ok(self, op: str, **args: Any) -> Any:
        answer = self.ask(op, **args)
        assert isinstance(answer, Ok), answer
        return answer.values

    def stored(self, chunks: int = 2) -> tuple[dict[str, Any], list[bytes]]:
        """Chunks that are stored, and their key for another request."""
        self.ok("mp_register", instance_id=1, context=self.context)
        key, data = self.keys(chunks), self.keys.chunks(chunks, self.context)
        assert self.ok("mp_store", instance_id=1, key=key, chunks=data) == {"stored": True}
        return {**key, "request_id": self.keys.request_id()}, data

    def asked(self, operation: str | None = None) -> list[str]:
        return [exchange.operation for exchange in self.server.journal.exchanges(operation)]

    def locks(self) -> int:
        found: int = self.server.status()["storage_manager"]["l1_manager"]["read_locked_count"]
        return found


@pytest.fixture(params=["0.5.6"])
def talk(request: pytest.FixtureRequest) -> Iterator[Talk]:
    """Over shared memory where the release has it."""
    with mock_mp_server(Release.parse(request.param)) as server:
        found = Talk(server)
        yield found
        found.session.stop()


@pytest.fixture
def pickled() -> Iterator[Talk]:
    """Without shared memory."""
    with mock_mp_server(Release.parse("0.5.6"), shared_memory=False) as server:
        found = Talk(server)
        yield found
        found.session.stop()
