"""The group mp in small, without the real server."""

from __future__ import annotations

import pytest

from benchmarks.loads import running
from benchmarks.measure import measured
from benchmarks.mp import RELEASE, comparisons
from benchmarks.mp.load import CHUNK_BYTES, CHUNKS, Job, Workers
from benchmarks.servers import started


@pytest.fixture
def mock():
    with started("benchmarks.mp.mock", str(RELEASE)) as server:
        yield server


def test_each_comparison_gives_figures(mock):
    with running("benchmarks.mp.load", Job, str(RELEASE)) as load:
        found = [measured(comparison, 1, 0.01) for comparison in comparisons({"mock": mock}, load)]
    assert [outcome.comparison.unit for outcome in found] == ["1/s", "1/s", "GB/s", "MiB"]
    assert all(outcome.figure("mock") > 0 for outcome in found)


def test_every_byte_that_is_moved_counts_twice(mock):
    workers = Workers(RELEASE)
    done = workers.work(Job("move", mock.port, 0))
    workers.close()
    assert (done.requests, done.bytes) == (1, 2 * CHUNKS * CHUNK_BYTES)
