"""The end of a connector: soon, and for good."""

from cases.remote.promises import promise, store
from harness.client import ClientHang
from harness.judge import Judge
from harness.remote.answers import Said
from harness.remote.chunks import Chunks
from harness.remote.connector import Connector

SOON = 5.0
"""Seconds."""


@promise("CONN-CLOSE-001")
def test_closed(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """``close`` comes back soon, without an exception."""
    store(connector, judge, *chunks.chunks(3))
    answer = _close(connector, judge, cite="CONN-CLOSE-001")
    judge.holds(answer.raised is None, "close raised", cite="CONN-CLOSE-001", client_answered=str(answer))
    judge.holds(connector.took < SOON, f"close took {connector.took:.1f} s", cite="CONN-CLOSE-001")


@promise("CONN-CLOSE-002")
def test_closed_twice(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """A second ``close`` does no harm."""
    store(connector, judge, chunks.chunk())
    _close(connector, judge, cite="CONN-CLOSE-001")
    answer = _close(connector, judge, cite="CONN-CLOSE-002")
    judge.holds(answer.raised is None, "the second close raised", cite="CONN-CLOSE-002", client_answered=str(answer))


@promise("CONN-CLOSE-003")
def test_asked_after_the_end(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """What is asked after ``close`` comes back: an exception, a miss, or the chunk, but no wait for ever."""
    chunk = chunks.chunk()
    store(connector, judge, chunk)
    _close(connector, judge, cite="CONN-CLOSE-001")
    try:
        connector.get(chunk.key)
        connector.exists(chunk.key)
        connector.put(chunk)
    except ClientHang as hang:
        judge.fail("a call after close does not come back", cite="CONN-CLOSE-003", client_answered=str(hang))


@promise("CONN-CLOSE-004")
def test_nothing_left(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """After ``close`` the connector has no task on the loop any more."""
    store(connector, judge, *chunks.chunks(3))
    _close(connector, judge, cite="CONN-CLOSE-001")
    tasks = connector.state()["tasks"]
    judge.holds(not tasks, f"after close there are still tasks on the loop: {', '.join(tasks)}", cite="CONN-CLOSE-004")


def _close(connector: Connector, judge: Judge, *, cite: str) -> Said:
    try:
        return connector.close()
    except ClientHang as hang:
        judge.fail("close does not come back", cite=cite, client_answered=str(hang), client_stderr=hang.stderr)
