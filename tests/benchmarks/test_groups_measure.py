"""Every group can be measured: with tiny amounts of work, once."""

import subprocess
import sys

import pytest

from benchmarks import codecs, keys, programs, reports, run, start, stdio
from benchmarks.groups import GROUPS
from benchmarks.keys import ROWS, made_by_wire, tokens_of
from benchmarks.measure import measured
from benchmarks.work import per_second
from reports.results import read_results
from reports.verdict import Verdict


def measured_once(module, wanted=None):
    """The figures of each comparison of a module by its name."""
    with module.opened() as comparisons:
        names = [comparison.name for comparison in comparisons]
        assert len(set(names)) == len(names)
        outcomes = [
            measured(comparison, rounds=1, seconds=0.01)
            for comparison in comparisons
            if wanted is None or comparison.name == wanted
        ]
    found = {outcome.comparison.name: {name: outcome.figure(name) for name in outcome.samples} for outcome in outcomes}
    assert all(figure > 0 for name, figures in found.items() for who, figure in figures.items() if who != "overhead")
    return found


def test_groups_have_names_of_their_own_and_titles():
    assert len({group.name for group in GROUPS}) == len(GROUPS)
    assert all(group.title for group in GROUPS)


def test_a_call_of_an_adapter_is_measured_beside_an_echo(monkeypatch):
    monkeypatch.setattr(stdio, "SIZES", {"PUT of 1 KiB": 1 << 10, "PUT of 80 KiB": 80 << 10})
    found = measured_once(stdio)
    assert list(found) == ["EXIST", "PUT of 1 KiB", "PUT of 80 KiB"]
    assert all(list(figures) == ["adapter", "echo", "overhead"] for figures in found.values())


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_wire_makes_the_keys_of_every_row(row):
    made = made_by_wire(row, tokens_of(4096))()
    assert len(made) == 4096 // row.chunk_size
    assert all(isinstance(key, str) for key in made) == row.strings


@pytest.mark.live
def test_keys_are_measured_beside_the_real_ones(monkeypatch, pinned_mp_release):
    of_lmcache_alone = [row for row in ROWS if row.release == str(pinned_mp_release) and row.algorithm in {"builtin", "blake3"}]
    monkeypatch.setattr(keys, "ROWS", of_lmcache_alone)
    monkeypatch.setattr(keys, "TOKENS", 4096)
    monkeypatch.setattr(keys, "VLLM", None)
    assert len(measured_once(keys)) == len(of_lmcache_alone) == 5


@pytest.mark.live
def test_a_function_that_is_not_there_is_no_builtin_in_disguise(monkeypatch, pinned_mp_release):
    monkeypatch.setattr(keys, "ROWS", [row for row in ROWS if row.algorithm == "sha256_cbor"][:1])
    monkeypatch.setattr(keys, "TOKENS", 4096)
    monkeypatch.setattr(keys, "VLLM", None)
    with pytest.raises(RuntimeError, match="sha256_cbor was asked for, builtin came"):
        measured_once(keys)


@pytest.mark.live
def test_codecs_are_measured_beside_the_real_ones(monkeypatch, pinned_mp_release):
    monkeypatch.setattr(codecs, "TIMES", 3)
    assert len(measured_once(codecs)) == 6


def test_a_run_is_measured_with_its_executions_and_its_memory(monkeypatch):
    monkeypatch.setattr(run, "MOST", {"0.5.6": 10.0})
    monkeypatch.setattr(run, "ONLY", ("keys.format.*",))
    found = measured_once(run)
    assert list(found) == ["a run for 0.5.6", "a run for 0.5.6: executions of cases", "a run for 0.5.6: peak memory"]


def test_the_start_is_measured_warm_and_cold():
    found = measured_once(start, "--version")
    assert list(found["--version"]) == ["warm", "cold", "bare interpreter"]


def test_a_report_is_measured_with_its_size_and_memory(monkeypatch):
    monkeypatch.setattr(reports, "COUNTS", (60,))
    assert len(measured_once(reports)) == 3


def test_made_results_can_be_read_and_have_failures(tmp_path):
    reports.write_results(tmp_path / "results.jsonl", 2500)
    results = read_results(tmp_path / "results.jsonl")
    assert results.incomplete is None
    assert (results.counts[Verdict.PASS], results.counts[Verdict.FAIL]) == (2400, 100)


def test_a_program_that_fails_is_no_figure():
    with pytest.raises(RuntimeError, match="ended with 3: said"):
        programs.spent([sys.executable, "-c", "print('said'); raise SystemExit(3)"])


def test_a_measured_program_keeps_what_it_compiles_whatever_the_caller_has_set(monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    programs.spent([sys.executable, "-c", "import sys; raise SystemExit(sys.dont_write_bytecode)"])


def test_the_memory_of_a_program_is_its_own():
    small = programs.spent([sys.executable, "-c", ""])
    large = programs.spent([sys.executable, "-c", "held = bytearray(64 << 20)"])
    assert 50 < large.peak_mib - small.peak_mib < 100


def test_work_is_done_at_least_once_and_counted():
    done = []
    assert per_second(lambda: done.append(1), 7, 0) > 0
    assert len(done) == 1


def test_the_command_lists_comparisons_and_measures_nothing():
    words = [sys.executable, "-m", "benchmarks", "start", "--list"]
    listed = subprocess.run(words, capture_output=True, text=True, check=True, cwd=programs.ROOT).stdout
    assert "start: --version (warm, cold, bare interpreter)" in listed
