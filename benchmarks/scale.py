"""A run with more processes, and a run in shards: how much longer is the longest shard than the mean?

A shard is measured by the seconds that its cases take, one after another, so that the figure is that of a machine of its own.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmarks.comparison import Comparison, Contender, Target
from benchmarks.programs import compiling
from reports.outputs import RESULTS
from reports.results import Results, read_results

SELECTION: Final = ("--client", "reference", "--lmcache", "0.5.6")
SHARDS: Final = 4
JOBS: Final = (1, 2, 4)


@contextlib.contextmanager
def opened(selection: Sequence[str] = SELECTION) -> Iterator[Sequence[Comparison]]:
    """Runs of the reference client for one release, on fixtures and mock."""
    with tempfile.TemporaryDirectory() as folder:
        lap = _Lap(lambda: [_seconds(_run(selection, folder, "--jobs", "1", "--shard", f"{n}/{SHARDS}")) for n in _numbers()])
        yield (
            Comparison(
                "run with --jobs",
                "s",
                "less",
                tuple(Contender(f"{jobs} at once", _Timed(selection, folder, jobs)) for jobs in JOBS),
                note="Wall clock, start and reports included.",
                rounds=1,
            ),
            Comparison(
                f"cases of {SHARDS} shards",
                "s",
                "less",
                (Contender("longest", lap.told(max)), Contender("mean", lap.told(lambda long: sum(long) / len(long)))),
                targets=(Target("longest", at_most=1.15, over="mean"),),
                note="Seconds that the cases of a shard take one after another; start and collection are the same for each.",
                rounds=1,
            ),
        )


class _Timed:
    """Measures the wall clock of a run."""

    def __init__(self, selection: Sequence[str], folder: str, jobs: int) -> None:
        self._words = (*selection, "--jobs", str(jobs))
        self._folder = folder

    def __call__(self, _: float) -> float:
        began = time.perf_counter()
        _run((), self._folder, *self._words)
        return time.perf_counter() - began


class _Lap:
    """All shards of a run, once for all contenders that look at them in the same round."""

    def __init__(self, run: Callable[[], list[float]]) -> None:
        self._run = run
        self._long: list[float] = []
        self._asked: set[int] = set()

    def told(self, figure: Callable[[list[float]], float]) -> Callable[[float], float]:
        """What measures one figure of the shards."""

        def measure(_: float) -> float:
            if not self._long or id(measure) in self._asked:
                self._long, self._asked = self._run(), set()
            self._asked.add(id(measure))
            return figure(self._long)

        return measure


def _numbers() -> range:
    return range(1, SHARDS + 1)


def _run(selection: Sequence[str], folder: str, *words: str) -> Results:
    command = [sys.executable, "-m", "harness.cli.main", "run", *selection, *words, "--out", folder]
    subprocess.run(command, stdout=subprocess.DEVNULL, env=compiling(), check=True)
    return read_results(Path(folder) / RESULTS)


def _seconds(results: Results) -> float:
    return sum(case.seconds for case in results.cases)
