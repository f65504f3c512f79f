"""How often a client may fail to answer before it is no longer asked, so that a run of thousands of cases ends.

A client that hangs whenever it is asked for a value would cost a deadline for each of some thousand cases. After a few times in a
row, or some more times in between, what needs the operation is not run: it is recorded with the verdict that it most likely has,
and with the reason. Each worker of a run keeps counts of its own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from harness.client import AdapterFault, ClientCrash, ClientFailure, ClientHang, ClientTooLarge, ClientUnavailable, NotAsked

START: Final = "hello"
"""The operation under which failures to start count; without a start nothing can be asked."""
EVERYTHING: Final = ""


@dataclass(frozen=True)
class Limit:
    """How often something may fail."""

    in_a_row: int
    """Of one operation, without an answer of it in between."""
    of_one: int
    """Of one operation."""


@dataclass(frozen=True)
class KindLimit(Limit):
    """How often one kind of failure may happen."""

    in_all: int
    """Of all operations, failures to start included."""
    words: str
    """What the client did, for reports."""


LIMITS: Final[Mapping[type[ClientFailure], KindLimit]] = {
    ClientTooLarge: KindLimit(2, 4, 8, "used too much memory"),
    ClientHang: KindLimit(6, 10, 20, "hung"),
    ClientCrash: KindLimit(5, 20, 40, "crashed"),
    AdapterFault: KindLimit(20, 100, 300, "broke the contract"),
}
"""The first that a failure is an instance of holds. A hang costs a deadline, a crash or a broken contract the time of a start."""
STARTS: Final = Limit(3, 5)
"""The same for starts, whatever went wrong."""
LOST_CALLS: Final = 20
LOST_STARTS: Final = 4
"""Calls that failed and new starts may cost together what so many deadlines and so many starts at their limit do."""


@dataclass
class Patience:
    """What is left of it; ``deadline`` is the time limit of a call in seconds, ``start`` that of a start."""

    deadline: float
    start: float = 30.0
    _in_a_row: Counter[tuple[str, type[ClientFailure]]] = field(default_factory=Counter)
    _of_one: Counter[tuple[str, type[ClientFailure]]] = field(default_factory=Counter)
    _in_all: Counter[type[ClientFailure]] = field(default_factory=Counter)
    _given_up: dict[str, tuple[str, type[ClientFailure]]] = field(default_factory=dict)
    _lost: float = 0.0

    @property
    def limit_of_loss(self) -> float:
        """Seconds that failures and starts may cost in all."""
        return LOST_CALLS * self.deadline + LOST_STARTS * self.start

    def require(self, operations: Iterable[str]) -> None:
        """The client may still be asked for all of these.

        Raises:
            NotAsked: it may not; the message names the operation and what happened before.
        """
        if not self._given_up:
            return
        for op in (EVERYTHING, *operations):
            if op in self._given_up:
                why, kind = self._given_up[op]
                raise NotAsked(f"not run: {why}", operation=op or None, after=kind)

    def answered(self, op: str) -> None:
        """An operation was answered."""
        for kind in LIMITS if self._in_a_row else ():
            self._in_a_row.pop((op, kind), None)

    def failed(self, op: str, failure: ClientFailure, seconds: float = 0.0) -> None:
        """An operation was not answered, and cost so much time."""
        kind = kind_of(failure)
        words = LIMITS[kind].words
        limit = STARTS if op == START else LIMITS[kind]
        for count in (self._in_a_row, self._of_one):
            count[op, kind] += 1
        self._in_all[kind] += 1
        row, one, every = self._in_a_row[op, kind], self._of_one[op, kind], self._in_all[kind]
        name = f"`{op}` of the client" if op else "the client"
        if row >= limit.in_a_row:
            self._give_up(op, f"{name} {words} {row} times in a row before", kind)
        elif one >= limit.of_one:
            self._give_up(op, f"{name} {words} {one} times before", kind)
        if every >= LIMITS[kind].in_all:
            self._give_up(EVERYTHING, f"the client {words} {every} times before, {name} last", kind)
        self.lost(seconds, kind)

    def lost(self, seconds: float, kind: type[ClientFailure] = ClientHang) -> None:
        """A failure or another start cost so much time."""
        self._lost += seconds
        if self._lost > self.limit_of_loss:
            why = f"{math.ceil(self._lost)} s went into failed calls of the client and into starting it again"
            self._give_up(EVERYTHING, why, kind)

    def _give_up(self, op: str, why: str, kind: type[ClientFailure]) -> None:
        self._given_up.setdefault(EVERYTHING if op == START else op, (why, kind))


def kind_of(failure: ClientFailure) -> type[ClientFailure]:
    """Which row of :data:`LIMITS` a failure belongs to."""
    if isinstance(failure, ClientUnavailable):
        return ClientCrash
    return next((kind for kind in LIMITS if isinstance(failure, kind)), ClientCrash)
