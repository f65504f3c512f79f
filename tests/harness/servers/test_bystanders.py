"""Peers that have nothing to do with what another does to a server, and the acts of that other."""

from contextlib import contextmanager

import pytest

from harness.bystanders import bystanders
from harness.case import case, spec_of
from harness.failure import CaseFailure
from harness.hostile.acts import ACTS, acts
from harness.hostile.attack import attack
from harness.judge import Judge
from harness.mutants.mutant import find_server_mutant
from harness.requirements import load_requirements
from harness.targets import mock_server
from harness.values import Keys
from wire.lm.profile import lm_profile
from wire.release import Release

NEW, OLD = Release.parse("0.5.6"), Release.parse("0.3.1")


@case("SRV-LM-040", "SRV-LM-021", judges="server", runs=("server",))
def test_something():
    """Judged."""


test_something.__test__ = False


@pytest.fixture
def judge():
    return Judge(spec_of(test_something), load_requirements(), lm_profile(NEW), None)


@contextmanager
def a_server(mutant=None, release=NEW):
    with mock_server(release, find_server_mutant(mutant).make if mutant else None) as server:
        yield server


def test_a_server_that_nothing_was_done_to_serves_bystanders(judge):
    with a_server() as server, bystanders(judge, server, NEW, Keys(NEW), by="nothing") as others:
        others.look("while")


def test_a_server_that_is_gone_fails_them_by_the_requirement_to_go_on(judge):
    with (
        pytest.raises(CaseFailure, match="after a crash, a connection that was open before is not served") as failure,
        a_server() as server,
        bystanders(judge, server, NEW, Keys(NEW), by="a crash"),
    ):
        server.stop()
    assert (failure.value.diagnosis.requirement, failure.value.diagnosis.level) == ("SRV-LM-021", "MUST")


def test_a_server_that_forgot_what_it_had_fails_them(judge):
    with (
        pytest.raises(CaseFailure, match="a value that was stored before is gone"),
        a_server() as server,
        bystanders(judge, server, NEW, Keys(NEW), by="a restart"),
    ):
        server.mock.store.clear()


def test_a_server_that_serves_one_connection_at_a_time_fails_them_in_time(judge, monkeypatch):
    monkeypatch.setattr("harness.bystanders.BOUND", 0.2)
    with (
        pytest.raises(CaseFailure, match="while half a header, a new connection is not served"),
        a_server("better-server-one-at-a-time") as server,
        bystanders(judge, server, NEW, Keys(NEW), by="half a header") as others,
    ):
        others.look("while")


def test_acts_have_names_of_their_own():
    assert len({act.name for act in ACTS}) == len(ACTS)


def test_what_acts_lead_to_is_said_by_requirements_of_their_level():
    known = load_requirements()
    assert {known[found.requirement].level for act in ACTS for found in act.must} == {"MUST"}
    assert {known[found.requirement].level for act in ACTS for found in act.should} == {"SHOULD"}


def test_an_act_about_locations_is_none_of_a_release_without_them():
    assert "bad-location" not in {act.name for act in acts(OLD)}
    assert "bad-location" in {act.name for act in acts(NEW)}


def test_an_act_leaves_no_connection_open():
    with a_server() as server:
        with attack(NEW, server, Keys(NEW)) as under_way, ACTS[1].perform(under_way):
            # The server may come to a connection after its peer has it.
            server.journal.wait_for(lambda journal: journal.open_connections, 5.0)
        server.journal.wait_for(lambda journal: all(found.ending for found in journal.connections()), 5.0)
