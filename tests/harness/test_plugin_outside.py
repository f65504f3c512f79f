"""The cases under plain pytest, as someone runs them who has the package installed and a project of their own."""

import os
import re
import subprocess
import sys

import pytest

from reports.results import read_results


@pytest.fixture
def plain_pytest(tmp_path):
    """Pytest in an empty folder."""

    def run(*words):
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words],
            cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
            env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST")},
        )  # fmt: skip

    return run


@pytest.fixture
def results(tmp_path):
    return lambda: read_results(tmp_path / "results.jsonl")


MATRIX = ("--pyargs", "cases.keys.test_tokens", "--lmcache", "0.5.6", "--results", "results.jsonl")


def test_the_matrix_runs_in_an_empty_folder(plain_pytest):
    ended = plain_pytest("--pyargs", "cases", "--client", "reference", "--lmcache", "0.5.6", "--only", "lm.roundtrip.*")
    assert ended.returncode == 0, ended.stdout
    assert re.search(r"\b\d+ passed", ended.stdout)
    assert "failed" not in ended.stdout


def test_without_a_results_file_nothing_is_written(plain_pytest, tmp_path):
    plain_pytest("--pyargs", "cases.keys", "--lmcache", "0.5.6", "--only", "keys.tokens.*")
    assert [path.name for path in tmp_path.iterdir() if path.name != "__pycache__"] == []


def test_two_workers_write_one_complete_file_with_the_same_cases(plain_pytest, results, judged):
    assert plain_pytest(*MATRIX, "-n", "2").returncode == 0
    found = results()
    assert found.incomplete is None
    assert {(case.id, case.verdict) for case in found.cases} == {
        (case.id, case.verdict) for case in judged("reference", "keys.tokens.*").cases
    }


def test_a_worker_that_dies_with_its_client_leaves_an_incomplete_file(plain_pytest, results, tmp_path):
    (tmp_path / "fatal.py").write_text(
        "import os, signal\n"
        "from harness.reference.lm import ReferenceClient\n"
        "class Client(ReferenceClient):\n"
        "    def token_hashes(self, **_):\n"
        "        os.kill(os.getpid(), signal.SIGSEGV)\n"
    )
    ended = plain_pytest(*MATRIX, "-n", "1", "--client", "python:fatal:Client", "--maxfail", "1")
    assert ended.returncode != 0
    assert results().exit_code == 3


def test_a_run_that_stops_at_the_first_failure_is_incomplete(plain_pytest, results, tmp_path):
    (tmp_path / "wrong.py").write_text(
        "from harness.reference.lm import ReferenceClient\n"
        "class Client(ReferenceClient):\n"
        "    def token_hashes(self, **_):\n"
        "        return {'hashes': ['00']}\n"
    )
    ended = plain_pytest(*MATRIX, "-x", "--client", "python:wrong:Client")
    assert ended.returncode == 1
    assert results().incomplete is not None


def test_unsupported_is_skipped(plain_pytest, tmp_path):
    (tmp_path / "few.py").write_text(
        "from harness.reference.lm import ReferenceClient\n"
        "class Client(ReferenceClient):\n"
        "    def hello(self, **members):\n"
        "        return {**super().hello(**members), 'operations': []}\n"
    )
    ended = plain_pytest(
        "--pyargs", "cases.keys", "--lmcache", "0.5.6", "--only", "keys.tokens.*", "--client", "python:few:Client"
    )
    assert re.match(r"s+ ", ended.stdout)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--lmcache", "9.9.9"], "lmcache 9.9.9 is not in the corpus"),
        (["--target", "cloud"], "unknown target cloud"),
        (["--examples", "0"], "--examples 0 would check nothing"),
        (["--only", "nothing"], "--only 'nothing' matches no case"),
        (["--client", "mine", "--results", "results.jsonl"], "'mine' is no client specification"),
        (["--results", "/proc/lmconform/results.jsonl"], "/proc/lmconform"),
    ],
)
def test_senseless_options_are_usage_errors_told_once(plain_pytest, words, message):
    ended = plain_pytest("--pyargs", "cases.keys.test_tokens", *words)
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR
    assert ended.stderr.count(message) == 1
    assert "INTERNALERROR" not in ended.stdout + ended.stderr


def test_a_project_without_cases_is_left_alone(plain_pytest, tmp_path):
    (tmp_path / "test_theirs.py").write_text("def test_theirs():\n    pass\n")
    assert "1 passed" in plain_pytest().stdout


def test_importing_the_plugin_costs_nothing():
    heavy = ["numpy", "jsonschema", "hypothesis", "rich", "typer", "docker"]
    script = (
        "import sys, harness.plugin; "
        "ours = {'wire', 'mockserver', 'fixturegen', 'reports', 'harness', 'cases'}; "
        f"print(sorted(name for name in sys.modules if name.split('.')[0] in ours or name in {heavy}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "['harness', 'harness.plugin', 'wire', 'wire.numerals']\n"
