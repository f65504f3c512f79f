"""Chunk keys: which chunks a list of tokens has, and under which keys they are stored."""

from typing import Any

from harness.captures import MASKED, Vector
from harness.case import answered, case, refused
from harness.judge import Judge
from harness.subject import Subject

CHAINS = ("KEY-CHUNK-001", "KEY-CHUNK-002", "KEY-CHUNK-003", "KEY-CHUNK-004")


def reproducible(vector: Vector) -> bool:
    """Keys that are the same in every process."""
    return vector.volatile is None


@case(*CHAINS, "KEY-CHUNK-007", "KEY-CHUNK-008", needs=("chunk_keys",), variants=answered("chunk_keys", reproducible))
def test_keys(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client makes the same chunk keys of the same tokens as lmcache."""
    got = client.ok("chunk_keys", **vector.args)["chunks"]
    judge.same_value(vector.answer["chunks"], trimmed(got), what="the list of chunks", source=vector)


@case(
    "KEY-CHUNK-007",
    "KEY-CHUNK-008",
    needs=("chunk_keys",),
    variants=answered("chunk_keys", lambda vector: not reproducible(vector)),
)
def test_boundaries(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client cuts the same chunks as lmcache where the keys themselves differ from process to process."""
    got = client.ok("chunk_keys", **vector.args)["chunks"]
    found = [{**chunk, "key": MASKED} for chunk in trimmed(got)]
    judge.same_value(vector.answer["chunks"], found, what="the list of chunks", source=vector)


@case("KEY-CHUNK-008", needs=("chunk_keys",), variants=refused("chunk_keys"))
def test_refused(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client refuses to skip a number of tokens that is no multiple of the chunk size."""
    answer = client.call("chunk_keys", **vector.args)
    judge.not_ok("chunk_keys", answer, because=vector.refusal, kinds=("refused",), source=vector)


def trimmed(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The members of the contract; a client may add others."""
    return [{name: chunk.get(name) for name in ("start", "end", "key")} for chunk in chunks]
