"""Chunk keys as deployments make them: with the hash functions and the NONE_HASH of an installed vLLM."""

from collections.abc import Sequence
from typing import Any

from harness.captures import MASKED, Vector
from harness.case import Variant, answered, case, refused
from harness.judge import Judge
from harness.subject import Subject
from wire.release import Release

GIVEN = ("tokens", "chunk_size", "save_unfull_chunk", "skip", "model", "world_size", "worker_id", "dtype", "fmt", "tags")
"""Arguments of ``chunk_keys`` that a deployment has as well."""


def reproducible(vector: Vector) -> bool:
    """Keys that are the same in every process."""
    return vector.volatile is None


def random(vector: Vector) -> bool:
    """Keys that no other process can make, since each starts from another hash."""
    return bool(vector.answer["none_hash"] == MASKED)


def derivable_start(vector: Vector) -> bool:
    """Keys that differ between processes although NONE_HASH does not."""
    return vector.volatile is not None and not random(vector)


def chains(release: Release) -> Sequence[Variant]:
    """One deployment of each chain: what it starts from and hashes with is given, whatever led to it."""
    found: dict[str, Variant] = {}
    for variant in answered("deployment_keys", reproducible)(release):
        if not variant.value.args["mla"]:
            found.setdefault(repr(chain_arguments(variant.value)), variant)
    return list(found.values())


def chain_arguments(vector: Vector) -> dict[str, Any]:
    """The arguments of ``chunk_keys`` that say the same."""
    return {
        **{name: vector.args[name] for name in GIVEN},
        "algorithm": vector.answer["function"].rpartition(".")[2],
        "none_hash": vector.answer["none_hash"],
        "returns": vector.answer["returns"],
    }


@case(
    "KEY-CHUNK-002",
    "KEY-CHUNK-003",
    "KEY-CHUNK-004",
    "KEY-CHUNK-005",
    "KEY-CHUNK-006",
    "KEY-CHUNK-009",
    needs=("chunk_keys",),
    variants=chains,
)
def test_chain(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client chains the hash functions of vLLM as lmcache does, from the NONE_HASH that it is given."""
    got = client.ok("chunk_keys", **chain_arguments(vector))["chunks"]
    expected = [without_layers(chunk) for chunk in vector.answer["chunks"]]
    judge.same_value(expected, [without_layers(chunk) for chunk in got], what="the list of chunks", source=vector)


@case(
    "KEY-DEPLOY-001",
    "KEY-DEPLOY-002",
    "KEY-DEPLOY-003",
    "KEY-DEPLOY-004",
    "KEY-DEPLOY-005",
    needs=("deployment_keys",),
    variants=answered("deployment_keys", reproducible),
)
def test_keys(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client makes the keys of a deployment from what is installed and set there."""
    got = client.ok("deployment_keys", **vector.args)
    judge.same_value(vector.answer["none_hash"], got["none_hash"], what="NONE_HASH", source=vector)
    found = [{**without_layers(chunk), "layers": chunk.get("layers")} for chunk in got["chunks"]]
    judge.same_value(vector.answer["chunks"], found, what="the list of chunks", source=vector)


@case(
    "KEY-DEPLOY-001",
    "KEY-DEPLOY-002",
    "KEY-DEPLOY-003",
    needs=("deployment_keys",),
    variants=answered("deployment_keys", derivable_start),
)
def test_starting_hash(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client knows what a chain starts from where the keys behind it differ from process to process."""
    got = client.ok("deployment_keys", **vector.args)
    judge.same_value(vector.answer["none_hash"], got["none_hash"], what="NONE_HASH", source=vector)


@case("KEY-DEPLOY-006", needs=("deployment_keys",), variants=answered("deployment_keys", random))
def test_random(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client does not name keys of a deployment that starts from another hash in every process."""
    answer = client.call("deployment_keys", **vector.args)
    judge.not_ok("deployment_keys", answer, because=vector.volatile or "", kinds=("refused",), source=vector)


@case("KEY-DEPLOY-007", needs=("deployment_keys",), variants=refused("deployment_keys"))
def test_refused(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client does not name keys that lmcache of this release fails to write."""
    answer = client.call("deployment_keys", **vector.args)
    judge.not_ok("deployment_keys", answer, because=vector.refusal, kinds=("refused",), source=vector)


def without_layers(chunk: dict[str, Any]) -> dict[str, Any]:
    """The members that both operations have."""
    return {name: chunk.get(name) for name in ("start", "end", "key")}
