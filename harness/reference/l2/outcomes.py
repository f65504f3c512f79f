"""What became of each object of a batch, and how often."""

from __future__ import annotations

import enum
import threading
from collections import Counter


class Outcome(str, enum.Enum):  # noqa: UP042  # StrEnum came with Python 3.11
    """What became of one object; the value is its name in the statistics."""

    STORED = "stored"
    """Written whole, and durable."""
    DEDUPLICATED = "deduplicated"
    """It was there already, or another store that was under way wrote it; nothing was written."""
    SKIPPED = "skipped"
    """Not tried: the gateway was known to be down."""
    DROPPED = "dropped"
    """Begun or queued and given up: the gateway went away, the disk refused, the plugin was closed."""
    REJECTED = "rejected"
    """Refused when it was submitted: the backlog was full."""
    LOADED = "loaded"
    """Its bytes are in the buffer."""
    MISSED = "missed"
    """There is no such object."""
    MISMATCHED = "mismatched"
    """There is one, of another size than the buffer; it stays."""
    DAMAGED = "damaged"
    """What was there could not be trusted and was taken away."""
    UNAVAILABLE = "unavailable"
    """Nobody could say in time: the gateway is down or slow, or the disk answered with an error."""
    FOUND = "found"
    """A lookup said yes."""
    ABSENT = "absent"
    """A lookup said no."""
    DELETED = "deleted"
    """It was there and is gone."""
    NOT_DELETED = "not_deleted"
    """There was nothing to delete, or nobody could."""


KEPT = frozenset({Outcome.STORED, Outcome.DEDUPLICATED})
"""After these the object can be loaded."""


class Statistics:
    """Counts outcomes; threads share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[Outcome] = Counter()

    def count(self, outcome: Outcome, objects: int = 1) -> None:
        """So many objects ended so."""
        with self._lock:
            self._counts[outcome] += objects

    def numbers(self) -> dict[str, int]:
        """Every outcome by name, those that never happened with 0."""
        with self._lock:
            return {outcome.value: self._counts[outcome] for outcome in Outcome}
