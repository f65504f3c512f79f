"""The mutants of the reference plugin: enough of them, documented, each with a case that is about it; two meet theirs here."""

import re

import pytest

from harness.killmatrix.run import MutantOptions, run_mutants
from harness.mutants.mutant import load_plugin_mutants
from harness.patterns import matches

MUTANTS = [found for found in load_plugin_mutants().values() if found.kind == "native_plugin"]
MET = {
    "l2-rank-in-a-byte": "l2.identity.keys[0.5.6-alone-kv_rank]",
    "l2-one-miss-for-all": "l2.semantics.partly-there[0.5.6-alone]",
}
"""Two that are found soon, by what finds them; 'lmconform mutants --protocol l2' lets all of them meet all cases."""


def test_there_are_many():
    assert len(MUTANTS) >= 60


@pytest.mark.parametrize("found", MUTANTS, ids=lambda found: found.name)
def test_a_mutant_says_what_is_wrong_what_it_stands_for_and_who_finds_it(found):
    assert re.fullmatch(r"l2-[a-z0-9-]+", found.name)
    assert re.fullmatch(r"[A-Z].+\.", found.defect)
    assert re.fullmatch(r"[A-Z].{10,}\.", found.stands_for)
    assert found.found_by


def test_mutants_are_found_by_what_is_about_them():
    options = MutantOptions(
        protocol="l2",
        side="plugin",
        lmcache="0.5.6",
        only_mutants=tuple(MET),
        only=tuple(MET.values()),
        jobs=1,
        deadline=10.0,
    )
    matrix = run_mutants(options, lambda _: None)
    assert list(matrix.survivors) == []
    killed = {(meeting.mutant, meeting.execution) for meeting in matrix.meetings if meeting.killed}
    assert {mutant for mutant, _ in killed} == set(MET)
    assert all(any(matches(MET[mutant], execution) for of, execution in killed if of == mutant) for mutant in MET)
