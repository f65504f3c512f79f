"""The fixtures of cases. The plugin puts them into each module of cases, so that those of a project do not take their place."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from fixturegen.corpus import Corpus, load_corpus
from fixturegen.errors import CorpusError
from harness.case import CaseSpec, Cell, spec_of, topic_of
from harness.client import ClientFailure
from harness.examples import Examples
from harness.failure import UnsupportedByClient
from harness.judge import Judge
from harness.l2 import fixtures as l2_fixtures
from harness.leaks import LEFT_BY_MANY
from harness.mp.keys import MpKeys
from harness.mp.real_wrappers import RealWrappers
from harness.mp.targets import MpTarget, both_ways, mock_mp_server
from harness.plugin import ERROR, matrix_of
from harness.protocols import captured_protocol, protocol_of
from harness.remote import fixtures as remote_fixtures
from harness.subject import Subject, require
from harness.targets import Server, mock_server
from harness.values import Keys
from harness.verdicts import inner
from wire.lm.profile import LmProfile, lm_profile
from wire.mp.operations import OperationTable, operation_table
from wire.release import Release

NAMES: Final = (
    "adapter",
    "another_client",
    "chunks",
    "client",
    "connector",
    "connectors",
    "corpus",
    "engine",
    "examples",
    "fresh_client",
    "judge",
    "keys",
    "l2_keys",
    "leeway",
    "mp_keys",
    "mp_pickle_server",
    "mp_server",
    "mp_table",
    "plugin",
    "plugins",
    "profile",
    "real_wrappers",
    "release",
    "served",
    "server",
    "vector",
)

adapter = l2_fixtures.adapter
engine = l2_fixtures.engine
l2_keys = l2_fixtures.l2_keys
plugin = l2_fixtures.plugin
plugins = l2_fixtures.plugins
served = l2_fixtures.served
chunks = remote_fixtures.chunks
connector = remote_fixtures.connector
connectors = remote_fixtures.connectors


@pytest.fixture
def release(cell: Cell) -> Release:
    """The release of lmcache that is spoken."""
    return cell.release


@pytest.fixture
def profile(cell: Cell) -> LmProfile:
    """What the release means on the ``lm://`` wire."""
    return lm_profile(cell.release)


@pytest.fixture
def corpus(request: pytest.FixtureRequest, cell: Cell) -> Corpus:
    """The captures of the release, of the wire that the case is about.

    Raises:
        CorpusError: there are none.
    """
    topic = topic_of(request.node.path)
    protocol = captured_protocol(protocol_of(topic))
    if protocol is None:
        raise CorpusError(f"there are no captures of what the cases of {topic} are about")
    return load_corpus(cell.release, protocol=protocol)


@pytest.fixture
def vector(cell: Cell) -> Any:
    """The value of the variant: a vector, a transcript or a parameter."""
    assert cell.variant is not None
    return cell.variant.value


@pytest.fixture
def judge(request: pytest.FixtureRequest, cell: Cell) -> Judge:
    """Compares and explains."""
    return matrix_of(request.config).judge(cell, _spec(request), topic_of(request.node.path))


@pytest.fixture
def keys(cell: Cell) -> Keys:
    """Makes keys that no other test uses."""
    return Keys(cell.release)


@pytest.fixture
def leeway(request: pytest.FixtureRequest) -> int:
    """Descriptors and threads that a server may keep of connections that have ended: a server of somebody else may have pools."""
    return LEFT_BY_MANY if matrix_of(request.config).side == "server" else 0


@pytest.fixture
def client(request: pytest.FixtureRequest, cell: Cell, judge: Judge) -> Iterator[Subject]:
    """The client under test, which declares what the case needs; connections that the case opened are closed afterwards."""
    matrix = matrix_of(request.config)
    session = matrix.session()
    require(session, cell, _spec(request))
    session.require(_spec(request).needs)
    session.mark()
    subject = Subject(session, cell, judge, matrix.budget)
    yield subject
    subject.release_connections()


@pytest.fixture
def another_client(request: pytest.FixtureRequest, cell: Cell, judge: Judge) -> Iterator[Subject]:
    """A second instance of the client under test: a program runs once more, a class of Python is made once more."""
    yield from _companion(request, cell, judge, own_process=False)


@pytest.fixture
def fresh_client(request: pytest.FixtureRequest, cell: Cell, judge: Judge) -> Iterator[Subject]:
    """A second instance of the client under test, in a process of its own, which the cases of a worker share."""
    yield from _companion(request, cell, judge, own_process=True)


@pytest.fixture
def server(request: pytest.FixtureRequest, cell: Cell) -> Iterator[Server]:
    """The server of the target: a mock with an empty store, or the live server of the release; either may be what is judged."""
    matrix = matrix_of(request.config)
    if cell.target == "live":
        found, began = matrix.live.get(cell.release), time.monotonic()
        yield found
        _look_after(request, lambda words: matrix.live.failed(cell.release, time.monotonic() - began, words))
    else:
        with mock_server(cell.release, matrix.server.lm if matrix.server is not None else None) as mock:
            yield mock


@pytest.fixture
def mp_server(request: pytest.FixtureRequest, cell: Cell) -> Iterator[MpTarget]:
    """The multiprocess server of the target: a mock with an empty store, or the live server of the release."""
    yield from _mp_server(request, cell, shared_memory=True)


@pytest.fixture
def mp_pickle_server(request: pytest.FixtureRequest, cell: Cell) -> Iterator[MpTarget]:
    """The same without shared memory: chunks travel as pickles."""
    yield from _mp_server(request, cell, shared_memory=False)


@pytest.fixture
def mp_table(cell: Cell) -> OperationTable:
    """The operations of the release on the wire of the multiprocess server."""
    return operation_table(cell.release)


@pytest.fixture
def mp_keys(cell: Cell) -> MpKeys:
    """Makes mp keys that no other test uses."""
    return MpKeys(cell.release)


@pytest.fixture
def real_wrappers(request: pytest.FixtureRequest) -> RealWrappers:
    """The classes of the real lmcache that read the tensors of a registration."""
    return RealWrappers(matrix_of(request.config).live.runtime)


@pytest.fixture
def examples(request: pytest.FixtureRequest, cell: Cell) -> Examples:
    """How properties are tried: as many examples as were asked for, of the seed of the run."""
    return matrix_of(request.config).examples_of(request.function.__name__, cell)


def _mp_server(request: pytest.FixtureRequest, cell: Cell, *, shared_memory: bool) -> Iterator[MpTarget]:
    matrix = matrix_of(request.config)
    if cell.target == "live":
        yield matrix.live_mp.get(cell.release, shared_memory=shared_memory)
        _look_after(request, matrix.live_mp.failed)
    else:
        judged = matrix.server
        mode = both_ways(cell.release) if judged is not None and shared_memory else "engine_driven"
        make = judged.mp if judged is not None else None
        with mock_mp_server(cell.release, shared_memory=shared_memory, mode=mode, make=make) as mock:
            yield mock


def _look_after(request: pytest.FixtureRequest, failed: Callable[[str], ClientFailure | None]) -> None:
    """Once a case has failed: where its server is gone for good, that is how the case ended."""
    error = request.node.stash.get(ERROR, None)
    if error is None or isinstance(error, UnsupportedByClient):
        return
    lost = failed(str(inner(error)))
    if lost is not None:
        request.node.stash[ERROR] = lost


def _companion(request: pytest.FixtureRequest, cell: Cell, judge: Judge, *, own_process: bool) -> Iterator[Subject]:
    matrix = matrix_of(request.config)
    require(matrix.session(), cell, _spec(request))
    session = matrix.companion(own_process=own_process)
    session.mark()
    subject = Subject(session, cell, judge, matrix.budget)
    yield subject
    subject.release_connections()


def _spec(request: pytest.FixtureRequest) -> CaseSpec:
    found = spec_of(request.function)
    assert found is not None
    return found
