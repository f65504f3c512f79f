"""The event loop, which every connector and every request of the engine share."""

from cases.remote.promises import comes_back, miss, promise, says, store, stored, whole_or_miss
from harness.case import parameters
from harness.client import ClientHang
from harness.judge import Judge
from harness.remote.chunks import Chunks
from harness.remote.connector import Connector

LONGEST = 1.0
"""Seconds for which a connector may hold up the loop; one that works does so for milliseconds."""
HOLD = 1.0


@promise("CONN-LOOP-001")
def test_at_once(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """Puts and gets that are under way together do not disturb each other."""
    several = chunks.chunks(16)
    for answer in connector.put_at_once(several):
        stored(judge, answer)
    more = chunks.chunks(16)
    keys = [chunk.key for chunk in several] + chunks.keys(4)
    puts, gets = connector.put_and_get_at_once(more, keys)
    for answer in puts:
        stored(judge, answer)
    for chunk, got in zip(several, gets, strict=False):
        comes_back(judge, got, chunk, after="while others were stored", cite="CONN-LOOP-001")
    for got in gets[len(several) :]:
        miss(judge, got, because="it was never stored", cite="CONN-LOOP-001")
    for chunk, got in zip(more, connector.get_at_once([chunk.key for chunk in more]), strict=True):
        comes_back(judge, got, chunk, after="stored while others were read", cite="CONN-LOOP-001")


@promise("CONN-LOOP-002")
def test_one_key_at_once(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """While several put the same key, whoever gets it sees one of the objects, whole, or a miss."""
    key = chunks.key()
    versions = [chunks.chunk(key=key, version=number) for number in range(8)]
    for _ in range(4):
        _, gets = connector.put_and_get_at_once(versions, [key] * 8)
        for got in gets:
            whole_or_miss(judge, got, *versions, because="while it was being stored", cite="CONN-LOOP-002")
        got = connector.get(key)
        judge.holds(
            got.found is not None, "a key that eight have stored is a miss", cite="CONN-LOOP-002", client_answered=str(got)
        )
        whole_or_miss(judge, got, *versions, because="after it was stored several times at once", cite="CONN-LOOP-002")


@promise("CONN-LOOP-003", variants=parameters("put", "get", "exists", "list"))
def test_not_held(connector: Connector, chunks: Chunks, judge: Judge, vector: str) -> None:
    """No call holds up the event loop: what takes time happens elsewhere, or is awaited."""
    chunk = chunks.chunk()
    store(connector, judge, chunk)
    if vector == "put":
        connector.put(chunks.chunk())
    elif vector == "get":
        connector.get(chunk.key)
    elif vector == "exists":
        connector.exists(chunk.key)
    else:
        connector.listing()
    judge.holds(
        connector.held < LONGEST,
        f"{vector} held up the event loop for {connector.held:.1f} s",
        cite="CONN-LOOP-003",
        conformant_answer=f"less than {LONGEST:g} s: awaits, or a thread, for whatever waits",
    )


@promise("CONN-LOOP-004", releases="0.3.4 and later")
def test_asked_from_a_thread(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """``exists_sync`` in a thread comes back, and rightly, although the loop was held up by others meanwhile."""
    chunk = chunks.chunk()
    store(connector, judge, chunk)
    try:
        answer, _ = connector.exists_sync_while_busy(chunk.key, HOLD)
    except ClientHang as hang:
        judge.fail(
            "exists_sync does not come back although the loop is free again", cite="CONN-LOOP-004", client_answered=str(hang)
        )
    says(judge, answer, True, what="exists_sync of a stored key, while the loop was busy", cite="CONN-LOOP-004")


@promise("CONN-LOOP-005", releases="0.3.4 and later")
def test_does_not_wait_for_the_loop(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """``exists_sync`` does not need the event loop at all."""
    chunk = chunks.chunk()
    store(connector, judge, chunk)
    _, meanwhile = connector.exists_sync_while_busy(chunk.key, HOLD)
    judge.holds(
        meanwhile,
        f"exists_sync had no answer within {HOLD / 2:g} s, because the event loop was busy",
        cite="CONN-LOOP-005",
        conformant_answer="an answer without the loop",
    )
