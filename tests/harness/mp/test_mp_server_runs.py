"""Runs that judge a multiprocess server which somebody else started: one that does not survive is never called conformant."""

import pytest

from harness.runner import RunOptions, run_matrix
from mockserver.mp import MpServer
from reports.results import read_results
from reports.verdict import ExitCode, Verdict


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr("harness.servers.watch.Watch.within", 0.3)
    monkeypatch.setattr("harness.mp.witness.SERVED_WITHIN", 1.0)


def judged(folder, server, *only):
    host, port = server.address
    options = {"protocol": "mp", "require": "must", "lmcache": "0.5.5", "target": "live", "only": only, "folder": folder}
    code = run_matrix(RunOptions(side="server", client=f"{host}:{port}", **options))
    return code, read_results(folder / "results.jsonl")


def test_the_case_that_a_server_does_not_survive_is_a_hang_and_no_case_is_run_after_it(impatient, tmp_path, capfd):
    deadly = "mp.servers.unreadable.messages[0.5.5-live-empty-frame]"
    others = "mp.servers.unreadable.messages[0.5.5-live-operation-*]"
    with MpServer("0.5.5") as server:
        code, results = judged(tmp_path, server, deadly, others)
        where = "{}:{}".format(*server.address)
    assert code == ExitCode.NOT_CONFORMANT
    by_id = {case.id: case for case in results.cases}
    killer = by_id.pop(deadly)
    assert (killer.verdict, killer.not_run) == (Verdict.HANG, False)
    assert f"the server at {where} did not survive it" in killer.why
    assert len(by_id) > 5
    assert {(case.verdict, case.not_run) for case in by_id.values()} == {(Verdict.HANG, True)}
    head = capfd.readouterr().out
    assert f"server at {where}\n" in head
    assert "(unknown)" not in head


def test_what_a_server_survives_and_should_do_better_is_a_shortfall(tmp_path):
    with MpServer("0.5.5", shared_memory=True) as server:
        code, results = judged(tmp_path, server, "mp.servers.bounds.locks-end-with-their-request")
    assert [case.verdict for case in results.cases] == [Verdict.SHORTFALL]
    assert code == ExitCode.NOT_CONFORMANT  # nothing else ran, so that nothing was shown
