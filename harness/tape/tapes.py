"""The tapes of the case that runs in this process: what mocks saw, and what connections of our own saw."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

from mockserver.tape import Moment, Tape

MOCK: Final = "the mock"
OURS: Final = "connections of the harness"


@dataclass(frozen=True)
class Seen:
    """What was on a tape at one moment."""

    by: str
    first: tuple[Moment, ...]
    last: tuple[Moment, ...]
    left_out: int
    """Moments between the two that are not kept."""
    until: float
    """``time.monotonic`` of when it was looked at."""


@dataclass
class Tapes:
    """One case at a time: workers are processes, and each executes one after the other."""

    mock: Tape = field(default_factory=Tape)
    """What mock servers of ours saw of their clients."""
    ours: Tape = field(default_factory=Tape)
    """What our own raw connections saw of the server that they talk to."""

    def begin(self) -> None:
        """A case begins, or a new example of a property."""
        self.mock.clear()
        self.ours.clear()

    def seen(self, *, ours: bool) -> Seen | None:
        """What was seen until now; None where nothing was.

        Where no client takes part, it is told by our own connections (``ours``). All else is told by the mock, which sees also
        what the client under test does: our own connections would show only themselves.
        """
        tapes = [(OURS, self.ours), (MOCK, self.mock)] if ours else [(MOCK, self.mock)]
        for by, tape in tapes:
            first, last, left_out = tape.moments()
            if first:
                return Seen(by, tuple(first), tuple(last), left_out, time.monotonic())
        return None


TAPES: Final = Tapes()
"""Those of this process."""
