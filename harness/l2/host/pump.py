"""Results of an adapter, asked for as the server does: when the descriptor of their operation was ready, and at no other time."""

from __future__ import annotations

import threading
import time
from typing import Protocol

from .driver import PluginError, Result

_ROUND = 0.5
"""Seconds of one wait for a descriptor."""


class Polled(Protocol):
    """What is asked of an adapter."""

    def ready(self, operation: str, timeout: float) -> Result:
        """Wait for the descriptor of an operation."""

    def consume(self, operation: str) -> Result:
        """Read it once."""

    def pop_stores(self) -> Result:
        """Stores that are complete."""

    def query(self, operation: str, number: int) -> Result:
        """What a lookup or load gave."""


class Pump:
    """Asks for results when the descriptor of their operation was ready, and keeps what nobody has waited for yet."""

    def __init__(self, adapter: Polled, operation: str) -> None:
        self._adapter = adapter
        self._operation = operation
        self._lock = threading.Lock()
        self._under_way: set[int] = set()
        self._arrived: dict[int, Result] = {}

    def begin(self, number: int) -> None:
        """A task was submitted: from now on each signal has it asked for, as in the server."""
        self._under_way.add(number)

    def wait(self, number: int, timeout: float) -> Result:
        """The result of one task.

        Raises:
            PluginError: it did not come in time.
        """
        until = time.monotonic() + timeout
        signals = 0
        while True:
            with self._lock:
                if number in self._arrived:
                    return self._arrived.pop(number)
                left = until - time.monotonic()
                if left <= 0:
                    raise PluginError(
                        "hang", f"no result of {self._operation} task {number} within {timeout:g} s; {signals} signals"
                    )
                if self._adapter.ready(self._operation, min(left, _ROUND))["ready"]:
                    signals += 1
                    self._adapter.consume(self._operation)
                    self._take()

    def _take(self) -> None:
        if self._operation == "store":
            for store in self._adapter.pop_stores()["stores"]:
                if "broken" in store:
                    raise PluginError("contract", f"pop_completed_store_tasks gave {store['shown']}: {store['broken']}")
                self._arrived[store["id"]] = store
            return
        for number in sorted(self._under_way.copy()):
            result = self._adapter.query(self._operation, number)["result"]
            if result is not None:
                self._under_way.discard(number)
                self._arrived[number] = result
