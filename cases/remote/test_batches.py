"""Several keys at once: the same as one after the other, and in their order."""

from cases.remote.promises import comes_back, found_are, keys_of, miss, nothing_owed, promise, says, store, stored
from harness.judge import Judge
from harness.remote.chunks import ChunkKey, Chunks
from harness.remote.connector import Connector
from harness.remote.contract import CONTAINS_COUNTS
from wire.release import Release


@promise("CONN-BATCH-001", releases="0.3.4 and later")
def test_get(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """``batched_get`` answers one entry for each key, in their order, None where there is nothing."""
    connector.need("batched_get")
    several = chunks.chunks(4)
    store(connector, judge, *several)
    strangers = chunks.keys(2)
    found_are(judge, connector.get_many(keys_of(several)), several, what="batched_get", cite="CONN-BATCH-001")
    back = [*reversed(several)]
    found_are(judge, connector.get_many(keys_of(back)), back, what="batched_get, backwards", cite="CONN-BATCH-001")
    keys = [several[0].key, strangers[0], several[1].key, several[1].key, strangers[1]]
    wanted = [several[0], None, several[1], several[1], None]
    found_are(judge, connector.get_many(keys), wanted, what="batched_get with strangers", cite="CONN-BATCH-001")
    found_are(judge, connector.get_many(strangers), [None, None], what="batched_get of strangers", cite="CONN-BATCH-001")
    found_are(judge, connector.get_many([]), [], what="batched_get of nothing", cite="CONN-BATCH-001")
    nothing_owed(judge, connector, after="after batches", cite="CONN-MEM-005")


@promise("CONN-BATCH-002", "CONN-MEM-001", releases="0.3.9.post1 and later")
def test_put(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """``batched_put`` stores each object under its own key, and gives none back itself."""
    connector.need("batched_put")
    several, stranger = [*chunks.chunks(3), chunks.chunk(tokens=3), chunks.chunk()], chunks.key()
    stored(judge, connector.put_many(several))
    for chunk in several:
        comes_back(judge, connector.get(chunk.key), chunk, after="stored by batched_put", cite="CONN-BATCH-002")
    miss(judge, connector.get(stranger), because="it was not in the batch", cite="CONN-BATCH-002")
    nothing_owed(judge, connector, after="after a batch was stored", cite="CONN-MEM-005")


@promise("CONN-BATCH-003", releases="0.3.6 and later")
def test_prefix_exists(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """``batched_async_contains`` counts the keys that exist before the first that does not."""
    connector.need("batched_async_contains")
    several, stranger = chunks.chunks(4), chunks.key()
    store(connector, judge, *several)
    for keys, count in _rows(keys_of(several), stranger):
        says(judge, connector.contains_prefix(keys), count, what="batched_async_contains counts wrongly", cite="CONN-BATCH-003")


@promise("CONN-BATCH-004", releases="0.3.6 and later")
def test_prefix(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """``batched_get_non_blocking`` answers the objects before the first miss, and keeps none of those behind it."""
    connector.need("batched_get_non_blocking")
    several, stranger = chunks.chunks(4), chunks.key()
    store(connector, judge, *several)
    for keys, count in _rows(keys_of(several), stranger):
        by_key = {chunk.key: chunk for chunk in several}
        wanted = [by_key[key] for key in keys[:count]]
        found_are(judge, connector.get_prefix(keys), wanted, what="batched_get_non_blocking", cite="CONN-BATCH-004")
    nothing_owed(judge, connector, after="behind the first miss of a batch", cite="CONN-BATCH-004")


@promise("CONN-BATCH-005", releases="0.3.9 and later")
def test_contains(connector: Connector, chunks: Chunks, judge: Judge, release: Release) -> None:
    """``batched_contains`` says which keys exist, in the way of the release."""
    connector.need("batched_contains")
    several, stranger = chunks.chunks(4), chunks.key()
    store(connector, judge, *several)
    for keys, count in _rows(keys_of(several), stranger):
        expected: object = count if CONTAINS_COUNTS[release] else [number < count for number in range(len(keys))]
        says(judge, connector.contains_many(keys), expected, what="batched_contains is wrong", cite="CONN-BATCH-005")


def _rows(keys: list[ChunkKey], stranger: ChunkKey) -> list[tuple[list[ChunkKey], int]]:
    """Lists of keys, and how many of them exist before the first that does not."""
    return [
        (keys, len(keys)),
        ([keys[0], keys[1], stranger, keys[2]], 2),
        ([stranger, *keys], 0),
        ([*keys, stranger], len(keys)),
        ([stranger], 0),
        ([], 0),
    ]
