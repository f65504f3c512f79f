"""``--live HOST:PORT`` with a multiprocess server of the user: clients are judged against it, nothing of theirs is touched."""

import pytest

from mockserver.mp import MpServer


@pytest.fixture
def server():
    """Stands in for the server that a user runs."""
    with MpServer("0.5.6") as running:
        yield running


def test_the_whole_matrix_of_the_wire_runs_against_it_and_leaves_what_is_theirs_alone(judged, server):
    host, port = server.address
    run = judged("reference-mp", target="live", live=f"{host}:{port}")
    assert run.code == 0
    assert {case.target for case in run.cases} == {"live"}
    assert {case.topic for case in run.cases} == {"mp.connection", "mp.flow", "mp.memory", "mp.roundtrip"}
    assert not {"restarted-and-empty", "clear"} & {case.case for case in run.cases}
    assert not server.journal.exchanges(operation="CLEAR")
    models = {key.model_name for key in server.store.keys}
    assert models
    assert all(model.startswith("lmconform/") for model in models)
