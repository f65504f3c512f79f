"""Connectors that show their defect when the store behind them goes away, or is slow."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any, ClassVar

from harness.mutants.marks import remote_mutant
from harness.reference.remote.behind import WAIT, Behind
from harness.reference.remote.connector import FileConnector, setting


class OneConnection(Behind):
    """Keeps its first connection for all requests, one after the other."""

    again: ClassVar[bool] = False
    """Whether it connects again once the store has closed that."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.turn = threading.Lock()
        self.kept: socket.socket | None = None

    def ask(self, words: dict[str, Any], body: bytes = b"") -> tuple[dict[str, Any], bytes]:
        """One request, and what is taken for its answer."""
        with self.turn:
            if self.kept is None:
                self.kept = socket.create_connection(self.place, timeout=WAIT)
            try:
                return self.converse(self.kept, words, body, time.monotonic() + WAIT)
            except TimeoutError:
                raise
            except OSError:
                if self.again:
                    self.kept = None
                raise


class ConnectsAgain(OneConnection):
    """Notices that the store has closed its connection."""

    again = True


@remote_mutant(
    "connector-keeps-its-socket",
    stands_for="a socket that the constructor makes and nobody makes anew, as lmcache's lm connector has it",
    found_by=("remote.errors.backend-down",),
)
class KeepsItsSocket(FileConnector):
    """Once its store was restarted it never finds it again."""

    def storage(self, config: Any) -> Any:
        """Over one connection."""
        address = setting(config, type(self), "store", otherwise="")
        return OneConnection(address) if address else super().storage(config)


@remote_mutant(
    "connector-takes-late-answers",
    stands_for="a request that is given up while its answer is on the way, on a connection that is used again",
    found_by=("remote.errors.backend-slow",),
)
class TakesLateAnswers(FileConnector):
    """After a request that took too long each answer is taken for that of the next request."""

    def storage(self, config: Any) -> Any:
        """Over one connection at a time."""
        address = setting(config, type(self), "store", otherwise="")
        return ConnectsAgain(address) if address else super().storage(config)
