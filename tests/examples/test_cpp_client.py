"""The C++ example is conformant, and a defect in its header reader is found and named."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from generations import REPRESENTATIVES, comma_separated

from harness.runner import RunOptions, run_matrix
from reports.results import read_results
from reports.verdict import ExitCode, Verdict

SOURCE = Path(__file__).resolve().parents[2] / "examples" / "cpp"
WHOLE_READ = "while (received < size)"
SINGLE_READ = "if (received < size)"
UNSUPPORTED = {"chunk_keys", "deployment_keys", "concurrent"}


def build(cmake, source, folder):
    subprocess.run([cmake, "-S", source, "-B", folder, "-DCMAKE_BUILD_TYPE=Release"], check=True, capture_output=True, timeout=120)
    subprocess.run([cmake, "--build", folder, "--parallel", "2"], check=True, capture_output=True, timeout=600)
    return f"stdio:{shlex.quote(str(folder / 'lmclient'))}"


@pytest.fixture(scope="module")
def client(cmake, tmp_path_factory):
    return build(cmake, SOURCE, tmp_path_factory.mktemp("cpp-build"))


@pytest.mark.parametrize(
    ("target", "releases"), [("fixtures", "all"), ("mock", comma_separated(REPRESENTATIVES))], ids=["fixtures", "mock"]
)
def test_it_is_conformant_on_fixtures_of_every_release_and_the_mock_of_every_generation(client, tmp_path, target, releases):
    assert run_matrix(RunOptions(client=client, lmcache=releases, target=target, folder=tmp_path)) == ExitCode.CONFORMANT
    results = read_results(tmp_path / "results.jsonl")
    assert {case.operation for case in results.cases if case.verdict is Verdict.UNSUPPORTED} <= UNSUPPORTED


@pytest.mark.live
def test_it_is_conformant_on_the_real_server(client, pinned_release, tmp_path):
    options = RunOptions(client=client, lmcache=str(pinned_release), target="live", folder=tmp_path)
    assert run_matrix(options) == ExitCode.CONFORMANT


def test_a_header_reader_that_reads_once_is_named(cmake, tmp_path):
    source = shutil.copytree(SOURCE, tmp_path / "source", ignore=shutil.ignore_patterns("build"))
    (defective,) = [path for path in (source / "src").glob("*.cpp") if WHOLE_READ in path.read_text()]
    text = defective.read_text()
    assert text.count(WHOLE_READ) == 1
    defective.write_text(text.replace(WHOLE_READ, SINGLE_READ))
    client = build(cmake, source, tmp_path / "build")
    options = RunOptions(client=client, lmcache="0.5.6", target="mock", only=("lm.segments.*",), folder=tmp_path / "results")
    assert run_matrix(options) == ExitCode.NOT_CONFORMANT
    failed = [case for case in read_results(tmp_path / "results" / "results.jsonl").cases if case.verdict is Verdict.FAIL]
    assert {"lm.segments.split-header", "lm.segments.split-header-of-get", "lm.segments.byte-by-byte"} <= {
        case.name for case in failed
    }
    assert all("LM-REPLY-003" in case.requirements or "LM-GET-002" in case.requirements for case in failed)
