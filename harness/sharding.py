"""Which executions of a run one machine of several makes.

The partition follows from the list of executions alone, so that machines agree on it without talking to each other:

1. The live cases of a release stay together, because each machine that has one of them starts that server. Only where they
   alone are more than a shard's fair share are they cut into pieces of that size.
2. Such pieces go, the largest first, to the shard that has least so far.
3. All other executions go one by one to the shard that has least so far, in the order of case, target and variant: what costs
   the same, the releases of one case, is dealt out evenly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pytest

from harness.case import Cell
from harness.usage import UsageError
from reports.parts import Shard
from wire.numerals import LONGEST, shown
from wire.release import Release

MOST: Final = 256
"""Shards: as many jobs as CI services start at once."""
PLACE: Final = pytest.StashKey[int]()
"""Where an execution of a shard stands in the whole selection, from 0."""
_FORM: Final = re.compile(r"([0-9]+)/([0-9]+)", re.ASCII)


@dataclass(frozen=True)
class Placed:
    """An execution, as far as the partition looks at it."""

    name: str
    """Topic and case."""
    cell: Cell


def parse_shard(text: str) -> Shard:
    """``2/4``, the second of four.

    Raises:
        UsageError: it has another form, or there is no such shard.
    """
    found = _FORM.fullmatch(text.strip())
    if found is None or len(text) > LONGEST:
        raise UsageError(f"--shard {shown(text)!r} is no shard; write such as 2/4, the second of four")
    index, count = int(found[1]), int(found[2])
    if not 1 <= count <= MOST:
        raise UsageError(f"--shard {shown(text)} asks for {count} shards; a run can be cut into 1 to {MOST}")
    if not 1 <= index <= count:
        raise UsageError(f"--shard {shown(text)} does not exist; the shards of {count} are 1/{count} to {count}/{count}")
    return Shard(index, count)


def partition(executions: Sequence[Placed], count: int) -> list[list[int]]:
    """The places of the executions of each shard, ascending."""
    shards: list[list[int]] = [[] for _ in range(count)]
    live: dict[Release, list[int]] = {}
    others: list[int] = []
    for place, one in enumerate(executions):
        (live.setdefault(one.cell.release, []) if one.cell.target == "live" else others).append(place)
    fair = max(1, -(-len(executions) // count))
    pieces = [places[start : start + fair] for places in live.values() for start in range(0, len(places), fair)]
    for piece in sorted(pieces, key=lambda piece: (-len(piece), piece[0])):
        min(shards, key=len).extend(piece)
    for place in sorted(others, key=lambda place: _kind(executions[place])):
        min(shards, key=len).append(place)
    return [sorted(places) for places in shards]


def _kind(one: Placed) -> tuple[str, str, str]:
    return one.name, one.cell.target, one.cell.variant.id if one.cell.variant is not None else ""
