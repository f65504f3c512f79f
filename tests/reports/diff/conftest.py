"""Pairs of runs to compare."""

import dataclasses

import pytest

from reports.diagnosis import Diagnosis
from reports.diff.compare import compare
from reports.diff.model import Run
from reports.expectation import Listed, Standing
from reports.parts import Selection
from reports.record import RunFooter
from reports.results import Results
from reports.verdict import Verdict, count_verdicts, exit_code


@pytest.fixture
def run(header):
    """``run(case, ..., name="main", incomplete="why", releases=...)``: a run under a name, with other members of its header."""

    def made(*cases, name="main", incomplete=None, **about):
        counts = count_verdicts(case.verdict for case in cases)
        footer = RunFooter(counts, 4.25, exit_code(counts), "2026-01-02T03:05:05Z", complete=incomplete is None)
        return Run(name, Results(dataclasses.replace(header, **about), cases, footer, incomplete))

    return made


@pytest.fixture
def fail(make_case):
    """``fail(name, "why")``: a case that failed, with its requirement."""

    def made(name="lm.get.partial-header", why="wrong", *, level="MUST", verdict=Verdict.FAIL, **more):
        diagnosis = Diagnosis(
            why, requirement="LM-GET-004", level=level, statement="A client asks.", rerun=f"lmconform run --only {name}"
        )
        return make_case(name, verdict, diagnosis=diagnosis, **more)

    return made


@pytest.fixture
def listed():
    """``listed("flaky")``: an entry of the list of known failures, and that a case ended as it says."""

    def made(outcome="fail", ended=Verdict.FAIL):
        return Listed(1, outcome, Standing.AS_LISTED, ended, "it rounds", "2027-03-31")

    return made


@pytest.fixture
def selection():
    return Selection(10, "ab" * 32, None, 15.0, 30.0, "venv")


@pytest.fixture
def kinds():
    """What became of the cases of two runs, by id."""

    def found(old, new, releases=None):
        return {change.case.id: str(change.kind) for change in compare(old, new, releases).changes}

    return found


@pytest.fixture
def every_kind(run, fail, make_case, listed):
    """Two runs between which a case has become of every kind that there is."""
    known = listed("fail")
    old = run(
        make_case("lm.put.broken"), make_case("lm.put.broken", variant="b"),
        fail("lm.put.changed", "one"),
        make_case("lm.put.undecided"), make_case("lm.put.elsewhere", release="0.5.5"),
        make_case("lm.put.listed", Verdict.KNOWN_FAILURE, summary="w", expectation=known),
        make_case("lm.put.lost"), make_case("lm.put.short"), make_case("lm.put.flaky"), fail("lm.put.known"),
        make_case("lm.put.gone"), fail("lm.put.fixed"), make_case("lm.put.gained", Verdict.UNSUPPORTED, reason="none"),
        make_case("lm.get.same"), fail("lm.get.still"), name="main/results.jsonl",
    )  # fmt: skip
    new = run(
        fail("lm.put.broken", "now wrong"), fail("lm.put.broken", "now wrong", variant="b"),
        fail("lm.put.first"), fail("lm.put.changed", "two"),
        make_case("lm.put.undecided", Verdict.HARNESS_ERROR, summary="a bug"),
        make_case("lm.put.listed", Verdict.UNEXPECTED_PASS, reason="passes", expectation=known),
        make_case("lm.put.lost", Verdict.UNSUPPORTED, reason="gone"),
        make_case("lm.put.short", Verdict.SHORTFALL, summary="slow"),
        make_case("lm.put.flaky", expectation=listed("flaky", Verdict.PASS)),
        fail("lm.put.known", verdict=Verdict.KNOWN_FAILURE, expectation=known), make_case("lm.put.fixed"),
        make_case("lm.put.gained"), make_case("lm.put.new"), make_case("lm.get.same"), fail("lm.get.still"),
        name="branch/results.jsonl", releases=("0.5.6",), started="2026-01-03T00:00:00Z",
    )  # fmt: skip
    return old, new
