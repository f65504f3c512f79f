"""vLLM beside lmcache: fetched once, Python files only, with the packages that its hash functions or all of it import."""

import json
import sys
import zipfile
from pathlib import Path

import pytest

from fixturegen import packages, vllm
from fixturegen.errors import EnvironmentUnavailable
from fixturegen.inputs.deployments import SURROUNDINGS
from fixturegen.packages import REQUIREMENTS
from fixturegen.settings import SETTINGS
from fixturegen.vllm import SETS, VLLM_VERSIONS, VllmTrees, import_paths, versions_in
from fixturegen.wheel import wheel_of

WHEEL = "vllm-0.28.0-cp38-abi3-manylinux_2_28_x86_64.whl"
FILES = ("vllm/__init__.py", "vllm/utils/hashing.py", "vllm/_C.abi3.so", "vllm-0.28.0.dist-info/METADATA", "vllm/config.json")


ASKS = {"tree": lambda trees: trees.tree("0.28.0"), "packages": lambda trees: trees.packages("vllm")}


def folder_after(option, arguments):
    return Path(arguments[arguments.index(option) + 1])


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch):
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """What pip was asked for; downloads give a small wheel, installs a package."""
    seen = []

    def pip(python, command, arguments, *, what, timeout):
        assert python == sys.executable
        assert timeout > 0
        seen.append((command, list(arguments)))
        if command == "download":
            path = folder_after("--dest", arguments) / WHEEL
            with zipfile.ZipFile(path, "w") as archive:
                for name in FILES:
                    archive.writestr(zipfile.ZipInfo(name), f"# {name}")
        else:
            (folder_after("--target", arguments) / "cbor2").mkdir(parents=True)

    monkeypatch.setattr(vllm, "pip", pip)
    monkeypatch.setattr(packages, "pip", pip)
    return seen


def test_a_version_is_fetched_once_without_its_libraries(tmp_path, calls):
    trees = VllmTrees(tmp_path)
    folder = trees.tree("0.28.0").folder
    assert trees.tree("0.28.0").folder == VllmTrees(tmp_path).tree("0.28.0").folder == folder
    assert [command for command, _ in calls] == ["download"]
    assert "vllm==0.28.0" in calls[0][1]
    assert "--no-deps" in calls[0][1]
    kept = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert kept == {"vllm/__init__.py", "vllm/utils/hashing.py", "vllm-0.28.0.dist-info/METADATA", ".wheel.json"}


def test_the_wheel_is_known_although_it_is_not_kept(tmp_path, calls):
    with zipfile.ZipFile(tmp_path / WHEEL, "w") as archive:
        for name in FILES:
            archive.writestr(zipfile.ZipInfo(name), f"# {name}")
    assert VllmTrees(tmp_path / "cache").tree("0.28.0").wheel == wheel_of(tmp_path / WHEEL)
    assert list((tmp_path / "cache").rglob("*.whl")) == []


def test_a_damaged_wheel_is_unavailable_and_leaves_nothing(tmp_path, monkeypatch):
    def pip(_python, _command, arguments, **_):
        (folder_after("--dest", arguments) / WHEEL).write_text("no archive")

    monkeypatch.setattr(vllm, "pip", pip)
    with pytest.raises(EnvironmentUnavailable, match="damaged"):
        VllmTrees(tmp_path).tree("0.28.0")
    assert [path.name for path in (tmp_path / "vllm").iterdir()] == ["vllm-0.28.0.lock"]


def test_hash_functions_alone_come_without_what_the_rest_imports(tmp_path, calls):
    trees = VllmTrees(tmp_path)
    alone, complete = (import_paths("0.28.0", trees, complete=complete) for complete in (False, True))
    assert complete[: len(alone)] == alone
    assert [path.name.rpartition("-")[0] for path in complete] == ["vllm", *SETS]


@pytest.mark.parametrize(
    "ask", [lambda trees: trees.tree("0.28.0"), lambda trees: trees.packages("vllm")], ids=["tree", "packages"]
)
def test_offline_nothing_is_fetched(tmp_path, calls, monkeypatch, ask):
    monkeypatch.setenv("LMCONFORM_OFFLINE", "1")
    with pytest.raises(EnvironmentUnavailable, match="not cached and LMCONFORM_OFFLINE forbids fetching it"):
        ask(VllmTrees(tmp_path))
    assert calls == []


def test_offline_what_is_cached_is_used(tmp_path, calls, monkeypatch):
    expected = import_paths("0.28.0", VllmTrees(tmp_path), complete=True)
    monkeypatch.setenv("LMCONFORM_OFFLINE", "1")
    assert import_paths("0.28.0", VllmTrees(tmp_path), complete=True) == expected


def test_every_requirement_is_pinned_and_none_is_in_two_sets():
    names = []
    for name in ("base", *SETS):
        lines = [line.split("#")[0].strip() for line in (REQUIREMENTS / f"{name}.txt").read_text().splitlines()]
        for line in filter(None, lines):
            package, separator, version = line.partition("==")
            assert separator, line
            assert version, line
            names.append(package.lower().replace("_", "-"))
    assert len(names) == len(set(names))


def test_every_vllm_that_is_asked_about_is_one_that_is_fetched():
    assert {version for version, _, _ in SURROUNDINGS if version is not None} == set(VLLM_VERSIONS)


def test_the_versions_of_a_job_are_those_of_its_vectors():
    job = {"vectors": [{"args": {"vllm": "0.28.0"}}, {"args": {"vllm": None}}, {"args": {}}, {"args": {"vllm": "0.10.1"}}]}
    assert versions_in(json.loads(json.dumps(job))) == ["0.10.1", "0.28.0"]
