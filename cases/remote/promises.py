"""What cases about connectors have in common: storing a chunk, and what must come back."""

import functools
from collections.abc import Sequence

from harness.case import ALONE, case
from harness.judge import Judge
from harness.remote.answers import Got, GotMany, Said, Stored
from harness.remote.chunks import Chunk, ChunkKey
from harness.remote.connector import Connector

promise = functools.partial(case, targets=ALONE, judges="connector")

RIGHT = "the bytes that were stored, with the same shape, dtype and format"


def store(connector: Connector, judge: Judge, *chunks: Chunk) -> None:
    """Store chunks, one after the other, which must succeed."""
    for chunk in chunks:
        stored(judge, connector.put(chunk))


def stored(judge: Judge, answer: Stored) -> None:
    """A put went well, and the object is still as it was lent."""
    judge.holds(answer.raised is None, "put raised", cite="CONN-SEM-001", client_answered=f"raised {answer.raised}")
    judge.holds(all(answer.unchanged), "put changed the object that it was to store", cite="CONN-MEM-001")
    judge.holds(
        answer.after == answer.before,
        f"after put the object has {told(answer.after)} references, it had {told(answer.before)} when it was lent",
        cite="CONN-MEM-001",
        conformant_answer="the same number: lmcache's wrapper gives the object back itself",
    )


def comes_back(judge: Judge, got: Got, chunk: Chunk, *, after: str = "after it was stored", cite: str = "CONN-SEM-001") -> None:
    """A get answers the chunk."""
    found = got.found
    if found is None:
        judge.fail(f"get does not answer the chunk {after}", cite=cite, client_answered=str(got), conformant_answer=RIGHT)
    judge.same_value(chunk.about, found.about, what=f"what get says of the chunk {after}", cite="CONN-SEM-002")
    judge.same_bytes(chunk.payload, found.payload, what=f"the bytes of the chunk {after}", cite=cite)
    given(judge, got)


def given(judge: Judge, got: Got) -> None:
    """What a get answers belongs to its caller, and came from the engine's pool."""
    found = got.found
    assert found is not None
    judge.holds(
        found.references == 1,
        f"get answers an object with {found.references} references; its caller gives back one",
        cite="CONN-MEM-002",
        conformant_answer="1",
    )
    judge.holds(
        found.from_pool,
        "get answers an object whose memory is not from the engine's pool",
        cite="CONN-MEM-002",
        conformant_answer="an object that local_cpu_backend.allocate() gave",
    )


def miss(judge: Judge, got: Got, *, because: str, cite: str = "CONN-SEM-003") -> None:
    """A get answers None."""
    judge.holds(
        got.found is None and got.raised is None and got.strange is None,
        f"get must miss: {because}",
        cite=cite,
        client_answered=str(got),
        conformant_answer="None",
    )


def whole_or_miss(judge: Judge, got: Got, *chunks: Chunk, because: str, cite: str) -> None:
    """A get answers one of these chunks as it was stored, or None; never an exception or anything else."""
    if got.found is None:
        miss(judge, got, because=because, cite=cite)
    else:
        right = any(got.found.payload == chunk.payload and got.found.about == chunk.about for chunk in chunks)
        judge.holds(
            right, f"get answers what was never stored {because}", cite=cite, client_answered=str(got), conformant_answer="a miss"
        )


def says(judge: Judge, answer: Said, expected: object, *, what: str, cite: str) -> None:
    """A plain answer is exactly this one."""
    right = answer.raised is None and answer.value == expected and type(answer.value) is type(expected)
    judge.holds(right, what, cite=cite, client_answered=str(answer), conformant_answer=repr(expected))


def found_are(judge: Judge, answer: GotMany, chunks: Sequence[Chunk | None], *, what: str, cite: str) -> None:
    """A get of several keys answers these chunks, and None for those that are not there."""
    if answer.found is None:
        judge.fail(f"{what} answers no list", cite=cite, client_answered=str(answer))
    judge.holds(
        len(answer.found) == len(chunks),
        f"{what} answers {len(answer.found)} entries for {len(chunks)} keys",
        cite=cite,
        client_answered=str(answer),
        conformant_answer="one entry for each key, None where there is nothing",
    )
    for number, (got, chunk) in enumerate(zip(answer.found, chunks, strict=True)):
        if chunk is None:
            judge.holds(
                got.found is None and got.strange is None, f"{what} finds key {number}, which was never stored", cite=cite
            )
        else:
            comes_back(judge, got, chunk, after=f"at place {number} of {what}", cite=cite)


def nothing_owed(judge: Judge, connector: Connector, *, after: str, cite: str) -> None:
    """All memory of the pool has been given back."""
    objects, size = connector.owed()
    judge.holds(
        objects == 0,
        f"{objects} objects of the engine's pool ({size} bytes) have no owner any more but the connector {after}",
        cite=cite,
        conformant_answer="ref_count_down() for every object that nobody else was handed",
    )


def told(numbers: Sequence[int]) -> str:
    """Numbers as a sentence has them."""
    return ", ".join(map(str, numbers))


def keys_of(chunks: Sequence[Chunk]) -> list[ChunkKey]:
    """Their keys."""
    return [chunk.key for chunk in chunks]
