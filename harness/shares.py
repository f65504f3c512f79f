"""Which cases go together to one worker."""

from __future__ import annotations

from collections.abc import Sequence

from harness.case import Cell
from wire.release import Release

SIZE = 16
"""Cases in a share: so few that all workers end at about the same time, so many that handing out costs nothing."""
WORTH_A_WORKER = 100
"""Cases for which another worker, which takes a second to start, begins to pay."""

Share = tuple[int, ...]
"""Numbers of cases, in their order."""


def shares(cells: Sequence[Cell]) -> list[Share]:
    """All cases in shares, by the place of their first one.

    The cases of one live release are one share, so that only one worker starts its server; other cases go in small pieces.
    """
    live: dict[Release, list[int]] = {}
    others: list[int] = []
    for number, cell in enumerate(cells):
        (live.setdefault(cell.release, []) if cell.target == "live" else others).append(number)
    return sorted([*map(tuple, live.values()), *(tuple(others[start : start + SIZE]) for start in range(0, len(others), SIZE))])


def worth_starting(jobs: int, cells: Sequence[Cell]) -> int:
    """How many workers the cases are worth, at most ``jobs``; 1 stands for none besides this process."""
    live = len({cell.release for cell in cells if cell.target == "live"})
    return max(1, min(jobs, live + len(cells) // WORTH_A_WORKER))
