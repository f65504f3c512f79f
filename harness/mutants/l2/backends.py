"""Defects that show when the storage behind a plugin is away, slow or new, or when too much waits for it."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from typing import Any, Final

from harness.mutants.marks import l2_mutant
from harness.reference.l2 import ReferencePlugin
from harness.reference.l2.backlog import Backlog
from harness.reference.l2.batches import Batch
from harness.reference.l2.gateway.frames import receive, send
from harness.reference.l2.gateway.link import GatewayLink
from harness.reference.l2.keeper import Keeper
from harness.reference.l2.outcomes import Outcome

AGES: Final = 3600.0
"""Seconds: nobody waits so long."""


@l2_mutant(
    "gateway-given-up-for-good",
    stands_for="A flag that is set when the storage fails, and that nobody takes back.",
    found_by=("l2.backend.*",),
)
class GivesUpForGood(ReferencePlugin):
    """Never asks a gateway again that did not answer once."""

    def _open_gateway(self, address: str, *, retry: float) -> Keeper:
        del retry
        return GatewayLink(address, retry=AGES)


class _OneConnection(GatewayLink):
    """Keeps one connection for ever."""

    def _connection(self, until: float) -> tuple[socket.socket, bool]:
        with self._lock:
            if self._idle:
                return self._idle[-1], True
        connection, _ = super()._connection(until)
        with self._lock:
            self._idle.append(connection)
        return connection, True

    def _converse(
        self, connection: socket.socket, words: dict[str, Any], body: bytes, until: float
    ) -> tuple[dict[str, Any], bytes]:
        with self._lock:
            send(connection, words, body, until=until)
            return receive(connection, until=until)


@l2_mutant(
    "gateway-never-connected-again",
    stands_for="A connection that is made in the beginning, and used until the end.",
    found_by=("l2.backend.*",),
)
class ConnectsOnce(ReferencePlugin):
    """Goes on with the connection that it has, also when it is broken."""

    def _open_gateway(self, address: str, *, retry: float) -> Keeper:
        return _OneConnection(address, retry=retry)


@l2_mutant(
    "gateway-waited-for-without-end",
    stands_for="A socket without a timeout.",
    found_by=("l2.backend.*",),
)
class WaitsWithoutEnd(ReferencePlugin):
    """Waits for an answer as long as it takes."""

    def __init__(self, **params: Any) -> None:
        super().__init__(**{**params, "wait": AGES})


@l2_mutant(
    "gateway-waited-for-by-each-object",
    stands_for="A timeout for a request, and a batch of many requests.",
    found_by=("l2.backend.*",),
)
class WaitsForEachObject(ReferencePlugin):
    """Waits for each object of a batch as long as for one, and asks again at once."""

    def _open_gateway(self, address: str, *, retry: float) -> Keeper:
        del retry
        return GatewayLink(address, retry=0.0)

    def _outcomes(self, batch: Batch) -> list[Outcome]:
        if batch.kind in {"load", "store"}:
            do = self._load if batch.kind == "load" else self._store
            return [do(key, buffer, self._end()) for key, buffer in zip(batch.keys, batch.buffers, strict=True)]
        ask = self._keeper.look if batch.kind == "look" else self._keeper.delete
        return [ask(key, self._end()) for key in batch.keys]

    def _end(self) -> float:
        return time.monotonic() + self._wait


class _LateAnswers(GatewayLink):
    """Keeps a connection whose answer did not come in time."""

    def _converse(
        self, connection: socket.socket, words: dict[str, Any], body: bytes, until: float
    ) -> tuple[dict[str, Any], bytes]:
        try:
            send(connection, words, body, until=until)
            return receive(connection, until=until)
        finally:
            with self._lock:
                self._busy.discard(connection)
                self._idle.append(connection)


@l2_mutant(
    "gateway-late-answer-taken-for-the-next",
    stands_for="A connection that is used on after a timeout, with an answer still to come.",
    found_by=("l2.backend.*",),
)
class TakesLateAnswers(ReferencePlugin):
    """Takes the answer that came too late for that to its next question."""

    def _open_gateway(self, address: str, *, retry: float) -> Keeper:
        return _LateAnswers(address, retry=retry)


@l2_mutant(
    "gateway-must-be-up",
    stands_for="A first connection in the constructor.",
    found_by=("l2.backend.*",),
)
class MustBeUp(ReferencePlugin):
    """Cannot be made while its gateway is down."""

    def _open_gateway(self, address: str, *, retry: float) -> Keeper:
        host, _, port = address.rpartition(":")
        socket.create_connection((host, int(port)), timeout=self._wait).close()
        return GatewayLink(address, retry=retry)


@l2_mutant(
    "gateway-down-is-an-error",
    stands_for="An exception of the client library that ends up in the thread that nobody watches.",
    found_by=("l2.backend.*",),
)
class NeverCompletes(ReferencePlugin):
    """Completes no batch that the gateway did not answer."""

    def _complete(self, batch: Batch, outcomes: Sequence[Outcome], error: str = "") -> None:
        if not {Outcome.UNAVAILABLE, Outcome.DROPPED, Outcome.SKIPPED} & set(outcomes):
            super()._complete(batch, outcomes, error)


class _Endless(Backlog):
    """Admits everything."""

    def __init__(self) -> None:
        super().__init__(objects=2**60, size=2**60)


@l2_mutant(
    "backlog-without-limit",
    stands_for="A queue that grows.",
    found_by=("l2.backend.*", "l2.statistics.*", "l2.backlog.*"),
)
class TakesEverything(ReferencePlugin):
    """Takes any number of stores, however many wait."""

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self._backlog = _Endless()


@l2_mutant(
    "refused-and-called-stored",
    stands_for="A cache that drops what it has no room for, and thinks that this is nobody's business.",
    found_by=("l2.backend.*", "l2.statistics.*", "l2.backlog.*"),
)
class CallsRefusedStored(ReferencePlugin):
    """Says that a store succeeded that it refused because too much was waiting."""

    def submit_batch_set(self, keys: Sequence[str], buffers: Sequence[memoryview]) -> int:
        """With the defect."""
        batch = self._batch("store", keys, buffers)
        if self._backlog.admit(len(batch.keys), batch.size):
            return self._put(batch, urgent=False)
        self._statistics.count(Outcome.REJECTED, len(batch.keys))
        batch.end_lease()
        self._completions.add(batch.number, ok=True)
        return batch.number
