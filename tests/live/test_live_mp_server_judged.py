"""The real multiprocess server, judged: it does what every server must, and falls short of what the shipped list says."""

from pathlib import Path

import pytest

from harness.runner import RunOptions, run_matrix
from reports.results import read_results
from reports.verdict import ExitCode, Verdict

pytestmark = pytest.mark.live

MUST = ("mp.servers.store.round-trip", "mp.servers.store.ranks", "mp.servers.lookup.*", "mp.servers.requests.*")
SHORT = (
    "mp.servers.bounds.stores-that-nobody-commits",
    "mp.servers.bounds.locks-*",
    "mp.servers.bounds.pickles",
)


def test_a_real_server_does_what_it_must_and_what_it_falls_short_of_is_listed(pinned_release, tmp_path):
    code = run_matrix(
        RunOptions(
            side="server",
            client="lmcache",
            protocol="mp",
            lmcache="0.5.6",
            target="live",
            only=(*MUST, *SHORT),
            expectations=Path("lmcache-mp-server"),
            folder=tmp_path,
            jobs=1,
        )
    )
    results = read_results(tmp_path / "results.jsonl")
    assert code == ExitCode.CONFORMANT
    short = {case.case for case in results.cases if case.verdict is Verdict.KNOWN_FAILURE}
    assert {one.rpartition(".")[2] for one in short} == {
        "stores-that-nobody-commits",
        "locks-of-others",
        "locks-end-with-their-request",
        "pickles",
    }
    assert results.counts[Verdict.PASS] > 20
    assert {case.verdict for case in results.cases} == {Verdict.PASS, Verdict.KNOWN_FAILURE}
