"""Whole runs of the reference client: seconds, executions of cases a second, memory."""

from __future__ import annotations

import contextlib
import functools
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmarks.comparison import Comparison, Contender, Target
from benchmarks.programs import Remembered, Spent, spent
from harness.interpreter import program
from reports.results import read_results

NEWEST: Final = "0.5.6"
MOST: Final = {NEWEST: 10.0, "all": 60.0}
"""Seconds that a run may take by the releases that it is about."""
ONLY: Final[tuple[str, ...]] = ()
"""Patterns of cases; none is all."""
_NOTE: Final = (
    "`lmconform run --client reference` against fixtures and mock, with as many workers as it takes by itself, from the start of "
    "the program to its end; one round, after a run for one release that is not measured. Memory is that of the process that "
    "starts the workers, or of the largest of them."
)


@contextlib.contextmanager
def opened() -> Iterator[Sequence[Comparison]]:
    """A folder for results."""
    with tempfile.TemporaryDirectory(prefix="lmconform-benchmarks-") as folder:
        yield [one for releases, most in MOST.items() for one in _comparisons(releases, most, Path(folder) / releases)]


@functools.cache
def _warm_up(folder: Path) -> None:
    """Compile all modules: their first run after a change takes seconds longer, which is no figure of a run."""
    spent(program("harness.cli.main", _words(NEWEST, folder / "warm-up")))


def _words(releases: str, folder: Path) -> list[str]:
    words = ["run", "--client", "reference", "--lmcache", releases, "--target", "fixtures,mock", "--out", str(folder)]
    return words + [word for pattern in ONLY for word in ("--only", pattern)]


def _comparisons(releases: str, most: float, folder: Path) -> Iterator[Comparison]:
    def once() -> Spent:
        _warm_up(folder.parent)
        return spent(program("harness.cli.main", _words(releases, folder)))

    def executions(seconds: float) -> float:
        del seconds
        took = run.last.seconds
        return len(read_results(folder / "results.jsonl").cases) / took

    run = Remembered(once)
    name = "a run for all releases" if releases == "all" else f"a run for {releases}"
    target = Target("run", at_most=most)
    yield Comparison(name, "s", "less", (Contender("run", run.seconds),), (target,), _NOTE, rounds=1)
    yield Comparison(f"{name}: executions of cases", "1/s", "more", (Contender("run", executions),), rounds=1)
    yield Comparison(f"{name}: peak memory", "MiB", "less", (Contender("run", run.peak_mib),), rounds=1)
