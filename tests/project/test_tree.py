"""The source tree: what it must not hold, and what must agree in it."""

import ast
import configparser
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fixturegen.corpus import captured_releases

ROOT = Path(__file__).resolve().parents[2]
LINES = 500
LONGER = {"fixturegen/probes/layouts.py": 620, "tests/fixturegen/test_containers.py": 560, "tests/fixturegen/test_venv.py": 560}
"""Files that may be longer than the rest, and how long."""

HOSTS = ("pypi" + ".org", "pythonhosted" + ".org", "pytorch" + ".org", "npmjs" + ".org", "crates" + ".io", "anaconda" + ".org")
HOMES = ("root", "home")


def tracked():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, check=False,
    )  # fmt: skip
    if listed.returncode:
        return [path for path in ROOT.rglob("*") if not {".venv", ".tox", ".git"} & set(path.parts)]
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name]


FILES = sorted(path for path in tracked() if path.is_file())
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8", errors="replace") for path in FILES}
PYTHON = {name: text for name, text in TEXTS.items() if name.endswith(".py")}


def test_no_file_names_a_package_registry():
    assert [(name, host) for name, text in TEXTS.items() for host in HOSTS if host in text] == []


def test_no_file_holds_the_path_of_somebodys_home():
    pattern = re.compile(rf"(?<![\w$}}./-])/(?:{'|'.join(HOMES)})/[\w.]")
    assert [(name, found[0]) for name, text in TEXTS.items() if (found := pattern.search(text))] == []


def test_python_files_are_short():
    lengths = {name: text.count("\n") for name, text in PYTHON.items()}
    assert {name: lines for name, lines in lengths.items() if lines >= LONGER.get(name, LINES)} == {}


def test_the_files_that_may_be_longer_still_are():
    assert [name for name in LONGER if PYTHON[name].count("\n") < LINES] == []


def test_every_python_file_can_be_parsed():
    for name, text in PYTHON.items():
        ast.parse(text, name)


def test_names_of_test_modules_are_unique():
    names = [Path(name).name for name in PYTHON if name.startswith("tests/") and Path(name).name != "conftest.py"]
    assert sorted(names) == sorted(set(names))


def test_every_captured_release_has_a_tox_environment_for_its_live_server():
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")
    (section,) = (name for name in tox.sections() if name.startswith("testenv:live-"))
    releases = [str(release) for release in captured_releases()]
    assert section == f"testenv:live-{{{','.join(releases)}}}"
    lines = tox[section]["commands"].strip().splitlines()
    assert lines == [f"{release}: lmconform run --lmcache {release} {{[live]arguments}}" for release in releases]


def test_imports_point_down_only():
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()", "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", ["lmconform", ".ci/run"])
def test_scripts_can_be_executed(name):
    assert (ROOT / name).stat().st_mode & 0o111
