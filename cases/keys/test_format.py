"""Key strings as a client writes them."""

from harness.captures import Vector
from harness.case import answered, case, refused
from harness.judge import Judge
from harness.subject import Subject

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
    """Not the key whose model name contains the separator: lmcache writes it and cannot read it back."""
    return not vector.id.endswith(AMBIGUOUS)


@case(*GRAMMAR, "LM-ID-002", needs=("format_key",), variants=answered("format_key", expressible))
def test_format(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client writes the same key string as lmcache."""
    got = client.ok("format_key", **vector.args)["text"]
    judge.same_value(vector.answer["text"], got, what="the key string", source=vector)


@case("KEY-FMT-009", needs=("format_key",), variants=refused("format_key"))
def test_format_refused(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client refuses to write a key that the release has no words for."""
    answer = client.call("format_key", **vector.args)
    judge.not_ok("format_key", answer, because=vector.refusal, kinds=("refused",), source=vector)
