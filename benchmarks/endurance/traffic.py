"""What a soak asks of the traffic of either wire."""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from benchmarks.servers import StartedServer


class Traffic(Protocol):
    """Mixed traffic that is led one operation after another; slow peers take their time beside it."""

    lost: list[str]
    """The names of what was lost."""
    counts: Counter[str]
    """Operations by name, and what the faults did."""

    def step(self) -> None:
        """One operation."""

    def full(self) -> bool:
        """Whether whatever remembers on the server was filled to its limit by what was done so far."""

    def fill(self) -> None:
        """A burst that fills what remembers; checksummed as well."""

    def finish(self) -> None:
        """Look at everything that must be there once more, and close all connections."""


class Opened(Protocol):
    """Begins traffic on a server."""

    def __call__(self, server: StartedServer, seed: int) -> Traffic:
        """The traffic; the same seed does the same operations."""
