"""Key strings as a client writes them."""

from collections.abc import Sequence
from typing import Any

from harness.captures import Vector
from harness.case import Variant, answered, case, refused
from harness.judge import Judge
from harness.subject import Subject
from harness.values import Keys
from wire.keys import KEY_GRAMMARS
from wire.release import Release

AMBIGUOUS = "model-with-separator"
GRAMMAR = (
    "KEY-FMT-001",
    "KEY-FMT-002",
    "KEY-FMT-003",
    "KEY-FMT-004",
    "KEY-FMT-005",
    "KEY-FMT-006",
    "KEY-FMT-007",
    "KEY-FMT-008",
)


def expressible(vector: Vector) -> bool:
    """Not the keys that lmcache writes and cannot read back.

    A model name that contains the separator; and a digest in 0.3.3 to 0.3.5, where Python's notation of the bytes ends up in
    the key.
    """
    digest = vector.args["key"]["chunk_hash"].get("bytes", "")
    return not vector.id.endswith(AMBIGUOUS) and digest in vector.answer["text"]


@case(*GRAMMAR, "LM-ID-002", needs=("format_key",), variants=answered("format_key", expressible))
def test_format(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client writes the same key string as lmcache."""
    got = client.ok("format_key", **vector.args)["text"]
    judge.same_value(vector.answer["text"], got, what="the key string", source=vector)


def unreadable(release: Release) -> Sequence[Variant]:
    """Keys whose strings would be read back as others."""
    grammar = KEY_GRAMMARS[release]
    changes: dict[str, dict[str, Any]] = {"separator-in-model": {"model": "a@b"}}
    if grammar.prefix:
        changes["separator-in-engine"] = {"fmt": "v@llm"}
        changes["no-engine"] = {"fmt": None}
    if grammar.dtype_names is not None:
        changes["no-dtype"] = {"dtype": None}
    if not grammar.digests:
        changes["digest"] = {"chunk_hash": {"bytes": "00ab"}}
    if grammar.tags:
        changes["separator-in-tag"] = {"tags": [["user", "a@b"]]}
        changes["percent-in-tag-name"] = {"tags": [["us%er", "a"]]}
    else:
        changes["tags"] = {"tags": [["user", "a"]]}
    return [Variant(name, change) for name, change in changes.items()]


@case("KEY-FMT-009", needs=("format_key",), variants=unreadable)
def test_unreadable(client: Subject, judge: Judge, keys: Keys, vector: dict[str, Any]) -> None:
    """A client refuses to write a key that would be read back as another, although lmcache writes some of them."""
    answer = client.call("format_key", key=keys(**vector))
    judge.not_ok("format_key", answer, because="no reader could make this key of the string", kinds=("refused",))


@case("KEY-FMT-009", needs=("format_key",), variants=refused("format_key"))
def test_format_refused(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client refuses to write a key that the release has no words for."""
    answer = client.call("format_key", **vector.args)
    judge.not_ok("format_key", answer, because=vector.refusal, kinds=("refused",), source=vector)
