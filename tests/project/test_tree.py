"""The source tree: what it must not hold, and what must agree in it."""

import ast
import configparser
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fixturegen.corpus import captured_releases
from wire.release import Release

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


WITH_MP_SERVER = [release for release in captured_releases(protocol="mp") if release >= Release.parse("0.3.10")]


@pytest.fixture(scope="module")
def environments():
    """Environments of tox and the commands that each would run."""
    words = [sys.executable, "-m", "tox", "config", "-c", str(ROOT), "-e", "ALL", "-k", "commands", "--workdir"]
    with tempfile.TemporaryDirectory() as folder:
        shown = subprocess.run([*words, folder], capture_output=True, text=True, check=True, cwd=folder).stdout
    found = configparser.ConfigParser(interpolation=None)
    found.read_string(shown)
    return {name.removeprefix("testenv:"): found[name].get("commands", "") for name in found.sections()}


def test_tox_has_an_environment_with_the_live_server_of_each_captured_release_and_one_with_all(environments):
    assert [name for name in environments if name.startswith("live-")] == [
        "live-all",
        *(f"live-{release}" for release in captured_releases()),
        "live-mp-all",
        *(f"live-mp-{release}" for release in WITH_MP_SERVER),
    ]


def test_a_live_environment_of_tox_runs_its_release_and_no_other(environments):
    captured = [str(release) for release in captured_releases()]
    for name, releases in [("all", ",".join(captured)), *((one, one) for one in captured)]:
        words = shlex.split(environments[f"live-{name}"])
        assert words[:4] == [str(ROOT / "lmconform"), "run", "--lmcache", releases]
        assert words[words.index("--target") + 1] == "fixtures,mock,live"


def test_a_live_environment_of_tox_for_multiprocess_servers_runs_its_release_with_the_client_of_that_wire(environments):
    for name, releases in [("all", ",".join(map(str, WITH_MP_SERVER))), *((str(one), str(one)) for one in WITH_MP_SERVER)]:
        words = shlex.split(environments[f"live-mp-{name}"])
        assert words[:6] == [str(ROOT / "lmconform"), "run", "--client", "reference-mp", "--lmcache", releases]
        assert words[words.index("--target") + 1] == "fixtures,mock,live"


def test_tox_has_an_environment_that_judges_the_multiprocess_server_of_each_release_and_one_with_all(environments):
    named = {"server-mp-all": ",".join(map(str, WITH_MP_SERVER)), **{f"server-mp-{one}": str(one) for one in WITH_MP_SERVER}}
    assert [name for name in environments if name.startswith("server-mp-")] == list(named)
    for name, releases in named.items():
        words = shlex.split(environments[name])
        assert words[:7] == [str(ROOT / "lmconform"), "server", "lmcache", "--protocol", "mp", "--lmcache", releases]
        assert words[words.index("--expectations") + 1] == "lmcache-mp-server"


def test_a_live_environment_of_tox_for_plugins_runs_its_cases_and_measures_its_faults(environments):
    with_plugins = [str(release) for release in WITH_MP_SERVER if release >= Release.parse("0.4.6")]
    assert [name for name in environments if name.startswith("l2-live-")] == [f"l2-live-{one}" for one in ("all", *with_plugins)]
    for name, releases in [("all", with_plugins), *((one, [one]) for one in with_plugins)]:
        cases, faults = map(shlex.split, environments[f"l2-live-{name}"].strip().splitlines())
        assert cases[:5] == [str(ROOT / "lmconform"), "plugin", "reference", "--lmcache", ",".join(releases)]
        assert cases[cases.index("--target") + 1] == "live"
        assert faults[1:] == ["-m", "harness.l2.served", *releases]


@pytest.mark.parametrize(("kind", "protocol"), [("lmcache", "lm"), ("lmcache-mp", "mp")])
def test_tox_has_an_environment_with_the_client_of_each_captured_release_and_one_with_all(environments, kind, protocol):
    releases = [str(release) for release in captured_releases(protocol=protocol)]
    names = [f"{kind}-{one}" for one in ("all", *releases)]
    others = [name for name in environments if name.startswith("lmcache-mp-")]
    assert [
        name for name in environments if name.startswith(f"{kind}-") and (kind == "lmcache-mp" or name not in others)
    ] == names
    lines = environments[f"{kind}-all"].strip().splitlines()
    assert lines == [environments[f"{kind}-{release}"].strip() for release in releases]
    for release, line in zip(releases, lines, strict=True):
        words = shlex.split(line)
        assert words[:6] == [str(ROOT / "lmconform"), "run", "--client", f"{kind}:{release}", "--lmcache", release]
        assert words[words.index("--expectations") + 1] == kind


def test_imports_point_down_only():
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()", "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", ["lmconform", ".ci/run"])
def test_scripts_can_be_executed(name):
    assert (ROOT / name).stat().st_mode & 0o111
