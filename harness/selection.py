"""What a run selected, and what of it is left where it executes one shard of several."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from harness.executions import case_id, cell_of, topic_and_case
from harness.matrix import Matrix
from harness.sharding import PLACE, Placed, partition
from harness.sides import where_listed
from reports.parts import Selection, ids_digest


def select(matrix: Matrix, cases: Sequence[pytest.Item]) -> None:
    """Note what the run selected: all shards together, in the order of the run."""
    ids = [case_id(item, cell) for item in cases if (cell := cell_of(item)) is not None]
    matrix.selection = Selection(
        cases=len(ids),
        ids=ids_digest(ids),
        examples=matrix.examples,
        deadline=matrix.budget.call,
        client_start=matrix.budget.start,
        runtime=matrix.live.runtime,
        require="must" if matrix.lenient else "should",
    )


def leave_to_other_shards(matrix: Matrix, items: list[pytest.Item]) -> list[pytest.Item]:
    """Note the selection, and take out of ``items`` the cases of other shards, which are returned.

    Raises:
        pytest.UsageError: no case was selected, so that there is nothing to cut.
    """
    assert matrix.shard is not None
    placed = [(item, Placed(topic_and_case(item), cell)) for item in items if (cell := cell_of(item)) is not None]
    if not placed:
        raise pytest.UsageError(f"no case matches; {where_listed(matrix.side)}")
    cases = [item for item, _ in placed]
    select(matrix, cases)
    for place, item in enumerate(cases):
        item.stash[PLACE] = place
    mine = set(partition([one for _, one in placed], matrix.shard.count)[matrix.shard.index - 1])
    others = {item for item in cases if item.stash[PLACE] not in mine}
    items[:] = [item for item in items if item not in others]
    return [item for item in cases if item in others]
