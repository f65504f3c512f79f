"""Which requests a fault concerns."""

from __future__ import annotations

from dataclasses import dataclass

from mockserver.faults.match import Ordinals, drawn, includes, require_lot, require_ordinals
from wire.mp.operations import ORDERS, TEXT_OPERATIONS

OPERATIONS = frozenset(name for table in (ORDERS, TEXT_OPERATIONS) for _, names in table.rows() for name in names)
"""The operations of all releases."""


@dataclass(frozen=True, slots=True)
class MpMatch:
    """Which requests a rule concerns; what is None does not matter.

    ``nth`` counts, from 1, the requests that agree with the rest of the match, since the plan was set: those of the whole server
    or, where ``connection`` is given, those of each of these connections. Connections are counted in the order in which they
    first sent something. ``probability`` draws among those that are left, by ``seed``, the fault and the number of the
    request alone.
    """

    operation: str | None = None
    nth: Ordinals | None = None
    connection: Ordinals | None = None
    probability: float | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.operation is not None and self.operation not in OPERATIONS:
            raise ValueError(f"no release has an operation {self.operation!r}; names are in capitals, such as PREPARE_STORE")
        require_ordinals(nth=self.nth, connection=self.connection)
        require_lot(self.probability, self.seed)

    def agrees(self, operation: str, connection: int) -> bool:
        """Whether a request fits, ``nth`` and ``probability`` aside."""
        return self.operation in {None, operation} and includes(self.connection, connection)

    def draws(self, fault: str, request: int) -> bool:
        """Whether the lot falls on a request, given by its number on the server."""
        return drawn(self.probability, self.seed, fault, request)
