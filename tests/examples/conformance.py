"""What every example must show: a run that is green, and for the right reason."""

from harness.runner import RunOptions, run_matrix
from harness.usage import parse_releases
from reports.results import read_results
from reports.verdict import ExitCode, Verdict


def assert_conformant(client, folder, *, releases, target="fixtures,mock", unsupported):
    """Nothing fails, cases pass for each release, and only these operations are missing. Releases as ``--lmcache`` takes them."""
    options = RunOptions(client=client, lmcache=releases, target=target, folder=folder)
    assert run_matrix(options) == ExitCode.CONFORMANT
    cases = read_results(folder / "results.jsonl").cases
    assert {case.operation for case in cases if case.verdict is Verdict.UNSUPPORTED} <= unsupported
    passed = {case.release for case in cases if case.verdict is Verdict.PASS}
    assert passed == {str(release) for release in parse_releases(releases)}
