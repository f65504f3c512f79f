"""The mutants of the reference connector, and the cases that are named for them."""

import importlib
import pkgutil

import cases.remote
from harness.case import case_name, spec_of
from harness.mutants.mutant import load_connector_mutants
from harness.patterns import matches


def names_of_cases():
    for module in pkgutil.iter_modules(cases.remote.__path__):
        if module.name.startswith("test_"):
            found = vars(importlib.import_module(f"cases.remote.{module.name}"))
            topic = module.name.removeprefix("test_").replace("_", "-")
            yield from (f"remote.{topic}.{case_name(name)}" for name, one in found.items() if spec_of(one) is not None)


def test_there_are_mutants_and_each_names_cases_that_exist():
    known = list(names_of_cases())
    mutants = load_connector_mutants()
    assert len(mutants) > 40
    for name, mutant in mutants.items():
        assert mutant.found_by, name
        for pattern in mutant.found_by:
            assert any(matches(pattern.partition("[")[0], one) for one in known), f"{name}: {pattern} names no case"


def test_no_case_is_without_a_mutant_that_is_said_to_show_it():
    patterns = [pattern.partition("[")[0] for mutant in load_connector_mutants().values() for pattern in mutant.found_by]
    assert [one for one in names_of_cases() if not any(matches(pattern, one) for pattern in patterns)] == []
