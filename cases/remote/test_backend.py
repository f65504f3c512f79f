"""Through lmcache's own ``RemoteBackend``, as the storage manager of an engine uses a connector."""

from cases.remote.promises import comes_back, found_are, keys_of, miss, nothing_owed, promise, says, stored
from harness.client import ClientHang
from harness.judge import Judge
from harness.remote.chunks import Chunks
from harness.remote.connector import Connector


@promise("CONN-BACK-001")
def test_stored(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """A put task stores a chunk, which is then contained and comes back; all memory is given back."""
    chunk, stranger = chunks.chunk(), chunks.key()
    says(judge, connector.backend_contains(chunk.key), False, what="contains before it was stored", cite="CONN-BACK-001")
    stored(judge, connector.backend_put(chunk))
    judge.holds(
        connector.backend_waiting([chunk.key]) == [False], "a put is still under way after it was done", cite="CONN-BACK-001"
    )
    says(judge, connector.backend_contains(chunk.key), True, what="contains after it was stored", cite="CONN-BACK-001")
    comes_back(judge, connector.backend_get(chunk.key), chunk, after="stored by a put task", cite="CONN-BACK-001")
    miss(judge, connector.backend_get(stranger), because="it was never stored", cite="CONN-BACK-001")
    nothing_owed(judge, connector, after="after a put task", cite="CONN-BACK-001")


@promise("CONN-BACK-002", releases="0.3.9.post1 and later")
def test_several(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """Many chunks are stored and found at once; one that is not there is no fault of the others."""
    several = chunks.chunks(32)
    stored(judge, connector.backend_put_many(several))
    for chunk in several:  # a batch is over for its caller before all of it can be read
        says(judge, connector.backend_contains(chunk.key), True, what="contains after a batch was stored", cite="CONN-BACK-002")
    wanted = [*several[:3], None, *several[3:6]]
    keys = [*keys_of(several[:3]), chunks.key(), *keys_of(several[3:6])]
    found_are(judge, connector.backend_get_many(keys), wanted, what="batched_get_blocking", cite="CONN-BACK-002")
    found_are(judge, connector.backend_get_many(keys_of(several)), several, what="batched_get_blocking", cite="CONN-BACK-002")
    nothing_owed(judge, connector, after="after batches through RemoteBackend", cite="CONN-BACK-002")


@promise("CONN-BACK-003", releases="0.3.10 and later")
def test_lookup(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """A lookup counts the chunks before the first that is not there, and a prefetch brings just these."""
    several, stranger = chunks.chunks(4), chunks.key()
    for chunk in several:
        stored(judge, connector.backend_put(chunk))
    keys = [*keys_of(several[:3]), stranger, several[3].key]
    says(judge, connector.backend_contains_many(keys), 3, what="batched_contains counts wrongly", cite="CONN-BACK-003")
    says(judge, connector.backend_async_contains(keys), 3, what="batched_async_contains counts wrongly", cite="CONN-BACK-003")
    found_are(judge, connector.backend_prefetch(keys), several[:3], what="a prefetch", cite="CONN-BACK-003")
    nothing_owed(judge, connector, after="after a prefetch", cite="CONN-BACK-003")


@promise("CONN-BACK-004")
def test_closed(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """``RemoteBackend.close`` comes back."""
    stored(judge, connector.backend_put(chunks.chunk()))
    try:
        connector.backend_close()
    except ClientHang as hang:
        judge.fail("RemoteBackend.close does not come back", client_answered=str(hang), client_stderr=hang.stderr)
