"""What one part of a load did, and what was lost in it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """One part: its name, its figures in words, and the names of what was lost."""

    name: str
    told: str
    lost: tuple[str, ...] = ()


def milliseconds(took: Sequence[float]) -> str:
    """Median, 99th percentile and maximum of seconds, in words."""
    ordered = sorted(took)
    late = ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
    return f"median {statistics.median(ordered) * 1e3:.2f} ms, p99 {late * 1e3:.2f} ms, longest {ordered[-1] * 1e3:.1f} ms"
