"""Cases and specification belong together: every citation is there and can hold, every requirement is looked at."""

import importlib
import pkgutil
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import cases
from fixturegen.corpus import captured_releases
from harness.case import TARGETS, CaseSpec, cells, spec_of
from harness.requirements import load_requirements
from wire.release import KNOWN_RELEASES, Release

REQUIREMENTS = load_requirements()
CAPTURED = captured_releases()
ID = re.compile(r"(?<![\w-])(?:LM|KEY|LAY|MP|SRV|PLUG|CONN)(?:-[A-Z]+)?-[A-Za-z]*\d\w*")


@dataclass(frozen=True)
class Found:
    """A case of the tree."""

    name: str
    spec: CaseSpec


MODULES = [
    importlib.import_module(module.name)
    for module in pkgutil.walk_packages(cases.__path__, "cases.")
    if module.name.rpartition(".")[2].startswith("test_")
]


def all_cases():
    for module in MODULES:
        for name, value in vars(module).items():
            spec = spec_of(value)
            if spec is not None and value.__module__ == module.__name__:
                yield Found(f"{module.__name__}.{name}", spec)


CASES = list(all_cases())


def citing(requirement):
    return [found for found in CASES if requirement in found.spec.cites]


@pytest.fixture(params=REQUIREMENTS.values(), ids=REQUIREMENTS)
def requirement(request):
    return request.param


@pytest.fixture(params=CASES, ids=[found.name for found in CASES])
def found(request):
    return request.param


FOLDERS = {"cases.servers.": "server", "cases.mp.servers.": "server", "cases.l2.": "plugin", "cases.remote.": "connector"}
"""Modules of cases that do not judge clients."""


def test_there_are_cases():
    assert len(CASES) > 50


def test_a_case_cites_requirements_that_exist(found):
    assert [name for name in found.spec.cites if name not in REQUIREMENTS] == []


def test_a_case_cites_no_requirement_twice(found):
    assert len(set(found.spec.cites)) == len(found.spec.cites)


def test_a_case_cites_requirements_that_hold_for_one_of_its_releases(found):
    known = [release for release in map(Release.parse, KNOWN_RELEASES) if release in found.spec.releases]
    assert [name for name in found.spec.cites if not any(release in REQUIREMENTS[name].releases for release in known)] == []


def test_a_case_is_executed_for_some_captured_release(found):
    assert next(cells(found.spec, CAPTURED, TARGETS), None) is not None


def test_a_case_stands_in_the_folder_of_what_it_judges(found):
    judged = next((side for folder, side in FOLDERS.items() if found.name.startswith(folder)), "client")
    assert found.spec.judges == judged


def test_a_requirement_is_cited_unless_it_is_untestable(requirement):
    meets = any(release in requirement.releases for release in CAPTURED)
    if meets and requirement.untestable is None:
        assert citing(requirement.id)


def test_a_requirement_is_shown_by_an_execution_unless_it_is_untestable():
    not_shown = {
        requirement.id
        for requirement in REQUIREMENTS.values()
        if requirement.untestable is None and any(release in requirement.releases for release in CAPTURED)
        if not any(
            next(cells(found.spec, [release], TARGETS), None)
            for found in citing(requirement.id)
            for release in CAPTURED
            if release in requirement.releases
        )
    }
    assert not_shown == set()


def test_a_requirement_is_cited_by_cases_that_judge_whom_it_is_for(requirement):
    if requirement.role != "client":
        assert all(found.spec.judges == requirement.role for found in citing(requirement.id))


def test_an_untestable_requirement_is_not_cited(requirement):
    if requirement.untestable is not None:
        assert citing(requirement.id) == []


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_an_id_in_a_module_of_cases_is_spelled_right(module):
    assert set(ID.findall(Path(module.__file__).read_text())) <= set(REQUIREMENTS)
