"""The reference client and the mock against the real server."""

import pytest

from fixturegen.environment import open_environment
from fixturegen.server_process import healthy
from harness.runner import RunOptions, run_matrix
from reports.results import read_results
from reports.verdict import ExitCode, Verdict


@pytest.mark.live
def test_the_reference_client_is_conformant_on_the_real_server(pinned_release, tmp_path):
    code = run_matrix(RunOptions(lmcache=str(pinned_release), target="live", folder=tmp_path))
    results = read_results(tmp_path / "results.jsonl")
    assert code == ExitCode.CONFORMANT
    assert results.counts[Verdict.PASS] == len(results.cases) > 190
    assert any(case.topic == "servers.agreement" for case in results.cases)


@pytest.mark.docker
def test_the_live_target_runs_in_a_container(engine, pinned_release, tmp_path):
    options = RunOptions(lmcache=str(pinned_release), target="live", runtime="docker", only=("lm.roundtrip.*",), folder=tmp_path)
    assert run_matrix(options) == ExitCode.CONFORMANT


@pytest.mark.live
def test_a_real_server_is_gone_when_it_is_no_longer_needed(pinned_release):
    with open_environment("venv").server(pinned_release) as address:
        assert healthy(pinned_release, address.host, address.port)
    with pytest.raises(OSError, match="refused"):
        healthy(pinned_release, address.host, address.port)
