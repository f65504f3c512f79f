"""Every captured release at every other, and single pairs of them."""

import pytest

from fixturegen.corpus import captured_releases
from reports.collisions.demonstration import Act, Demonstration
from reports.collisions.matrix import collide
from reports.collisions.tables import dialects
from wire.release import Release

RELEASES = captured_releases(protocol="mp")


def collisions_of(clients, servers):
    found = dialects({*clients, *servers})
    speaking = {release: dialect for release, (dialect, _) in found.items()}
    return collide("1.2.3", speaking, clients, servers, {str(release): source for release, (_, source) in found.items()})


@pytest.fixture(scope="session")
def everything():
    return collisions_of(RELEASES, RELEASES)


@pytest.fixture(scope="session")
def pair(everything):
    return everything.pair


@pytest.fixture(scope="session")
def fate(pair):
    """The fate of one operation in plain use."""

    def of(client, server, operation):
        (found,) = [fate for fate in pair(client, server).fates if fate.operation == operation and not fate.odd]
        return found

    return of


@pytest.fixture
def two():
    """A small result: one client at one server."""
    return collisions_of([Release.parse("0.4.7")], [Release.parse("0.5.1")])


@pytest.fixture
def demonstration():
    return Demonstration(
        title="a <title> with | signs",
        client="0.4.7",
        server="0.5.1",
        target="mock",
        acts=[Act("GET_CHUNK_SIZE of 0.4.7", "nil", (b"\x11",))],
        shown=True,
        verdict="the cache is empty",
    )
