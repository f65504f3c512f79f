"""Whether a figure of a process rises with time."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

FEWEST: Final = 12
"""Samples without which nothing is said about a trend."""


@dataclass(frozen=True)
class Trend:
    """A line through the last two thirds of the samples, by least squares."""

    slope: float
    """MiB in a minute."""
    minutes: float
    """How long that line is."""
    samples: int

    @property
    def rise(self) -> float:
        """MiB from its beginning to its end."""
        return self.slope * self.minutes

    def __str__(self) -> str:
        return f"{self.slope:+.3f} MiB/min, {self.rise:+.2f} MiB in {self.minutes:.1f} min ({self.samples} samples)"


def trend(samples: Sequence[tuple[float, float]]) -> Trend | None:
    """The trend of samples of seconds and MiB; None where they are too few.

    The first third is left out: what a warm-up did not fill, such as the arenas of an allocator, fills then.
    """
    kept = samples[len(samples) // 3 :]
    if len(kept) < FEWEST:
        return None
    seconds, sizes = zip(*kept, strict=True)
    line = statistics.linear_regression(seconds, sizes)
    return Trend(60 * line.slope, (seconds[-1] - seconds[0]) / 60, len(kept))
