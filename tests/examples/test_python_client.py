"""The Python example is conformant, and mistakes in it are found and named."""

import ast
import os
import re
import subprocess
import sys
import textwrap

import pytest
from broken_sources import EXAMPLES, Breakage, assert_in_table, broken_copy, found
from conformance import assert_conformant

from harness.cli.main import main
from harness.runner import RunOptions, run_matrix
from reports.results import read_results
from reports.verdict import ExitCode, Verdict

SOURCE = EXAMPLES / "python"
GUIDE = EXAMPLES.parent / "docs" / "guides" / "python-client.md"
MODULES = sorted(SOURCE.glob("*.py"))
CLIENT = "python:client:Client"
RELEASES = "0.3.1,0.5.6"
UNSUPPORTED = {"chunk_keys", "deployment_keys", "token_hashes"}
BREAKAGES = [
    Breakage(
        name="a-value-that-breaks-off-is-filled-up",
        file="lm_connection.py",
        line='raise ClientError("connection", f"the server closed {len(missing)} bytes before the end")',
        broken="break",
        cases=("lm.broken.truncated-payload",),
        only=("lm.broken.truncated-payload[0.5.6-mock-255]",),
        requirements=("LM-GET-004",),
    ),
    Breakage(
        name="integers-are-not-written-in-their-shortest-form",
        file="lm_wire.py",
        line="for code, size in ((24, 1), (25, 2), (26, 4), (27, 8)):",
        broken="for code, size in ((26, 4), (27, 8)):",
        cases=("keys.deployments.chain",),
        only=("keys.deployments.chain[0.5.6-fixtures-lm.deployments.vllm-0.28.0.seed-4242.sha256-cbor.three]",),
        requirements=("KEY-CHUNK-004",),
        target="fixtures",
    ),
    Breakage(
        name="only-the-size-is-compared",
        file="client.py",
        line="if got != wanted:",
        broken="if got.length != wanted.length:",
        cases=("lm.identity.reply-disagrees",),
        only=("lm.identity.reply-disagrees[0.5.6-mock-dtype-bfloat16]",),
        requirements=("LM-ID-007",),
    ),
]


@pytest.fixture
def enter(monkeypatch):
    """Go to the folder that holds the modules, as the README says, in a process that has not imported them yet."""

    def go(folder):
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "path", [*sys.path])
        for module in folder.glob("*.py"):
            monkeypatch.delitem(sys.modules, module.stem, raising=False)

    return go


def test_it_is_conformant_on_fixtures_and_mock_of_the_oldest_and_the_newest_release(enter, tmp_path):
    enter(SOURCE)
    assert_conformant(CLIENT, tmp_path, releases=RELEASES, unsupported=UNSUPPORTED)


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.name)
def test_a_mistake_in_it_is_found_and_named(enter, breakage, tmp_path):
    with broken_copy(SOURCE, breakage, tmp_path / "copy") as copy:
        enter(copy)
        record = found(CLIENT, breakage, tmp_path / "results")
    assert_in_table(breakage, record)


def test_plain_pytest_judges_it_from_its_folder():
    pytest_of_an_author = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--pyargs", "cases", "--client", CLIENT]
    chosen = ["--lmcache", "0.5.6", "-k", "parse_key or split_header"]
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHONPATH"))}
    done = subprocess.run(
        [*pytest_of_an_author, *chosen], cwd=SOURCE, env=plain, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


def test_the_smallest_client_of_the_guide_keeps_the_contract_and_passes_as_many_cases_as_it_says(enter, tmp_path):
    guide = GUIDE.read_text(encoding="utf-8")
    code = re.search(r"^Write `mine.py`:\n\n(.*?)^and call", guide, re.MULTILINE | re.DOTALL).group(1)
    (tmp_path / "mine.py").write_text(textwrap.dedent(code), encoding="utf-8")
    enter(tmp_path)
    assert main(["smoke", "--client", "python:mine:Client"]) == ExitCode.CONFORMANT
    options = RunOptions(client="python:mine:Client", lmcache="0.5.6", only=("keys.format.format",), folder=tmp_path)
    assert run_matrix(options) == ExitCode.NOT_CONFORMANT
    cases = read_results(tmp_path / "results.jsonl").cases
    passed = sum(case.verdict is Verdict.PASS for case in cases)
    assert f"passes {passed} of {len(cases)} cases" in " ".join(guide.split())


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_it_shares_nothing_with_the_harness_but_its_exceptions(module):
    nodes = list(ast.walk(ast.parse(module.read_text())))
    modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    froms = {node.module: {alias.name for alias in node.names} for node in nodes if isinstance(node, ast.ImportFrom)}
    assert froms.pop("harness.client") <= {"ClientError", "MissError", "UnsupportedError"}
    assert modules | froms.keys() <= sys.stdlib_module_names | {known.stem for known in MODULES}
