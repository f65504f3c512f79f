"""Which requests a fault concerns."""

from __future__ import annotations

import random
from dataclasses import dataclass

from mockserver.faults.match import Ordinals, Span, includes
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
        for name, ordinals in (("nth", self.nth), ("connection", self.connection)):
            first = ordinals.first if isinstance(ordinals, Span) else ordinals
            if first is not None and first < 1:
                raise ValueError(f"{name} counts from 1, not from {first}")
        if self.probability is not None and not 0 <= self.probability <= 1:
            raise ValueError(f"probability is a number from 0 to 1, not {self.probability}")
        if self.seed is not None and self.probability is None:
            raise ValueError("seed means nothing without probability=")

    def agrees(self, operation: str, connection: int) -> bool:
        """Whether a request fits, ``nth`` and ``probability`` aside."""
        return self.operation in {None, operation} and includes(self.connection, connection)

    def draws(self, fault: str, request: int) -> bool:
        """Whether the lot falls on a request, given by its number on the server."""
        if self.probability is None:
            return True
        lot = random.Random(f"{self.seed or 0} {fault} {request}")  # noqa: S311  # a test plan, no secret
        return lot.random() < self.probability
