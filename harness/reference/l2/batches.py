"""One batch under way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from harness.reference.l2.leases import Lease, Leased

Kind = Literal["store", "load", "look", "delete"]


@dataclass(frozen=True, eq=False)
class Batch:
    """What was submitted together and is completed together."""

    number: int
    kind: Kind
    keys: list[str]
    buffers: list[Leased]
    """One for each key of a store or load; else empty."""
    until: float
    """When an answer has to be there, as ``time.monotonic`` tells it."""
    lease: Lease

    @property
    def size(self) -> int:
        """Bytes of all buffers."""
        return sum(buffer.size for buffer in self.buffers)

    def end_lease(self) -> None:
        """Touch the buffers no more, and keep no hold on them."""
        self.lease.end()
        for buffer in self.buffers:
            buffer.release()
