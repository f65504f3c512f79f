"""Any sequence of operations: a connector does what a dictionary does."""

from hypothesis import given
from hypothesis import strategies as st

from cases.remote.promises import comes_back, miss, nothing_owed, promise, says, stored
from harness.examples import Examples
from harness.judge import Judge
from harness.remote.chunks import Chunk, ChunkKey, Chunks
from harness.remote.connector import Connector

KEYS = 4
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "get", "exists", "exists_sync", "remove", "get_many"]),
        st.integers(0, KEYS - 1),
        st.integers(1, 16),
    ),
    min_size=1,
    max_size=12,
)


@promise("CONN-SEM-001", "CONN-SEM-003", "CONN-SEM-004", once_for="contract")
def test_history(connector: Connector, chunks: Chunks, judge: Judge, examples: Examples) -> None:
    """Whatever is put, read, asked for and removed, each answer is that of a dictionary."""

    @examples.costly(25)
    @given(STEPS)
    def check(steps: list[tuple[str, int, int]]) -> None:
        keys = chunks.keys(KEYS)
        held: dict[ChunkKey, Chunk] = {}
        for op, number, tokens in steps:
            key = keys[number]
            if op == "put" and key not in held:  # the same key always means the same chunk
                held[key] = chunks.chunk(key=key, tokens=tokens)
            if op == "put":
                stored(judge, connector.put(held[key]))
            elif op == "get" and key in held:
                comes_back(judge, connector.get(key), held[key])
            elif op == "get":
                miss(judge, connector.get(key), because="it is not stored")
            elif op == "exists":
                says(judge, connector.exists(key), key in held, what="exists", cite="CONN-SEM-004")
            elif op == "exists_sync" and "exists_sync" in connector.about.own:
                says(judge, connector.exists_sync(key), key in held, what="exists_sync", cite="CONN-SEM-004")
            elif op == "remove" and connector.supports("remove_sync"):
                says(judge, connector.remove(key), key in held, what="remove_sync", cite="CONN-SEM-011")
                held.pop(key, None)
            elif op == "get_many" and connector.supports("batched_get"):
                found = connector.get_many(keys).found or ()
                there = [got.found is not None for got in found]
                judge.same_value(
                    [one in held for one in keys], there, what="which of the keys batched_get finds", cite="CONN-BATCH-001"
                )
        nothing_owed(judge, connector, after="after some operations", cite="CONN-MEM-005")

    check()
