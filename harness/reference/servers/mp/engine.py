"""The engine of the robust server: locks by request, signs of life without waiting, bounds on what is remembered."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from harness.reference.servers.mp.sessions import BoundedSessions
from harness.reference.servers.mp.store import OwnedStore
from harness.reference.servers.mp.transfers import CarefulTransfers
from mockserver.mp.contexts import EngineDriven
from mockserver.mp.engine import Engine
from mockserver.mp.objects import ObjectStore
from mockserver.mp.sessions import HandlerError, Sessions

ALIVE: Final = frozenset({"NOOP", "PING", "GET_CHUNK_SIZE"})
"""Operations that look at nothing that changes, and so wait for nobody."""
MOST_RESULTS: Final = 1 << 14
"""Results of lookups that nobody has asked for."""


class RobustEngine(Engine):
    """Executes operations for the request that is named in them."""

    store_class: ClassVar[type[ObjectStore]] = OwnedStore
    sessions_class: ClassVar[type[Sessions]] = BoundedSessions
    contexts_class: ClassVar[type[EngineDriven]] = CarefulTransfers

    def call(self, operation: str, payloads: list[Any]) -> Any:
        """The result of an operation.

        Raises:
            HandlerError: it fails, whatever it is that fails.
        """
        if operation in ALIVE:
            return self.handlers[operation](*payloads)
        with self.lock:
            self.owned.owner = _request_of(operation, payloads)
            try:
                result = super().call(operation, payloads)
            except (ArithmeticError, LookupError, TypeError, ValueError, MemoryError, RecursionError) as why:
                raise HandlerError(f"{type(why).__name__}: {why}") from None
            if operation == "END_SESSION":
                self.give_back(payloads[0])
            self._forget_results()
            return result

    @property
    def owned(self) -> OwnedStore:
        """The store."""
        assert isinstance(self.store, OwnedStore)
        return self.store

    def give_back(self, request_id: str) -> None:
        """Give back what a request has locked and nobody is reading."""
        assert isinstance(self.contexts, CarefulTransfers)
        reading = self.contexts.being_read(request_id)
        for name, count in self.owned.held_by(request_id).items():
            if count > reading[name]:
                self.owned.finish_read([name], count - reading[name])

    def _forget_results(self) -> None:
        jobs = self.lookups.jobs
        while len(jobs) > MOST_RESULTS:
            del jobs[next(iter(jobs))]


def _request_of(operation: str, payloads: list[Any]) -> str:
    """The request that an operation is about; nobody's where it names none."""
    first = payloads[0] if payloads else None
    if operation == "END_SESSION" and isinstance(first, str):
        return first
    return str(first.get("request_id", "")) if isinstance(first, dict) else ""
