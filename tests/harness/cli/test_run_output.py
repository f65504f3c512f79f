"""What ``lmconform run`` shows, and where it puts its files."""

import fcntl
import os
import pty
import re
import shlex
import subprocess
import sys

import pytest

from harness.case import Cell
from harness.judged import SubjectOptions
from harness.matrix import Matrix
from harness.rerun import rerun
from harness.targets import LiveServers
from wire.release import Release

RELEASE = Release.parse("0.5.6")

QUICK = ("run", "--lmcache", "0.5.6", "--only", "keys.tokens.*")
FAILING = ("run", "--client", "python:broken_clients:WrongByte", "--lmcache", "0.5.6", "--only", "lm.request.encode")


def test_the_verdict_stands_at_the_end(command):
    ended = command(*QUICK)
    assert ended.code == 0
    assert re.search(r"^CONFORMANT  \d+ cases", ended.out, re.MULTILINE)
    assert re.search(r"^\d+ passed, 0 failed, 0 skipped\n\Z", ended.out, re.MULTILINE)


def test_results_go_to_a_folder_of_the_current_one(command, tmp_path):
    command(*QUICK)
    assert sorted(path.name for path in (tmp_path / "lmconform-results").iterdir()) == [
        "junit.xml",
        "report.html",
        "results.jsonl",
    ]


def test_the_folder_is_made_with_its_parents(command, tmp_path):
    assert command(*QUICK, "--out", "a/b c/d").code == 0
    assert (tmp_path / "a" / "b c" / "d" / "results.jsonl").is_file()


@pytest.mark.parametrize("failures", [0, 1])
def test_failures_are_explained_as_often_as_wished(command, failures):
    out = command(*FAILING, "--failures", str(failures)).out
    assert out.count("Why it matters") == failures


def test_a_file_where_the_folder_should_be_is_told_before_the_run(command, tmp_path):
    (tmp_path / "taken").touch()
    ended = command(*QUICK, "--out", "taken")
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err == "lmconform: cannot write results to taken: it is a file and no folder; name another folder with --out\n"


@pytest.mark.parametrize("name", ["results.jsonl", "junit.xml"])
def test_a_folder_where_a_file_should_be_is_told_before_the_run(command, tmp_path, name):
    (tmp_path / "out" / name).mkdir(parents=True)
    ended = command(*QUICK, "--out", "out")
    assert ended.code == 2
    assert f"cannot write out/{name}: it is a folder" in ended.err


def test_a_folder_that_cannot_be_made_is_told_before_the_run(command):
    ended = command(*QUICK, "--out", "/proc/lmconform")
    assert ended.code == 2
    assert ended.err.startswith("lmconform: cannot write results to /proc/lmconform: ")


def test_a_disk_that_is_full_is_no_traceback_and_no_verdict(command, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("reports.results.ResultsWriter.add", full)
    ended = command(*QUICK)
    assert ended.code == 3
    assert "the run cannot go on: No space left on device" in ended.out
    assert "Traceback" not in ended.out + ended.err


def test_a_damaged_corpus_is_told_before_the_run(command, damaged_corpus):
    for words in (QUICK, ("list", "--lmcache", "0.5.6")):
        ended = command(*words)
        assert ended.code == 2
        assert ended.out == ""
        assert "token_hashes.jsonl:" in ended.err
        assert "was edited after capture" in ended.err


def test_a_reader_that_goes_away_costs_neither_the_results_nor_the_exit_code(shell, tmp_path):
    ended = shell(f"{words(*QUICK)} | head -n 1; exit ${{PIPESTATUS[0]}}")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert '"complete":true' in (tmp_path / "lmconform-results" / "results.jsonl").read_text().splitlines()[-1]


def test_a_reader_of_the_list_that_goes_away_is_no_traceback(shell):
    ended = shell(f"{words('list', '--ids')} | head -n 1; exit ${{PIPESTATUS[0]}}")
    assert ended.stderr == ""
    assert ended.returncode in {0, 3}


def test_output_that_is_closed_is_no_traceback(shell):
    ended = shell(f"{words(*QUICK)} >&-")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_colours_are_left_out_with_no_color(tmp_path):
    coloured, plain = (terminal_output(tmp_path, NO_COLOR=value) for value in ("", "1"))
    assert b"\x1b[1;32m" in coloured
    assert b"\x1b[1;32m" not in plain
    assert b"CONFORMANT" in plain


@pytest.fixture
def shell(tmp_path):
    def run(line):
        return subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)

    return run


def words(*arguments):
    return shlex.join([sys.executable, "-m", "harness.cli.main", *arguments])


def terminal_output(folder, **changes):
    """What a run shows on a terminal."""
    variables = {**os.environ, "TERM": "xterm-256color", **changes}
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "harness.cli.main", *QUICK],
        cwd=folder, stdin=child, stdout=child, stderr=child, env={name: value for name, value in variables.items() if value},
    )  # fmt: skip
    os.close(child)
    shown = b""
    try:
        while data := os.read(parent, 65536):
            shown += data
    except OSError:
        pass  # a terminal whose last user went away
    finally:
        os.close(parent)
        process.wait(30)
    return shown


def test_two_runs_never_share_a_folder(command, tmp_path):
    (tmp_path / "out").mkdir()
    held = os.open(tmp_path / "out", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    ended = command(*QUICK, "--out", "out")
    os.close(held)
    assert ended.code == 2
    assert "another run writes into out; wait for it, or name another folder with --out" in ended.err


def test_rerun_lines_begin_as_the_launcher_was_called(monkeypatch):
    monkeypatch.setenv("LMCONFORM_COMMAND", "./lmconform")
    matrix = Matrix("reference", [RELEASE], ["mock"], (), LiveServers(), None)
    line = rerun(matrix, "lm.broken.late-reply[0.5.6-mock]", Cell(RELEASE, "mock"))
    assert line.startswith("./lmconform run --client reference")


@pytest.mark.parametrize(
    ("side", "matrix", "target", "said"),
    [
        ("server", {}, "live", "--runtime docker"),
        ("server", {"lenient": False}, "live", "--require should"),
        ("plugin", {"lenient": False}, "alone", "--require should"),
        ("client", {"lenient": False}, "live", "--runtime docker"),
    ],
)
def test_rerun_lines_repeat_what_makes_a_case_fail(side, matrix, target, said):
    options = None if side == "client" else SubjectOptions("lmcache", "lm", [RELEASE])
    live = LiveServers(runtime="docker")
    judged = Matrix("lmcache", [RELEASE], [target], (), live, None, side=side, options=options, **matrix)
    line = rerun(judged, f"lm.a.case[0.5.6-{target}]", Cell(RELEASE, target))
    assert said in line
    assert side != "client" or "--require" not in line
