"""Connectors in the real lmcache: the reference keeps every promise, mutants and lmcache's own break those that are told."""

from pathlib import Path

import pytest

from harness.runner import RunOptions, run_matrix
from reports.results import read_results
from reports.verdict import ExitCode, Verdict

pytestmark = pytest.mark.live

SOME = (
    "remote.loading.opened*",
    "remote.contract.awaited*",
    "remote.roundtrip.last-chunk*-7]",
    "remote.batches.get*",
    "remote.memory.lent*",
    "remote.memory.given-up*",
    "remote.errors.incomplete*-cut]",
    "remote.errors.backend-down*",
    "remote.close.closed*",
    "remote.durability.opened-again*",
    "remote.backend.stored*",
)
"""All of it, in all releases, is for tox."""


@pytest.fixture
def judge(pinned_release, tmp_path):
    def run(connector, *only, **options):
        told = {"lmcache": str(pinned_release), "target": "alone", "jobs": 1, "folder": tmp_path, "require": "should", **options}
        code = run_matrix(RunOptions(side="connector", client=connector, only=only, **told))
        return code, read_results(tmp_path / "results.jsonl")

    return run


def ended(results, verdict):
    return {case.id.partition("[")[0] for case in results.cases if case.verdict is verdict}


def test_the_reference_keeps_every_promise(judge):
    code, results = judge("reference", *SOME)
    assert code == ExitCode.CONFORMANT, ended(results, Verdict.FAIL)
    assert {case.verdict for case in results.cases} == {Verdict.PASS}


@pytest.mark.parametrize(
    ("mutant", "case"),
    [
        ("connector-gives-back-twice", "remote.memory.lent"),
        ("connector-short-batches", "remote.batches.get"),
        ("connector-takes-late-answers", "remote.errors.backend-slow"),
    ],
)
def test_a_mutant_breaks_its_promise(judge, mutant, case):
    code, results = judge(f"mutant:{mutant}", f"{case}*")
    assert code == ExitCode.NOT_CONFORMANT
    assert ended(results, Verdict.FAIL) == {case}


def test_the_file_system_connector_of_lmcache_fails_what_is_listed(judge):
    listed = ("remote.errors.changed*", "remote.roundtrip.listing*")
    code, results = judge("lmcache:fs", *SOME[:3], *listed, expectations=Path("lmcache-remote"))
    assert code == ExitCode.CONFORMANT, ended(results, Verdict.FAIL)
    assert ended(results, Verdict.KNOWN_FAILURE) == {"remote.errors.changed", "remote.roundtrip.listing"}
