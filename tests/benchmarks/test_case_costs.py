"""Costs are made of runs: the usual one of a case, those of variants that stand apart, and the start of a server by itself."""

import json
import types

import pytest

from benchmarks.case_costs import main, renewed
from harness.cli.main import main as run_cases
from harness.costs import Costs
from reports.record import CaseRecord
from reports.verdict import Verdict


def run(*executions):
    return types.SimpleNamespace(
        cases=[
            CaseRecord(f"{topic}.{case}", topic, case, release, target, Verdict.PASS, seconds, "", variant)
            for topic, case, release, target, variant, seconds in executions
        ]
    )


def test_a_cost_is_the_median_of_releases_and_the_mean_of_variants():
    releases = [("lm", "a", release, "mock", "x", seconds) for release, seconds in (("1", 0.01), ("2", 0.9), ("3", 0.02))]
    others = [("lm", "a", release, "mock", "y", 0.04) for release in "123"]
    assert renewed(Costs({}), [run(*releases, *others)]).seconds == {"lm.a": {"mock": 0.03}}


def test_a_variant_that_stands_apart_has_a_cost_of_its_own():
    variants = [("lm", "a", "1", "mock", name, 0.01) for name in "xyz"]
    found = renewed(Costs({}), [run(*variants, ("lm", "a", "1", "mock", "slow-one", 2.0))])
    assert found.seconds == {"lm.a": {"mock": 0.01, "mock-slow-one": 2.0}}


def test_the_first_live_case_of_a_release_waits_for_the_server():
    found = renewed(Costs({}), [run(*(("lm", "a", "1", "live", name, seconds) for name, seconds in (("x", 9.0), ("y", 0.5))))])
    assert (found.live_start, found.seconds) == (9.0, {"lm.a": {"live": 0.5}})


def test_what_no_run_has_keeps_its_cost():
    before = Costs({"lm.a": {"mock": 1.0, "mock-x": 3.0, "live": 5.0}, "lm.b": {"mock": 2.0}}, 7.0)
    found = renewed(before, [run(("lm", "a", "1", "mock", None, 0.5))])
    assert (found.seconds, found.live_start) == ({"lm.a": {"live": 5.0, "mock": 0.5}, "lm.b": {"mock": 2.0}}, 7.0)


def test_runs_that_are_there_are_written_as_costs(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert (
        run_cases(["run", "--lmcache", "0.5.6", "--target", "mock", "--only", "lm.roundtrip.miss", "--jobs", "1", "--out", "run"])
        == 0
    )
    out = tmp_path / "costs.json"
    assert main(["run", "--out", str(out)]) == 0
    assert "of 1 case:" in capfd.readouterr().out
    written = json.loads(out.read_text())
    assert written["seconds"]["lm.roundtrip.miss"]["mock"] == pytest.approx(0.1, abs=5)
    assert Costs.from_json(written).to_json() == written


def test_results_that_are_not_there_are_told_and_end_with_2(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main([str(tmp_path / "no"), "--out", str(tmp_path / "costs.json")])
    assert ended.value.code == 2
    assert "no such file; name the folder or results.jsonl of a run with --jobs 1" in capsys.readouterr().err
