"""Runs of the command line: in this process where that is enough, as a process of its own where signals and pipes matter."""

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from fixturegen.corpus import corpus_root, forget_corpora
from harness.cli.main import main
from harness.runner import RunOptions, run_matrix
from reports.results import read_results

SUBJECTS = Path(__file__).parent / "subjects"
PROGRAM = (sys.executable, "-m", "harness.cli.main")


@dataclass(frozen=True)
class Finished:
    """A command that ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Run:
    """A run that ended, with its folder."""

    code: int
    folder: Path

    @property
    def results(self):
        return read_results(self.folder / "results.jsonl")

    @property
    def cases(self):
        return self.results.cases

    @property
    def case(self):
        (found,) = self.cases
        return found

    def verdicts(self):
        return {case.id: str(case.verdict) for case in self.cases}

    def with_verdict(self, verdict):
        return [case for case in self.cases if case.verdict == verdict]


def environment(**changes):
    return {**os.environ, "PYTHONPATH": str(SUBJECTS), "COLUMNS": "120", **changes}


@pytest.fixture(autouse=True)
def _called_by_name(monkeypatch):
    """As if ``lmconform`` had been called by its name, also when the launcher of the source tree runs the tests."""
    monkeypatch.delenv("LMCONFORM_COMMAND", raising=False)


@pytest.fixture
def start(tmp_path):
    """Start ``lmconform`` as a process; whatever is left of it afterwards is killed."""
    running = []

    def begin(*words, **changes):
        process = subprocess.Popen(
            [*PROGRAM, *words], cwd=tmp_path, env=environment(**changes),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        running.append(process)
        return process

    yield begin
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def program(start):
    """``lmconform`` as a process, to its end."""

    def run(*words, **changes):
        process = start(*words, **changes)
        out, err = process.communicate(timeout=60)
        return Finished(process.returncode, out, err)

    return run


@pytest.fixture
def command(capfd, monkeypatch, tmp_path):
    """``lmconform`` in this process, in an empty folder."""
    monkeypatch.syspath_prepend(str(SUBJECTS))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)

    def run(*words):
        capfd.readouterr()
        code = main(words)
        return Finished(code, *capfd.readouterr())

    return run


@pytest.fixture
def judged(monkeypatch, tmp_path):
    """Run cases against a client in this process: ``judged(client, *only, **options)``."""
    monkeypatch.syspath_prepend(str(SUBJECTS))
    numbers = iter(range(1000))

    def run(client, *only, **options):
        folder = tmp_path / f"run-{next(numbers)}"
        chosen = {"lmcache": "0.5.6", **options}
        return Run(int(run_matrix(RunOptions(client=client, only=only, folder=folder, **chosen))), folder)

    return run


@pytest.fixture
def hosted():
    """A Python client in a process of its own, as a client specification."""

    def spec(name, module="broken_clients"):
        words = ["env", f"PYTHONPATH={SUBJECTS}", sys.executable, "-m", "harness.clients.host", f"{module}:{name}"]
        return f"stdio:{shlex.join(words)}"

    return spec


@pytest.fixture
def garbage_adapter():
    return f"stdio:{shlex.join([sys.executable, str(SUBJECTS / 'garbage_adapter.py')])}"


@pytest.fixture
def corpus_copy(tmp_path):
    """The corpus of one release, to be edited."""
    copy = tmp_path / "corpus"
    shutil.copytree(corpus_root() / "0.5.6", copy / "0.5.6")
    return copy


@pytest.fixture
def damaged_corpus(corpus_copy, monkeypatch):
    """A copy with an edited vector, in the place of the corpus."""
    path = corpus_copy / "0.5.6" / "token_hashes.jsonl"
    path.write_text(path.read_text().replace("0", "1", 1))
    monkeypatch.setattr("fixturegen.corpus.corpus_root", lambda: corpus_copy)
    forget_corpora()
    yield corpus_copy
    forget_corpora()
