"""The engine's memory: what is lent is not kept, what is taken is handed on, and all of it comes back."""

from cases.remote.promises import comes_back, nothing_owed, promise, store, stored
from harness.judge import Judge
from harness.remote.chunks import Chunks
from harness.remote.connector import Connector

ROUNDS = 250
"""Of four operations each."""
TURNS = (0, 1, 2, 3, 5, 8)


@promise("CONN-MEM-001")
def test_lent(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """``put`` leaves the object and its references as they were, also where the key is there already."""
    chunk = chunks.chunk()
    for _ in range(3):
        stored(judge, connector.put(chunk))


@promise("CONN-MEM-003")
def test_used_again(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """Once ``put`` is done, the memory of the object is somebody else's, and the stored bytes do not change with it."""
    several = chunks.chunks(4)
    for chunk in several:
        store(connector, judge, chunk)
        comes_back(
            judge, connector.get(chunk.key), chunk, after="once its memory was used for something else", cite="CONN-MEM-003"
        )
    for chunk in several:
        comes_back(judge, connector.get(chunk.key), chunk, after="once its memory was used by other chunks", cite="CONN-MEM-003")


@promise("CONN-MEM-004")
def test_two_gets(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """Two gets of a key answer two objects: what one caller does to its own, the other does not see."""
    chunk = chunks.chunk()
    store(connector, judge, chunk)
    first, second = connector.get(chunk.key, keep=True), connector.get(chunk.key, keep=True)
    judge.holds(first.found is not None and second.found is not None, "a stored chunk is a miss", cite="CONN-SEM-001")
    connector.overwrite_kept(0)
    judge.same_bytes(
        chunk.payload, connector.kept()[1], what="the second object, after the first was overwritten", cite="CONN-MEM-004"
    )
    connector.give_back()
    comes_back(judge, connector.get(chunk.key), chunk, after="after both were given back", cite="CONN-MEM-004")


@promise("CONN-MEM-005", once_for="contract")
def test_many_operations(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """After a thousand operations, misses among them, all memory of the pool is back."""
    several = chunks.chunks(8)
    for number in range(ROUNDS):
        chunk = several[number % len(several)]
        connector.put(chunk)
        connector.get(chunk.key)
        connector.get(chunks.key())
        connector.exists(chunk.key)
    nothing_owed(judge, connector, after=f"after {4 * ROUNDS} operations", cite="CONN-MEM-005")


@promise("CONN-MEM-006")
def test_given_up(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """A get that is cancelled while it is under way leaves nothing allocated, and the next one works."""
    chunk = chunks.chunk()
    store(connector, judge, chunk)
    for turns in TURNS:
        connector.give_up_get(chunk.key, turns=turns)
        connector.give_up_get(chunk.key, turns=turns, pause=0.0005 * turns)
    nothing_owed(judge, connector, after=f"after {2 * len(TURNS)} gets were cancelled", cite="CONN-MEM-006")
    comes_back(judge, connector.get(chunk.key), chunk, after="after others were cancelled", cite="CONN-MEM-006")


@promise("CONN-MEM-007")
def test_pool_is_empty(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """A get that finds no memory is a miss, and does not hold up the loop until there is some."""
    chunk = chunks.chunk()
    store(connector, judge, chunk)
    got, waited = connector.get_without_memory(chunk.key, patience=1.0)
    judge.holds(
        not waited,
        f"a get that found no memory had no answer after 1 s, and held up the event loop for {connector.held:.1f} s",
        cite="CONN-MEM-007",
        conformant_answer="allocate(..., busy_loop=False), and None where it answers None",
    )
    judge.holds(
        got.found is None and got.raised is None, "a get without memory is no miss", cite="CONN-MEM-007", client_answered=str(got)
    )


@promise("CONN-MEM-008")
def test_after_the_pool_was_empty(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """After a get that found no memory, and the memory came back, everything works and nothing is owed."""
    chunk = chunks.chunk()
    store(connector, judge, chunk)
    connector.get_without_memory(chunk.key, patience=0.3)
    comes_back(judge, connector.get(chunk.key), chunk, after="once there was memory again", cite="CONN-MEM-008")
    nothing_owed(judge, connector, after="after the pool was empty for a while", cite="CONN-MEM-008")
