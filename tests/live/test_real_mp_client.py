"""lmcache's own multiprocess client, judged: what fails is what the shipped list says, with the mock and for real."""

from pathlib import Path

import pytest

from harness.clients.spec import open_client
from harness.runner import RunOptions, run_matrix
from harness.smoke import smoke
from reports.results import read_results
from reports.verdict import ExitCode, Verdict

pytestmark = pytest.mark.live

SOME = (
    "mp.frames.*",
    "mp.flow.*",
    "mp.memory.retrieve-from-*",
    "mp.memory.store-of-*",
    "mp.roundtrip.round-trip*",
)


def test_the_multiprocess_adapter_keeps_the_contract(pinned_release):
    checks = smoke(lambda: open_client("lmcache-mp:0.5.6"))
    assert {check.name: check.detail for check in checks if check.failed} == {}
    assert "mp round trip" in {check.name for check in checks}


@pytest.mark.parametrize(("release", "targets"), [("0.4.7", "fixtures,mock"), ("0.5.6", "fixtures,mock,live")])
def test_what_the_multiprocess_client_of_a_release_fails_is_listed_and_nothing_else_is(
    pinned_release, release, targets, tmp_path
):
    code = run_matrix(
        RunOptions(
            client=f"lmcache-mp:{release}",
            lmcache=release,
            target=targets,
            only=SOME,
            expectations=Path("lmcache-mp"),
            folder=tmp_path,
            jobs=1,
        )
    )
    results = read_results(tmp_path / "results.jsonl")
    assert code == ExitCode.CONFORMANT
    assert {case.verdict for case in results.cases} <= {Verdict.PASS, Verdict.UNSUPPORTED, Verdict.KNOWN_FAILURE}
    assert results.counts[Verdict.PASS] > 130
    assert results.counts[Verdict.KNOWN_FAILURE] >= 10
    assert {case.target for case in results.cases} == set(targets.split(","))
