"""How long each kind of execution takes, as it was measured: for dealing a run out to several machines.

``harness/costs.json`` is made by ``python -m benchmarks.case_costs``. It is part of the tool, so that machines with the same
version deal out alike; that a client is slower than the reference client changes all of its costs together.
"""

from __future__ import annotations

import functools
import json
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

from harness.case import Cell

UNIT: Final = 100
"""Microseconds in which costs are counted: whole numbers add up alike in whatever order."""
LEAST: Final = 10
"""Units that any execution costs at least: what pytest does around it."""


@dataclass(frozen=True)
class Costs:
    """Seconds that executions take.

    Attributes:
        seconds: for a topic and case, the seconds of an execution on a target, and those of single variants, as
            ``mock-VARIANT``, that take much more or less than the others.
        live_start: seconds that a live server takes to start.
    """

    seconds: Mapping[str, Mapping[str, float]]
    live_start: float = 0.0

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Costs:
        """What the file holds."""
        return cls(data["seconds"], data["live_start"])

    def to_json(self) -> dict[str, Any]:
        """The inverse of :meth:`from_json`."""
        return {"live_start": self.live_start, "seconds": {name: dict(of) for name, of in sorted(self.seconds.items())}}

    def of(self, name: str, cell: Cell) -> int:
        """What an execution of a case costs, in units of :data:`UNIT`; one that was never measured costs the median of all."""
        known = self.seconds.get(name, {})
        seconds = known.get(kind(cell), known.get(cell.target))
        return self._median if seconds is None else units(seconds)

    @property
    def starting(self) -> int:
        """What a live server costs before its first case, in units."""
        return units(self.live_start) if self.live_start else 0

    @functools.cached_property
    def _median(self) -> int:
        known = [units(seconds) for of in self.seconds.values() for target, seconds in of.items() if "-" not in target]
        return statistics.median_low(known) if known else LEAST


def kind(cell: Cell) -> str:
    """The target of a cell and its variant: what the releases of a case have in common."""
    return cell.target if cell.variant is None else f"{cell.target}-{cell.variant.id}"


def units(seconds: float) -> int:
    """Seconds as a whole number of units, at least :data:`LEAST`."""
    return max(LEAST, round(seconds * 1_000_000 / UNIT))


@functools.cache
def measured_costs() -> Costs:
    """The costs that come with the tool."""
    return Costs.from_json(json.loads((files("harness") / "costs.json").read_text("utf-8")))
