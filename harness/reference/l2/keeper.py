"""Where objects are kept: what the plugin asks of a folder and of a gateway alike."""

from __future__ import annotations

from typing import Protocol

from harness.reference.l2.leases import Leased
from harness.reference.l2.outcomes import Outcome


class Keeper(Protocol):
    """Keeps objects by key; threads share it. ``until`` is the moment (``time.monotonic``) by which it has to answer."""

    def store(self, key: str, source: Leased, until: float, /) -> Outcome:
        """Keep the bytes of a buffer, unless the key is there."""

    def load(self, key: str, target: Leased, until: float, /) -> Outcome:
        """Write an object into a buffer; one that is not loaded leaves it as it is."""

    def look(self, key: str, until: float, /) -> Outcome:
        """Whether a load would find it."""

    def delete(self, key: str, until: float, /) -> Outcome:
        """Forget it."""

    def interrupt(self) -> None:
        """Let calls that are under way end soon."""

    def close(self) -> None:
        """Give back what it holds; nothing is under way any more."""
