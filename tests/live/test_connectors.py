"""Connectors in the real lmcache: the reference keeps every promise, mutants and lmcache's own break those that are told."""

from pathlib import Path

import pytest

from harness.runner import RunOptions, run_matrix
from reports.results import read_results
from reports.verdict import ExitCode, Verdict

pytestmark = pytest.mark.live

EVERYWHERE = (
    "remote.loading.opened*",
    "remote.contract.awaited*",
    "remote.roundtrip.last-chunk*-7]",
    "remote.memory.given-up*",
    "remote.errors.incomplete*",
    "remote.errors.changed*",
    "remote.close.closed*",
    "remote.durability.opened-again*",
    "remote.backend.stored*",
)
NEW = (*EVERYWHERE, "remote.batches.*", "remote.memory.*", "remote.backend.*")
"""0.3.1 has no batches."""
LM_BACKEND = "harness.remote.lm_backend:LmBackend"


@pytest.fixture
def judge(pinned_release, tmp_path):
    def run(connector, *only, **options):
        told = {"lmcache": str(pinned_release), "target": "alone", "jobs": 1, "folder": tmp_path, "require": "must", **options}
        code = run_matrix(RunOptions(side="connector", client=connector, only=only, **told))
        return code, read_results(tmp_path / "results.jsonl")

    return run


def ended(results, verdict):
    return {case.id.partition("[")[0] for case in results.cases if case.verdict is verdict}


@pytest.mark.parametrize(("release", "some"), [("0.5.6", NEW), ("0.3.1", EVERYWHERE)])
def test_the_reference_keeps_every_promise(judge, release, some):
    code, results = judge("reference", *some, lmcache=release, require="should")
    assert code == ExitCode.CONFORMANT, ended(results, Verdict.FAIL)
    assert len(ended(results, Verdict.PASS)) >= 9


@pytest.mark.parametrize(
    ("mutant", "case"),
    [
        ("connector-gives-back-twice", "remote.memory.lent"),
        ("connector-forgets-the-cancelled", "remote.memory.given-up"),
        ("connector-short-batches", "remote.batches.get"),
    ],
)
def test_a_mutant_breaks_its_promise(judge, mutant, case):
    code, results = judge(f"mutant:{mutant}", f"{case}*")
    assert code == ExitCode.NOT_CONFORMANT
    assert ended(results, Verdict.FAIL) == {case}


def test_the_file_system_connector_of_lmcache_fails_what_is_listed(judge):
    code, results = judge("lmcache:fs", *EVERYWHERE, "remote.roundtrip.listing*", expectations=Path("lmcache-remote"))
    assert code == ExitCode.CONFORMANT, ended(results, Verdict.FAIL)


def test_the_lm_connector_of_lmcache_does_not_find_a_server_that_came_back(judge):
    """Which shows that the case about a backend that goes away can fail; the reference has no backend."""
    code, results = judge("lmcache:lm", "remote.errors.backend-*", backend=LM_BACKEND)
    assert code == ExitCode.NOT_CONFORMANT
    assert ended(results, Verdict.FAIL) == {"remote.errors.backend-down", "remote.errors.backend-slow"}
