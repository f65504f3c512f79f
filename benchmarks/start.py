"""Starting: the program cold and warm, its help, and the corpus."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from benchmarks.comparison import Comparison, Contender, Target
from benchmarks.programs import spent

MOST: Final = 150.0
"""Milliseconds of the version, warm."""
_MAIN: Final = ("-c", "import sys; from harness.cli.main import main; sys.exit(main())")
_CORPUS: Final = "from fixturegen.corpus import captured_releases, load_corpus; {}"
_ONE: Final = _CORPUS.format("load_corpus(captured_releases()[-1])")
_ALL: Final = _CORPUS.format("[load_corpus(release) for release in captured_releases()]")
_NOTE: Final = (
    "Each is an interpreter of its own, from its start to its end; cold is with compiled modules in an empty folder, so that all "
    "are compiled. The bare interpreter is what none of them can be below."
)


@contextlib.contextmanager
def opened() -> Iterator[Sequence[Comparison]]:
    """Nothing but the comparisons."""
    bare = Contender("bare interpreter", _milliseconds("-c", ""))
    yield [
        Comparison(
            "--version",
            "ms",
            "less",
            (Contender("warm", _milliseconds(*_MAIN, "--version")), Contender("cold", _cold(*_MAIN, "--version")), bare),
            (Target("warm", at_most=MOST),),
            _NOTE,
        ),
        Comparison("--help", "ms", "less", (Contender("warm", _milliseconds(*_MAIN, "--help")), bare)),
        Comparison("run --help", "ms", "less", (Contender("warm", _milliseconds(*_MAIN, "run", "--help")), bare)),
        Comparison("corpus loaded", "ms", "less", (Contender("one release", _milliseconds("-c", _ONE)), bare), rounds=3),
        Comparison("whole corpus loaded", "ms", "less", (Contender("all releases", _milliseconds("-c", _ALL)), bare), rounds=1),
    ]


def _milliseconds(*words: str) -> Callable[[float], float]:
    """How long an interpreter takes, once."""
    return lambda _: spent([sys.executable, *words]).seconds * 1000


def _cold(*words: str) -> Callable[[float], float]:
    def measure(seconds: float) -> float:
        del seconds
        with tempfile.TemporaryDirectory(prefix="lmconform-benchmarks-") as folder:
            return spent([sys.executable, *words], env={**os.environ, "PYTHONPYCACHEPREFIX": folder}).seconds * 1000

    return measure
