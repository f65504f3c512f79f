"""lmcache's own client, judged: the adapter keeps the contract, and what fails is what the shipped list says."""

from pathlib import Path

import pytest

from harness.clients.spec import open_client
from harness.runner import RunOptions, run_matrix
from harness.smoke import smoke
from reports.results import read_results
from reports.verdict import ExitCode, Verdict

pytestmark = pytest.mark.live

RELEASES = ("0.3.1", "0.3.12", "0.5.6")
SOME = (
    "keys.format.*",
    "keys.chunks.*",
    "layouts.packing.pack*",
    "lm.reply.*",
    "lm.metadata.*",
    "lm.roundtrip.dtypes*",
    "lm.roundtrip.formats*",
    "lm.request.long-key*",
    "lm.segments.split-at-the-body*",
    "lm.misbehaviour.duplicated-reply*",
    "lm.connection.server-dies*",
)


@pytest.mark.parametrize("release", RELEASES)
def test_the_adapter_keeps_the_contract_where_lmcache_lets_it(pinned_release, release):
    """A wait for a silent server has no end in lmcache, and the adapter repairs nothing."""
    failed = {check.name: check.detail for check in smoke(lambda: open_client(f"lmcache:{release}")) if check.failed}
    assert list(failed) == ["deadline"]
    assert failed["deadline"].startswith("exist: no answer within 5.5 s; the server does not answer, and timeout_ms was 500\n")


@pytest.mark.parametrize(
    ("release", "targets"),
    [("0.3.1", "fixtures,mock"), ("0.3.12", "fixtures,mock"), ("0.5.6", "fixtures,mock,live")],
)
def test_what_the_client_of_a_release_fails_is_listed_and_nothing_else_is(pinned_release, release, targets, tmp_path):
    code = run_matrix(
        RunOptions(
            client=f"lmcache:{release}",
            lmcache=release,
            target=targets,
            only=SOME,
            expectations=Path("lmcache"),
            folder=tmp_path,
            jobs=1,
        )
    )
    results = read_results(tmp_path / "results.jsonl")
    assert code == ExitCode.CONFORMANT
    assert {case.verdict for case in results.cases} <= {Verdict.PASS, Verdict.UNSUPPORTED, Verdict.KNOWN_FAILURE}
    assert results.counts[Verdict.PASS] > 200
    assert results.counts[Verdict.KNOWN_FAILURE] >= 10
    assert {case.target for case in results.cases} == set(targets.split(","))
