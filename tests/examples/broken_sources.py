"""Examples broken on purpose: one line of their source is another one, and the cases must name what is wrong.

An interpreted example is judged from a copy (:func:`broken_copy`); one that has to be compiled is built in a :class:`Workshop`.
"""

import contextlib
import fcntl
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.runner import RunOptions, run_matrix
from reports.record import CaseRecord
from reports.results import read_results
from reports.verdict import ExitCode, Verdict

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TABLE = EXAMPLES / "README.md"
MADE_BY_BUILDS = shutil.ignore_patterns("build", "target", "node_modules", "__pycache__")


@dataclass(frozen=True)
class Breakage:
    """A mistake that somebody could make, and the case that must tell of it."""

    name: str
    """The mistake in a few words with hyphens; the id of the test."""
    file: str
    """Where it is, relative to the folder of the example."""
    line: str
    """What stands there now: a text that occurs exactly once."""
    broken: str
    """What stands there then."""
    cases: tuple[str, ...]
    """The cases that must fail, such as ``lm.segments.split-header``; the first one stands in the table."""
    requirements: tuple[str, ...]
    """Every case that fails cites one of these; the first case says that it is the first of them that is broken."""
    only: tuple[str, ...] = ()
    """What is run, as ``--only`` takes it; those cases where nothing is given."""
    target: str = "mock"
    release: str = "0.5.6"


@contextlib.contextmanager
def broken(source: Path, breakage: Breakage) -> Iterator[None]:
    """The sources in that folder with the mistake in them; afterwards they are what they were."""
    file = source / breakage.file
    sound = file.read_text(encoding="utf-8")
    occurs = sound.count(breakage.line)
    assert occurs == 1, f"{breakage.name}: {breakage.file} must hold {breakage.line!r} exactly once, and holds it {occurs} times"
    file.write_text(sound.replace(breakage.line, breakage.broken), encoding="utf-8")
    try:
        yield
    finally:
        file.write_text(sound, encoding="utf-8")


@contextlib.contextmanager
def broken_copy(example: Path, breakage: Breakage, folder: Path) -> Iterator[Path]:
    """A copy of an example, in a folder that does not exist yet, with the mistake in it."""
    shutil.copytree(example, folder, ignore=MADE_BY_BUILDS)
    with broken(folder, breakage):
        yield folder


class Workshop:
    """A copy of an example that all test processes of a run build in, so that each build has only the changed file to do.

    Args:
        example: the folder of the example.
        build: builds the sources of the first folder into the second one and returns the program.
        shared: a folder that all test processes have in common.
    """

    def __init__(self, example: Path, build: Callable[[Path, Path], Path], shared: Path) -> None:
        self._example = example
        self._build = build
        self._shared = shared / f"workshop-{example.name}"

    def sound(self) -> str:
        """The example as it is, as ``--client`` takes it; built by whoever asks first."""
        client = self._shared / "sound"
        with self._alone():
            if not client.exists():
                self._program(client)
        return spec(client)

    def broken(self, breakage: Breakage, folder: Path) -> str:
        """The example with the mistake in it, as ``--client`` takes it; the program is put into ``folder``."""
        client = folder / "broken"
        with self._alone(), broken(self._source, breakage):
            self._program(client)
        return spec(client)

    @property
    def _source(self) -> Path:
        return self._shared / "source"

    def _program(self, client: Path) -> None:
        shutil.copy2(self._build(self._source, self._shared / "build"), client)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        self._shared.mkdir(exist_ok=True)
        with (self._shared / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self._source.exists():
                shutil.copytree(self._example, self._source, ignore=MADE_BY_BUILDS)
            yield


def spec(program: Path, *interpreter: str) -> str:
    """A program as ``--client`` takes it, behind its interpreter where it has one."""
    return "stdio:" + shlex.join((*interpreter, str(program)))


def found(client: str, breakage: Breakage, folder: Path) -> CaseRecord:
    """Judge a broken client: the run is red, and its cases failed for a reason that fits. Returns the record of the first."""
    options = RunOptions(
        client=client,
        lmcache=breakage.release,
        target=breakage.target,
        only=breakage.only or breakage.cases,
        folder=folder,
    )
    assert run_matrix(options) == ExitCode.NOT_CONFORMANT, f"{breakage.name}: the run is not red"
    failed = [record for record in read_results(folder / "results.jsonl").cases if record.verdict is Verdict.FAIL]
    assert set(breakage.cases) <= {record.name for record in failed}
    assert all(set(breakage.requirements) & set(record.requirements) for record in failed)
    record = next(record for record in failed if record.name == breakage.cases[0])
    assert record.diagnosis is not None
    assert record.diagnosis.requirement == breakage.requirements[0]
    return record


def assert_in_table(breakage: Breakage, record: CaseRecord) -> None:
    """The README of the examples shows the mistake, the case that names it, and what that case said."""
    parts = {breakage.file, breakage.line, breakage.broken, breakage.requirements[0], record.name, record.why}
    table = TABLE.read_text(encoding="utf-8")
    missing = {part for part in parts if part not in table}
    assert not missing, f"{TABLE.name} does not show {missing} of {breakage.name}"
