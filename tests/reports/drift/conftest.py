"""A capture to change, and the one change that is found in it."""

import pytest
from future_captures import Future, captured


@pytest.fixture
def future() -> Future:
    return Future(captured())


@pytest.fixture
def titles():
    def of(drift):
        return [change.title for change in drift.changes]

    return of


@pytest.fixture
def the_change():
    """The one change of a drift."""

    def of(drift):
        assert len(drift.changes) == 1, [change.title for change in drift.changes]
        return drift.changes[0]

    return of
