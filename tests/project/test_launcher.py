"""``./lmconform``: found from anywhere, set up once, and clear about what is missing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.version import TOOL_VERSION

ROOT = Path(__file__).resolve().parents[2]
INTERPRETER = """#!/bin/sh
# Stands in for Python: notes what it is asked to do, and makes a venv that holds itself.
echo "$*" >> "$NOTES"
case $1 in
-c) exit 0 ;;
-m)
    [ "$2" != venv ] || { mkdir -p "$4/bin" && cp "$0" "$4/bin/python"; }
    [ "$2" != pip ] || [ -z "${NO_NETWORK:-}" ] || { echo 'the index cannot be reached' >&2; exit 1; }
    ;;
esac
"""


def run(*words, cwd, **changes):
    return subprocess.run(
        [str(word) for word in words], cwd=cwd, capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, **{name: str(value) for name, value in changes.items()}},
    )  # fmt: skip


@pytest.fixture
def launcher(tmp_path):
    """The launcher of a tree whose path has a space, set up already."""
    tree = tmp_path / "a b"
    tree.mkdir()
    for name in ("lmconform", "pyproject.toml"):
        shutil.copy2(ROOT / name, tree / name)
    (tree / ".venv" / "bin").mkdir(parents=True)
    interpreter = tree / ".venv" / "bin" / "python"
    interpreter.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    interpreter.chmod(0o755)
    sum_of = subprocess.run(["cksum"], input=(tree / "pyproject.toml").read_bytes(), capture_output=True, check=True)
    (tree / ".venv" / ".lmconform").write_bytes(sum_of.stdout)
    return tree / "lmconform"


class Fresh:
    """A tree without venv, and an interpreter that notes what it does."""

    def __init__(self, folder):
        self.tree = folder / "a b"
        self.tree.mkdir()
        for name in ("lmconform", "pyproject.toml"):
            shutil.copy2(ROOT / name, self.tree / name)
        self.interpreter = folder / "my python"
        self.interpreter.write_text(INTERPRETER)
        self.interpreter.chmod(0o755)
        self.notes = folder / "notes"
        self.variables = {"LMCONFORM_BOOTSTRAP_PYTHON": self.interpreter, "NOTES": self.notes}

    def run(self, *words, **changes):
        return run(self.tree / "lmconform", *words, cwd="/", **self.variables, **changes)

    def noted(self, beginning):
        return [line for line in self.notes.read_text().splitlines() if line.startswith(beginning)]


@pytest.fixture
def fresh(tmp_path):
    return Fresh(tmp_path)


@pytest.fixture
def environment():
    return {"PYTHONPATH": ROOT}


def test_it_runs_from_another_folder_and_from_a_path_with_a_space(launcher, environment, tmp_path):
    assert run(launcher, "--version", cwd=tmp_path, **environment).stdout == f"lmconform {TOOL_VERSION}\n"


def test_it_runs_through_a_symlink(launcher, environment, tmp_path):
    (tmp_path / "link").symlink_to(launcher)
    assert run("./link", "--version", cwd=tmp_path, **environment).stdout == f"lmconform {TOOL_VERSION}\n"


def test_it_runs_through_a_symlink_to_a_symlink_on_the_search_path(launcher, environment, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "one").symlink_to(launcher)
    (tmp_path / "bin" / "conform").symlink_to("../one")
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    assert run("sh", "-c", "conform --version", cwd="/", PATH=path, **environment).stdout == f"lmconform {TOOL_VERSION}\n"


def test_it_hands_on_words_and_exit_code(launcher, environment, tmp_path):
    ended = run(launcher, "list", "--only", "no such case", "--lmcache", "0.5.6", cwd=tmp_path, **environment)
    assert ended.returncode == 2
    assert "--only 'no such case' matches no case" in ended.stderr


def test_the_first_use_sets_it_up(fresh):
    ended = fresh.run("smoke", "--client", "stdio:./a b")
    assert ended.returncode == 0
    assert ended.stderr == f"lmconform: setting up {fresh.tree}/.venv (once)\n"
    assert fresh.noted("-m venv") == [f"-m venv --clear {fresh.tree}/.venv"]
    assert fresh.noted("-m pip")[0].endswith(f"--editable {fresh.tree}[dev]")
    assert fresh.noted("-m harness.cli.main") == ["-m harness.cli.main smoke --client stdio:./a b"]


def test_the_second_use_does_not(fresh):
    fresh.run("--version")
    assert fresh.run("--version").stderr == ""
    assert len(fresh.noted("-m venv")) == 1


def test_a_changed_project_file_sets_it_up_again(fresh):
    fresh.run("--version")
    with (fresh.tree / "pyproject.toml").open("a") as file:
        file.write("# one more dependency\n")
    fresh.run("--version")
    assert len(fresh.noted("-m venv")) == 2


def test_two_at_once_set_it_up_once(fresh):
    variables = {**os.environ, **{name: str(value) for name, value in fresh.variables.items()}}
    both = [
        subprocess.Popen([str(fresh.tree / "lmconform"), "--version"], env=variables, stderr=subprocess.PIPE) for _ in range(2)
    ]
    assert [process.wait(30) for process in both] == [0, 0]
    for process in both:
        process.stderr.close()
    assert len(fresh.noted("-m venv")) == 1


def test_what_pip_says_is_shown_when_it_fails_and_the_next_use_tries_again(fresh):
    ended = fresh.run("--version", NO_NETWORK=1)
    assert ended.returncode == 3
    assert "the index cannot be reached" in ended.stderr
    assert f"could not set up {fresh.tree}/.venv" in ended.stderr
    assert fresh.run("--version").returncode == 0


def test_without_a_python_it_says_what_to_install(fresh, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "readlink", "dirname", "cksum", "cat", "flock", "mktemp", "rm", "tail"):
        (tools / name).symlink_to(shutil.which(name))
    fresh.variables["LMCONFORM_BOOTSTRAP_PYTHON"] = tmp_path / "nothing"
    ended = fresh.run("--version", PATH=tools)
    assert ended.returncode == 3
    assert "no Python 3.11 or later with the venv module was found" in ended.stderr
    assert "LMCONFORM_BOOTSTRAP_PYTHON" in ended.stderr


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_its_syntax_is_that_of_every_shell(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    subprocess.run([shell, "-n", str(ROOT / "lmconform")], check=True)
