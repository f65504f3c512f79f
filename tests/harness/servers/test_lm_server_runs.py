"""Runs that judge servers of ours: the mock is as its list says, the reference does what it should, a lost one ends the run."""

import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.failure import TargetUnavailable
from harness.reference.servers.lm import RobustServer
from harness.runner import RunOptions, run_matrix
from reports.results import read_results
from reports.verdict import ExitCode, Verdict


def judged(folder, server, **more):
    options = {"target": "mock", "lmcache": "0.5.6", "examples": 5, **more}
    code = run_matrix(RunOptions(side="server", client=server, protocol="lm", folder=folder, **options))
    return code, read_results(folder / "results.jsonl")


def test_the_mock_is_as_the_list_of_the_real_server_says(tmp_path):
    some = ("servers.hostile.refused", "servers.better.list", "servers.better.replaced*", "servers.wire.list*")
    code, results = judged(tmp_path, "mock", only=some, expectations=Path("lmcache-server"))
    assert code == ExitCode.CONFORMANT
    assert results.counts[Verdict.KNOWN_FAILURE] == 6
    assert results.counts[Verdict.PASS] + results.counts[Verdict.KNOWN_FAILURE] == len(results.cases) > 15


def test_the_reference_does_what_it_should(tmp_path):
    some = ("servers.captured.understood", "servers.hostile.*", "servers.better.list", "servers.better.prompt")
    code, results = judged(tmp_path, "reference", require="should", only=some)
    assert code == ExitCode.CONFORMANT
    assert results.counts[Verdict.PASS] == len(results.cases) > 20


def test_a_server_that_is_lost_ends_the_run_soon(tmp_path, monkeypatch):
    monkeypatch.setattr("harness.servers.watch.Watch.within", 0.2)
    monkeypatch.setattr("harness.peers.PATIENCE", 1.0)
    with RobustServer("0.5.6") as server, dying_after(server, connections=30):
        code, results = judged(tmp_path, f"127.0.0.1:{server.port}", target="live", only=("servers.captured.demanded",))
    assert code == ExitCode.NOT_CONFORMANT
    lost = [case for case in results.cases if case.not_run]
    assert len(lost) > 50
    assert {case.verdict for case in lost} == {Verdict.CRASH}
    assert "was lost in an earlier case" in lost[0].why


def test_a_command_that_starts_no_server_ends_the_run_before_its_first_case(tmp_path):
    with pytest.raises(TargetUnavailable, match=r"ended with status 3 when it was started; it wrote:\nno such option"):
        judged(tmp_path, "exec:sh -c 'echo no such option; exit 3' {port}", target="live")
    assert not (tmp_path / "results.jsonl").exists()


@contextmanager
def dying_after(server, *, connections):
    """Stop a server when it has had so many connections."""

    def wait():
        server.journal.wait_for(lambda journal: journal.connection_count >= connections, 30.0)
        server.stop()

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield
    finally:
        thread.join(30.0)
