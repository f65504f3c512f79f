"""The cases under plain pytest, as someone runs them who has the package installed and a project of their own."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from reports.results import read_results
from wire.release import KNOWN_RELEASES

CASES = Path(__file__).parents[2] / "cases"


@pytest.fixture
def plain_pytest(tmp_path):
    """Pytest in an empty folder."""

    def run(*words):
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words],
            cwd=tmp_path, capture_output=True, text=True, timeout=180, check=False,
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


@pytest.mark.parametrize("spread", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_unsupported_is_skipped_and_a_run_that_shows_nothing_fails(plain_pytest, tmp_path, spread):
    (tmp_path / "few.py").write_text(
        "from harness.reference.lm import ReferenceClient\n"
        "class Client(ReferenceClient):\n"
        "    def hello(self, **members):\n"
        "        return {**super().hello(**members), 'operations': []}\n"
    )
    ended = plain_pytest(
        "--pyargs", "cases.keys", "--lmcache", "0.5.6", "--only", "keys.tokens.*", "--client", "python:few:Client", *spread
    )
    assert re.search(r"^s+ ", ended.stdout, re.MULTILINE)
    assert "no case judged the client" in ended.stdout
    assert ended.returncode == 1


@pytest.mark.parametrize("operation", ["token_hashes", "bye"])
def test_a_client_that_ends_pytest_with_success_is_told_of_and_fails_the_run(plain_pytest, tmp_path, operation):
    (tmp_path / "leaving.py").write_text(
        "import os\n"
        "from harness.reference.lm import ReferenceClient\n"
        f"class Client(ReferenceClient):\n    def {operation}(self, **_):\n        os._exit(0)\n"
    )
    ended = plain_pytest(*MATRIX[:-2], "--client", "python:leaving:Client")
    assert ended.returncode == 3
    assert "the client ended the process that it runs in, pytest itself, with os._exit(0)" in ended.stderr


def test_children_that_a_client_forks_end_as_they_like(plain_pytest, tmp_path):
    (tmp_path / "forking.py").write_text(
        "import os\n"
        "from harness.reference.lm import ReferenceClient\n"
        "class Client(ReferenceClient):\n"
        "    def state(self, **members):\n"
        "        child = os.fork()\n"
        "        if child == 0:\n"
        "            os._exit(0)\n"
        "        assert os.waitpid(child, 0)[1] == 0\n"
        "        return super().state(**members)\n"
        "    def token_hashes(self, **members):\n"
        "        self.state()\n"
        "        return super().token_hashes(**members)\n"
    )
    ended = plain_pytest(*MATRIX[:-2], "--client", "python:forking:Client")
    assert ended.returncode == 0, ended.stdout


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


@pytest.fixture
def project(tmp_path):
    """A project of somebody else: a package in ``src``, fixtures and options of its own, and strict settings."""
    package = tmp_path / "src" / "theirs"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "from harness.reference.lm import ReferenceClient\nclass Client(ReferenceClient):\n    name = 'theirs'\n"
    )
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\npythonpath = src\naddopts = --strict-markers --strict-config\nfilterwarnings = error\n"
    )
    (tmp_path / "conftest.py").write_text(
        "import pytest\n"
        "def pytest_addoption(parser):\n"
        "    parser.addoption('--seed', type=int, default=7)\n"
        "    parser.getgroup('theirs').addoption('--only', action='store_true')\n"
        "@pytest.fixture\n"
        "def client():\n"
        "    return 'their client'\n"
        "@pytest.fixture\n"
        "def server(client):\n"
        "    return 'their server'\n"
    )
    (tmp_path / "tests").mkdir()

    def write(text):
        (tmp_path / "tests" / "test_theirs.py").write_text(text)

    return write


OWN = (
    "def test_theirs(client, server, request):\n"
    "    assert (client, server) == ('their client', 'their server')\n"
    "    assert request.config.getoption('--seed') == 5\n"
)


def test_options_and_fixtures_of_a_project_stay_its_own(project, plain_pytest):
    project(OWN)
    ended = plain_pytest("tests", "--seed", "5", "--only")
    assert "1 passed" in ended.stdout, ended.stdout + ended.stderr


def test_cases_run_spread_out_in_a_project_that_has_fixtures_of_the_same_names(project, plain_pytest, results):
    project(OWN)
    ended = plain_pytest(
        "--pyargs", "cases.lm.test_roundtrip", "cases.keys.test_tokens", "--client", "python:theirs:Client",
        "--lm-only", "*.roundtrip.*", "--lm-only", "keys.*", "--lmcache", "0.5.6", "--results", "results.jsonl", "-n", "2",
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert results().header.client.name == "theirs"
    assert {str(case.verdict) for case in results().cases} == {"pass"}


def test_cases_and_tests_of_a_project_run_together(project, plain_pytest):
    project("def test_theirs(client):\n    assert client == 'their client'\n")
    ended = plain_pytest("tests", "--pyargs", "cases.lm.test_roundtrip", "--lmcache", "0.5.6", "--client", "python:theirs:Client")
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("spread", [(), ("-n", "1")])
def test_an_option_that_a_project_has_taken_is_not_mistaken_for_ours(project, plain_pytest, spread):
    project(OWN)
    ended = plain_pytest("--pyargs", "cases.keys.test_tokens", "--lmcache", "0.5.6", "--seed=5", *spread)
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR
    assert ended.stderr.count("--seed went to another plugin or a conftest.py of this project") == 1
    assert "for the cases write --lm-seed" in ended.stderr


def test_cases_found_without_being_named_are_not_judged_by_options_of_others(project, plain_pytest, tmp_path):
    project(OWN)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\ntestpaths = {os.path.relpath(CASES / 'keys', tmp_path)}\n")
    ended = plain_pytest("--lmcache", "0.5.6", "--seed=5")
    assert ended.returncode not in {0, pytest.ExitCode.NO_TESTS_COLLECTED}
    assert "for the cases write --lm-seed" in ended.stdout + ended.stderr


LENT = """
import socket
import pytest

def test_newest(lm_mock, lm_release, lm_profile):
    assert lm_mock.release == lm_release == str(lm_profile.release) == {newest!r}
    assert lm_mock.url == f"lm://127.0.0.1:{{lm_mock.port}}"

@pytest.mark.lm_release("0.3.1", "0.5.6")
def test_two_releases(lm_profile, lm_vectors):
    size = {{"0.3.1": 32, "0.5.6": 36}}[lm_vectors.release]
    assert lm_profile.header.reply_size == size
    for given, expected in lm_vectors("encode_reply"):
        assert len(expected["bytes"]) == size and given["release"] == lm_vectors.release
    assert all(vector.expected is None and vector.refusal for vector in lm_vectors("encode_reply", refused=True))
"""


def test_the_fixtures_speak_the_releases_that_a_test_names(project, plain_pytest):
    project(LENT.format(newest=KNOWN_RELEASES[-1]))
    for spread in ((), ("-n", "2")):
        ended = plain_pytest("tests", *spread)
        assert "3 passed" in ended.stdout, ended.stdout


def test_an_ini_option_chooses_the_releases_unless_a_test_has_parameters(project, plain_pytest):
    project(
        "import pytest\n"
        "def test_theirs(lm_mock, lm_vectors):\n    assert lm_mock.release == lm_vectors.release\n"
        "@pytest.mark.parametrize('lm_release', ['0.5.6', '0.5.5'])\n"
        "def test_own(lm_mock, lm_release):\n    assert lm_mock.release == lm_release\n"
    )
    ended = plain_pytest("tests", "-vv", "-o", "lm_release=0.3.1 0.4.1")
    for name in ("test_theirs[0.3.1]", "test_theirs[0.4.1]", "test_own[0.5.6]", "test_own[0.5.5]"):
        assert f"{name} PASSED" in ended.stdout
    assert "4 passed" in ended.stdout


def test_a_test_runs_once_for_each_vector(project, plain_pytest):
    project(
        "import pytest\n"
        "@pytest.mark.lm_release('0.5.6')\n"
        "@pytest.mark.lm_vectors('token_hashes')\n"
        "def test_theirs(lm_vector):\n"
        "    assert lm_vector.input['tokens'] is not None and lm_vector.expected['hashes'] is not None\n"
    )
    captured = (CASES / "corpus" / "0.5.6" / "token_hashes.jsonl").read_text().splitlines()
    ended = plain_pytest("tests", "-vv")
    for line in captured:
        assert f"test_theirs[0.5.6-{json.loads(line)['id']}] PASSED" in ended.stdout
    assert f"{len(captured)} passed" in ended.stdout


def test_the_mock_misbehaves_remembers_and_can_be_filled(project, plain_pytest):
    project(
        "import pytest\n"
        "from harness.reference.lm import ReferenceClient\n"
        "KEY = {'model': 'm', 'world_size': 1, 'worker_id': 0, 'chunk_hash': {'int': '7'}, 'dtype': 'float16', 'fmt': None,\n"
        "       'layer': None, 'tags': []}\n"
        "def test_theirs(lm_mock, lm_release):\n"
        "    client = ReferenceClient()\n"
        "    host, port = lm_mock.address\n"
        "    client.connect(connection='a', protocol='lm', host=host, port=port, release=lm_release, timeout_ms=200)\n"
        "    text = client.format_key(release=lm_release, key=KEY)['text']\n"
        "    assert client.exist(connection='a', key=KEY) == {'exists': False}\n"
        "    lm_mock.store(text, b'abc')\n"
        "    assert client.exist(connection='a', key=KEY) == {'exists': True}\n"
        "    assert [exchange.key for exchange in lm_mock.exchanges('EXIST')] == [text, text]\n"
        "    lm_mock.misbehave('drop-reply')\n"
        "    with pytest.raises(Exception):\n"
        "        client.exist(connection='a', key=KEY)\n"
        "    with pytest.raises(ValueError, match='no-such-fault'):\n"
        "        lm_mock.misbehave('no-such-fault')\n"
    )
    ended = plain_pytest("tests")
    assert "1 passed" in ended.stdout, ended.stdout


SENSELESS = {
    "@pytest.mark.lm_release('9.9')\ndef test_theirs(lm_mock): pass": "'9.9' is not captured; there are 0.3.1, ",
    "@pytest.mark.lm_release\ndef test_theirs(lm_mock): pass": "@pytest.mark.lm_release names no release; write one such as",
    "def test_theirs(lm_vector): pass": "test_theirs uses lm_vector and does not say of which operation",
    "@pytest.mark.lm_vectors('encode')\ndef test_theirs(lm_vector): pass": "lm_vectors: no vectors of 'encode' for lmcache",
    "@pytest.mark.parametrize('lm_release', ['0.5.6'])\n@pytest.mark.lm_vectors('parse_key')\n"
    "def test_theirs(lm_vector, lm_release): pass":
        "choose the releases of lm_vector by @pytest.mark.lm_release",
}  # fmt: skip


def test_markers_that_make_no_sense_are_told_without_a_traceback(plain_pytest, tmp_path):
    for number, lines in enumerate(SENSELESS):
        (tmp_path / f"test_{number}.py").write_text(f"import pytest\n{lines}\n")
    ended = plain_pytest("--continue-on-collection-errors")
    assert f"{len(SENSELESS)} errors" in ended.stdout
    for message in SENSELESS.values():
        assert message in ended.stdout
    assert "harness/fixtures.py" not in ended.stdout
