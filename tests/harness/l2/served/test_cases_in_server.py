"""Cases about a plugin inside a server: a right one passes all of them, and each finds the defects that it is about."""

import inspect

import pytest
from pretended import Pretended

from cases.l2 import test_in_server as module
from harness.case import spec_of
from harness.failure import CaseFailure
from harness.judge import Judge
from harness.requirements import load_requirements
from wire.lm.profile import lm_profile
from wire.release import Release

RELEASE = Release.parse("0.5.6")
CASES = {name: found for name, found in vars(module).items() if spec_of(found) is not None}
FOUND_BY = {
    "is not healthy": ("test_start", "PLUG-HOST-001"),
    "NOOP is not answered": ("test_start", "PLUG-HOST-001"),
    "stores are refused": ("test_start", "PLUG-HOST-001"),
    "keeps nothing": ("test_round_trip", "PLUG-HOST-002"),
    "swaps two bytes": ("test_round_trip", "PLUG-HOST-002"),
    "stores never complete": ("test_round_trip", "PLUG-HOST-002"),
    "loses what was loaded": ("test_round_trip", "PLUG-HOST-002"),
    "finds what it cannot load": ("test_round_trip", "PLUG-HOST-002"),
    "a second store removes": ("test_both_tiers", "PLUG-HOST-002"),
    "lookups never end": ("test_never_stored", "PLUG-HOST-009"),
    "finds one too many": ("test_first_part", "PLUG-HOST-003"),
    "ignores salts": ("test_salts", "PLUG-HOST-004"),
    "salts without case": ("test_salts", "PLUG-HOST-004"),
    "salts by their beginning": ("test_salts", "PLUG-HOST-004"),
    "mixes what is under way": ("test_several_at_once", "PLUG-HOST-005"),
    "holds five objects": ("test_evicted", "PLUG-HOST-006"),
    "locks stay": ("test_evicted", "PLUG-HOST-006"),
    "forgets at the end": ("test_restart", "PLUG-HOST-007"),
    "close hangs": ("test_end", "PLUG-HOST-008"),
    "close ends the process": ("test_end", "PLUG-HOST-008"),
    "descriptor stays readable": ("test_rest", "PLUG-HOST-010"),
    "checks nothing": ("test_damaged", "PLUG-HOST-011"),
    "takes damaged objects for whole ones": ("test_damaged", "PLUG-HOST-012"),
}
ALSO = {"locks stay": ("test_rest", "PLUG-HOST-009"), "finds one too many": ("test_never_stored", "PLUG-HOST-003")}
PAIRS = [*FOUND_BY.items(), *ALSO.items()]


def play(name, folder, defect=""):
    """Play a case with a pretended server, in its first variant."""
    case = CASES[name]
    spec = spec_of(case)
    judge = Judge(spec, load_requirements(), lm_profile(RELEASE), None)
    server = Pretended(folder, defect)
    variants = spec.variants(RELEASE) if spec.variants is not None else [None]
    given = {"served": server, "judge": judge, "vector": getattr(variants[-1], "value", None)}
    with server.engine() as engine:
        given["engine"] = engine
        case(**{name: given[name] for name in inspect.signature(case).parameters})


@pytest.mark.parametrize("name", CASES)
def test_a_right_plugin_passes(name, tmp_path):
    play(name, tmp_path)


@pytest.mark.parametrize(("defect", "name", "requirement"), [(defect, *place) for defect, place in PAIRS])
def test_a_defect_is_found_by_the_case_about_it(defect, name, requirement, tmp_path):
    with pytest.raises(CaseFailure) as failure:
        play(name, tmp_path, defect)
    assert failure.value.diagnosis.requirement == requirement


def test_every_case_finds_a_defect():
    assert {name for _, (name, _) in PAIRS} == set(CASES)


def test_every_requirement_that_is_cited_is_what_a_defect_breaks():
    cited = {name for case in CASES.values() for name in spec_of(case).cites}
    assert {requirement for _, (_, requirement) in PAIRS} >= cited
