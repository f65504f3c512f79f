"""The real lm:// server, judged by what any server has to do and should do."""

from pathlib import Path

import pytest

from harness.runner import RunOptions, run_matrix
from reports.results import read_results
from reports.verdict import ExitCode, Verdict

QUICK = ("servers.captured.understood", "servers.hostile.*", "servers.wire.*", "servers.better.list", "servers.better.prompt")
"""The rest is for ``tox -e server-lm-all``: much of it are conversations that other tests hold with the real server."""


@pytest.mark.live
def test_the_real_server_is_as_its_list_says(pinned_release, tmp_path):
    options = RunOptions(
        side="server",
        client="lmcache",
        protocol="lm",
        lmcache=str(pinned_release),
        target="live",
        examples=5,
        only=QUICK,
        expectations=Path("lmcache-server"),
        folder=tmp_path,
    )
    assert run_matrix(options) == ExitCode.CONFORMANT
    results = read_results(tmp_path / "results.jsonl")
    assert results.counts[Verdict.KNOWN_FAILURE] == 7
    assert results.counts[Verdict.PASS] + results.counts[Verdict.KNOWN_FAILURE] == len(results.cases) > 75
