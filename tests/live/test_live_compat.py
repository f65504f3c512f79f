"""The matrix on mocks is the matrix on real servers, cell by cell and byte by byte."""

import pytest

from harness.compat.run import CompatOptions, run_compat
from wire.release import Release

CLIENTS = [Release.parse(text) for text in ("0.3.1", "0.3.3", "0.3.12", "0.3.13", "0.4.1", "0.4.4", "0.5.6")]
SERVERS = [Release.parse(text) for text in ("0.3.1", "0.3.12", "0.5.6")]


@pytest.fixture(scope="module")
def real(pinned_release):
    return run_compat(CompatOptions(CLIENTS, SERVERS, target="live"))


@pytest.mark.live
def test_every_cell_on_mocks_is_the_one_on_real_servers(real):
    mocks = run_compat(CompatOptions(CLIENTS, SERVERS, target="mock"))
    assert real.count("not-run") == 0
    for at, cell in real.cells.items():
        assert mocks.cell(*at) == cell, at


@pytest.mark.live
def test_a_matrix_on_real_servers_has_cells_of_every_kind(real):
    letters = {cell.grade.letter for cell in real.cells.values()}
    assert letters >= set("HR?+r")
