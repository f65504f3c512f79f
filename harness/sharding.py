"""Which executions of a run one machine of several makes.

The partition follows from the list of executions and from the costs that come with the tool (:mod:`harness.costs`), so that
machines agree on it without talking to each other. What counts is time: shards take about equally long, however many executions
each has.

1. The live cases of a release stay together, because each machine that has one of them starts that server. Only where they
   alone are more than a shard's fair share are they cut, into pieces that are about equal and no longer than that share, and
   never into pieces that take less time than their server takes to start.
2. Such pieces go, the dearest first, to the shard that has least so far.
3. All other executions go one by one, the dearest first, to the shard that has least so far. What costs the same is in the order
   of case, target and variant, so that the releases of one case are dealt out evenly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import pytest

from harness.case import Cell
from harness.costs import Costs, kind, measured_costs
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


def partition(executions: Sequence[Placed], count: int, costs: Costs | None = None) -> list[list[int]]:
    """The places of the executions of each shard, ascending; ``costs`` are those that come with the tool if none are given."""
    known = costs if costs is not None else measured_costs()
    cost = [known.of(one.name, one.cell) for one in executions]
    live: dict[Release, list[int]] = {}
    others: list[int] = []
    for place, one in enumerate(executions):
        (live.setdefault(one.cell.release, []) if one.cell.target == "live" else others).append(place)
    shards = [_Load() for _ in range(count)]
    share = -(-sum(cost) // count)
    pieces = [piece for places in live.values() for piece in _pieces(places, cost, share, known.starting)]
    for piece in sorted(pieces, key=lambda piece: (-sum(cost[place] for place in piece), piece[0])):
        min(shards, key=_Load.order).take(piece, known.starting + sum(cost[place] for place in piece))
    for place in sorted(others, key=lambda place: (-cost[place], _kind(executions[place]))):
        min(shards, key=_Load.order).take([place], cost[place])
    return [sorted(shard.places) for shard in shards]


@dataclass
class _Load:
    places: list[int] = field(default_factory=list)
    cost: int = 0

    def order(self) -> tuple[int, int]:
        return self.cost, len(self.places)

    def take(self, places: Sequence[int], cost: int) -> None:
        self.places.extend(places)
        self.cost += cost


def _pieces(places: Sequence[int], cost: Sequence[int], share: int, least: int) -> Iterator[list[int]]:
    """Runs of places that cost about the same: no more than ``share``, unless they would cost less than ``least``."""
    total = sum(cost[place] for place in places)
    number = -(-total // share)
    if least:
        number = min(number, max(1, total // least))
    pieces: list[list[int]] = [[] for _ in range(number)]
    before = 0
    for place in places:
        pieces[(2 * before + cost[place]) * number // (2 * total)].append(place)  # where its middle lies
        before += cost[place]
    yield from filter(None, pieces)


def _kind(one: Placed) -> tuple[str, str]:
    return one.name, kind(one.cell)
