"""The tables of mutants: enough of them, each documented, each different from what it is a mutant of."""

import re
from collections import defaultdict

import pytest

from harness.client import ClientUnavailable
from harness.killmatrix.releases import shows_in
from harness.mutants.mutant import find_mutant, load_all_mutants, load_mutants, load_server_mutants, mutant
from harness.patterns import literal_start, matches
from harness.reference.lm import ReferenceClient
from harness.reference.mp.client import ReferenceMpClient
from harness.runner import collect_cases
from mockserver.lm import LmServer
from mockserver.mp import MpServer
from wire.release import KNOWN_RELEASES, Release

CLIENTS = load_mutants()
SERVERS = load_server_mutants()
ALL = [*CLIENTS.values(), *SERVERS.values()]
RUNS = {"client": "fixtures,mock,live", "server": "mock,live", "plugin": "alone,live", "connector": "alone"}
"""The targets of each side, whose cases its mutants meet."""


def test_there_are_many_mutants_of_clients_and_of_servers():
    assert len(CLIENTS) >= 40
    assert sum(found.protocol == "mp" for found in CLIENTS.values()) >= 40
    assert len(SERVERS) >= 20


def test_a_name_is_taken_once():
    names = [found.name for found in ALL]
    assert sorted(names) == sorted(set(names))


SOUND = {
    ("client", "lm"): ReferenceClient,
    ("client", "mp"): ReferenceMpClient,
    ("server", "lm"): LmServer,
    ("server", "mp"): MpServer,
}


@pytest.mark.parametrize("found", ALL, ids=lambda found: found.name)
def test_a_mutant_says_what_is_wrong_and_what_it_stands_for(found):
    assert re.fullmatch(r"[a-z][a-z0-9-]+", found.name)
    assert re.fullmatch(r"[A-Z].+\.", found.defect)
    assert found.stands_for.endswith(".")
    assert len(found.stands_for) > 10
    assert found.defect != found.stands_for


@pytest.mark.parametrize("found", ALL, ids=lambda found: found.name)
def test_a_mutant_shows_in_some_release(found):
    assert any(shows_in(found, Release.parse(release)) for release in KNOWN_RELEASES)


@pytest.mark.parametrize("found", ALL, ids=lambda found: found.name)
def test_a_mutant_is_another_class_with_something_of_its_own(found):
    sound = SOUND[found.side, found.protocol]
    assert issubclass(found.make, sound)
    assert found.make is not sound
    own = {name for kind in found.make.__mro__[: found.make.__mro__.index(sound)] for name in vars(kind)}
    assert own - {"__module__", "__doc__", "__parameters__"}


@pytest.mark.parametrize(("side", "target"), RUNS.items())
def test_what_is_said_to_find_a_mutant_exists_in_a_release_where_it_shows(side, target):
    executions = defaultdict(list)
    for case in collect_cases(lmcache="all", target=target, only=(), side=side):
        executions[case.name].append(case.id)
    of_the_side = [found for found in load_all_mutants() if found.runs == side]
    stale = [
        (found.name, pattern)
        for found in of_the_side
        for pattern in found.found_by
        if not any(
            matches(pattern, identity) and Release.parse(identity.partition("[")[2].partition("-")[0]) in found.releases
            for name, identities in executions.items()
            if name.startswith(literal_start(pattern.partition("[")[0]))
            for identity in identities
        )
    ]
    assert of_the_side
    assert stale == []


def test_two_mutants_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two mutants are called key-hash-decimal"):

        @mutant("key-hash-decimal", stands_for="Nothing.")
        class Second(ReferenceClient):
            """Does something else."""


def test_a_mutant_without_words_is_refused():
    with pytest.raises(ValueError, match="has no docstring"):

        @mutant("a-new-one", stands_for="Nothing.")
        class Wordless(ReferenceClient):
            pass


def test_an_unknown_mutant_is_told_with_a_guess():
    with pytest.raises(ClientUnavailable, match="did you mean key-hash-decimal"):
        find_mutant("key-hash-decimals")


def test_a_mutant_of_the_server_is_no_client():
    with pytest.raises(ClientUnavailable, match="it is a server"):
        find_mutant("server-big-endian")
