"""Which cases go together to one worker."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from harness.case import Cell
from wire.release import Release

SIZE = 16
"""Cases in a share: so few that all workers end at about the same time, so many that handing out costs nothing."""
COSTLY_SIZE = 4
"""The same of cases each of which may cost a live server."""
WORTH_A_WORKER = 100
"""Cases for which another worker, which takes a second to start, begins to pay."""

Share = tuple[int, ...]
"""Numbers of cases, in their order."""


def shares(cells: Sequence[Cell], costly: Collection[int] = ()) -> list[Share]:
    """All cases in shares, by the place of their first one.

    The cases of one live release are one share, so that only one worker starts its server; other cases go in small pieces.
    So do the ``costly`` ones of them, given by their numbers, after which a server may have to be started again: nothing is lost
    where several workers wait for servers at once.
    """
    live: dict[Release, list[int]] = {}
    apart: dict[Release, list[int]] = {}
    others: list[int] = []
    for number, cell in enumerate(cells):
        if cell.target != "live":
            others.append(number)
        else:
            (apart if number in costly else live).setdefault(cell.release, []).append(number)
    pieces = [piece for numbers in apart.values() for piece in _pieces(numbers, COSTLY_SIZE)]
    return sorted([*map(tuple, live.values()), *pieces, *_pieces(others, SIZE)])


def _pieces(numbers: Sequence[int], size: int) -> list[Share]:
    return [tuple(numbers[start : start + size]) for start in range(0, len(numbers), size)]


def worth_starting(jobs: int, cells: Sequence[Cell], costly: Collection[int] = ()) -> int:
    """How many workers the cases are worth, at most ``jobs``; 1 stands for none besides this process."""
    live = len({cell.release for cell in cells if cell.target == "live"})
    return max(1, min(jobs, live + len(costly) // COSTLY_SIZE + len(cells) // WORTH_A_WORKER))
