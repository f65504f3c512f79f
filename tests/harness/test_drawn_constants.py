"""The same seed draws the same examples, whatever modules are loaded; a hypothesis that is built otherwise is no error."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers

from harness import drawn_constants
from harness.examples import Examples

UNLIKELY = 987_654_321_123_456_789


@pytest.fixture
def a_module_with_a_constant(tmp_path, monkeypatch):
    """Imported for the first time by the test that asks for it, from a folder that is nobody's library."""

    def imported(name):
        (tmp_path / f"{name}.py").write_text(f"NUMBER = {UNLIKELY}\n")
        monkeypatch.syspath_prepend(tmp_path)
        __import__(name)

    return imported


def drawn():
    found = []

    @Examples(count=300, seed=5, cell="one")
    @given(st.integers(), st.binary())
    def collect(number, data):
        found.append((number, data))

    collect()
    return found


def test_a_module_that_is_imported_between_two_runs_changes_no_example(a_module_with_a_constant):
    before = drawn()
    a_module_with_a_constant("imported_in_between")
    assert drawn() == before
    assert all(number != UNLIKELY for number, _ in before)


def test_hypothesis_works_as_before_outside_of_the_block():
    look_up = providers._get_local_constants
    with drawn_constants.of_hypothesis_alone():
        assert not providers._get_local_constants().integers
    assert providers._get_local_constants is look_up
    assert not providers.CONSTANTS_CACHE.cache


@pytest.mark.parametrize("missing", ["_get_local_constants", "CONSTANTS_CACHE", "Constants"])
def test_a_hypothesis_that_has_them_elsewhere_is_no_error(missing, monkeypatch):
    monkeypatch.delattr(providers, missing)
    with drawn_constants.of_hypothesis_alone():
        pass


def test_a_hypothesis_without_that_module_is_no_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis.internal.conjecture.providers", None)
    with drawn_constants.of_hypothesis_alone():
        pass
