"""One cell of the matrix, played against a mock."""

import functools
from concurrent.futures import ThreadPoolExecutor

import pytest

from fixturegen.server_process import healthy
from harness.compat.exchange import Place
from harness.compat.frames_of import frames_of
from harness.compat.share import Both, share
from harness.compat.talk import Tags, talk
from harness.targets import mock_server
from reports.compat.model import Cell
from wire.release import Release


@functools.cache
def played(client, server):
    with mock_server(Release.parse(server)) as target, ThreadPoolExecutor(24) as pool:
        # A server that answers HEALTH had its turn on this machine, so that what is silent behind it waits.
        awake = functools.partial(healthy, Release.parse(server), target.host, target.port, timeout=30.0)
        place = Place(target.host, target.port, 0.3, awake)
        stores, asks = frames_of(Release.parse(client)), frames_of(Release.parse(server))
        tags = Tags(stores.release)
        talked = talk(place, stores, asks.release, tags, pool)
        shared = share(Both(place, stores, asks), talked, tags, pool)
        return Cell(client, server, (*talked.findings, *shared.findings), talked.questions + shared.questions)


@pytest.fixture
def cell():
    """``cell(client, server)``: the cell of two releases, played once in a session."""
    return played
