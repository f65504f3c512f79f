"""``--live HOST:PORT``: the client is judged against a server of the user, and nothing of theirs is touched."""

import functools

import pytest

from harness import targets
from harness.failure import TargetUnavailable
from mockserver.faults import parse_plan
from mockserver.lm import LmServer


@pytest.fixture
def server():
    """Stands in for the server that a user runs."""
    with LmServer("0.5.6") as running:
        yield running


def stored(server):
    return list(server.store.keys())


def address(server):
    host, port = server.address
    return f"{host}:{port}"


@pytest.fixture
def run_on(judged, server):
    def run(client, *only, **options):
        return judged(client, *only, target="live", live=address(server), examples=3, **options)

    return run


def test_the_whole_matrix_runs_against_it(run_on):
    run = run_on("reference")
    assert run.code == 0
    assert {case.target for case in run.cases} == {"live"}
    assert {"lm.roundtrip", "lm.identity", "lm.connection", "servers.agreement"} <= {case.topic for case in run.cases}


def test_everything_that_is_stored_carries_our_prefix(run_on, server):
    run_on("reference")
    models = {key.model for key in stored(server)}
    assert models
    assert all(model.startswith("lmconform/") for model in models)


def test_two_runs_do_not_meet(run_on, server):
    run_on("reference", "lm.roundtrip.exist")
    before = set(stored(server))
    assert run_on("reference", "lm.roundtrip.exist").code == 0
    assert len(set(stored(server)) - before) == len(before)


def test_captured_conversations_are_not_replayed_on_it(run_on):
    assert "servers.transcripts" not in {case.topic for case in run_on("reference").cases}


def test_captured_conversations_are_still_replayed_on_the_mock_beside_it(judged, server):
    only = "servers.transcripts.replay[0.5.6-*-lm.server.put-get]"
    run = judged("reference", only, target="mock,live", live=address(server))
    assert [case.target for case in run.cases] == ["mock"]


def test_the_rerun_line_names_the_server(run_on, server, monkeypatch):
    monkeypatch.setattr("harness.subject.Subject.connect", lambda *_, **__: 1 / 0)
    assert f"--target live --live {address(server)}" in run_on("reference", "lm.roundtrip.exist").case.diagnosis.rerun


def test_a_server_that_is_not_there_is_an_environment_error(judged, server):
    gone = address(server)
    server.stop()
    with pytest.raises(TargetUnavailable, match="check the address and the release it runs"):
        judged("reference", "lm.roundtrip.exist", target="live", live=gone)


def test_a_server_of_another_release_is_an_environment_error(judged, monkeypatch):
    monkeypatch.setattr(targets, "healthy", functools.partial(targets.healthy, timeout=0.3))
    with LmServer("0.3.1") as old, pytest.raises(TargetUnavailable, match=r"does not answer HEALTH as lmcache 0\.5\.6 does"):
        judged("reference", "lm.roundtrip.exist", target="live", live=address(old))


def test_a_server_that_differs_from_the_mock_is_drift(run_on, server):
    server.set_faults(parse_plan(["replace-field:name=code,value=201,command=EXIST"]))
    run = run_on("reference", "servers.agreement.*")
    assert run.code == 3
    assert {case.verdict for case in run.cases} == {"mock-drift"}


def test_a_loopback_address_is_refused_for_a_client_in_a_container_with_what_to_do(monkeypatch, server):
    monkeypatch.setattr(targets.meeting, "host", lambda: "198.51.100.1")
    with pytest.raises(TargetUnavailable) as caught:
        targets.LiveServers(address=server.address).get(server.release)
    assert "a client in a container does not reach 127.0.0.1 of this machine" in str(caught.value)
    assert "let the server listen on 198.51.100.1 and give that to --live" in str(caught.value)
