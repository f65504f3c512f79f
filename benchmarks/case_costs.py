"""How long each kind of execution takes: makes ``harness/costs.json``, by which ``--shard`` deals a run out.

    python -m benchmarks.case_costs               # makes the runs, one execution at a time, and writes the file
    python -m benchmarks.case_costs RESULTS ...   # takes runs that are there; kinds that they lack keep what they had

Runs that were made with ``--jobs 1`` on a quiet machine are best. A cost is the median over the releases of a variant, and then
the mean over the variants of a case.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import harness
from harness.costs import Costs
from reports.outputs import RESULTS
from reports.record import CaseRecord
from reports.results import Results, ResultsError, read_results
from reports.words import count

FILE: Final = Path(harness.__file__).with_name("costs.json")
APART: Final = 0.05
"""Seconds by which a variant must differ from the others of its case to have a cost of its own."""
RUNS: Final = (
    ("run", "--client", "reference", "--lmcache", "0.3.1,0.4.3,0.5.6"),
    ("run", "--client", "reference-mp", "--lmcache", "0.4.7,0.5.3,0.5.6"),
    ("run", "--client", "reference", "--lmcache", "0.5.6", "--target", "live"),
    ("run", "--client", "reference-mp", "--lmcache", "0.5.6", "--target", "live"),
    ("server", "mock", "--lmcache", "0.5.6"),
    ("server", "mock", "--lmcache", "0.5.6", "--protocol", "mp"),
    ("plugin", "reference", "--lmcache", "0.5.6", "--target", "alone,live"),
    ("connector", "reference", "--lmcache", "0.5.6"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file and say how many kinds it has."""
    parser = argparse.ArgumentParser("python -m benchmarks.case_costs", description="Measure what each kind of execution costs.")
    parser.add_argument("results", nargs="*", type=Path, help="results of runs; without any the runs are made")
    parser.add_argument("--out", type=Path, default=FILE, help="the file to write")
    options = parser.parse_args(arguments)
    if options.results:
        found = []
        for path in options.results:
            file = path / RESULTS if path.is_dir() else path
            if not file.is_file():
                parser.error(f"{file}: no such file; name the folder or {RESULTS} of a run with --jobs 1")
            try:
                found.append(read_results(file))
            except ResultsError as error:
                parser.error(str(error))
    else:
        found = list(_made())
    before = Costs.from_json(json.loads(options.out.read_text("utf-8"))) if options.out.exists() else Costs({})
    costs = renewed(before, found)
    options.out.write_text(json.dumps(costs.to_json(), indent=1) + "\n", "utf-8")
    print(f"{count(sum(map(len, costs.seconds.values())), 'cost')} of {count(len(costs.seconds), 'case')}: {options.out}")
    return 0


def renewed(before: Costs, runs: Iterable[Results]) -> Costs:
    """Costs as the runs show them; those of cases that no run has stay as they were."""
    seconds: dict[str, dict[str, dict[str, list[float]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    starts: list[float] = []
    for run in runs:
        began = set()
        for case in run.cases:
            if case.target == "live" and case.release not in began:  # it waits for the server, which is counted apart
                began.add(case.release)
                starts.append(case.seconds)
            else:
                seconds[_name(case)][case.target][_variant(case)].append(case.seconds)
    costs = {name: dict(of) for name, of in before.seconds.items()}
    for name, targets in seconds.items():
        kept = {known: value for known, value in costs.get(name, {}).items() if known.split("-")[0] not in targets}
        for target, variants in targets.items():
            kept |= _of_target(target, {variant: statistics.median(values) for variant, values in variants.items()})
        costs[name] = dict(sorted(kept.items()))
    return Costs(costs, round(statistics.median(starts), 1) if starts else before.live_start)


def _of_target(target: str, variants: dict[str, float]) -> dict[str, float]:
    usual = statistics.median(variants.values())
    apart = {variant: value for variant, value in variants.items() if variant and abs(value - usual) > APART}
    others = [value for variant, value in variants.items() if variant not in apart] or [usual]
    return {target: _rounded(statistics.fmean(others))} | {
        f"{target}-{variant}": _rounded(value) for variant, value in sorted(apart.items())
    }


def _rounded(seconds: float) -> float:
    return round(seconds, 4)


def _name(case: CaseRecord) -> str:
    return f"{case.topic}.{case.case}"


def _variant(case: CaseRecord) -> str:
    return case.variant or ""


def _made() -> Iterable[Results]:
    with tempfile.TemporaryDirectory() as folder:
        for words in RUNS:
            print("lmconform", *words, flush=True)
            command = [sys.executable, "-m", "harness.cli.main", *words, "--jobs", "1", "--out", folder]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode > 1:
                raise SystemExit(f"exit code {done.returncode}:\n{done.stderr}")
            yield read_results(Path(folder) / RESULTS)


if __name__ == "__main__":
    sys.exit(main())
