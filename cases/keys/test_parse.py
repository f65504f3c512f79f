"""Key strings as a client reads them."""

from harness.captures import Vector
from harness.case import answered, case, refused
from harness.judge import Judge
from harness.subject import Subject

PARTS = ("KEY-PARSE-001", "KEY-PARSE-002", "KEY-PARSE-004")
CANONICAL = (
    "plain", "hash-lower", "hash-negative", "hash-256-bit", "layer-0", "layer-31", "tag", "tag-order", "tag-no-value",
    "tag-two-percent", "layer-tag", "model-empty",
)  # fmt: skip
SENSELESS = (
    "blank", "no-separators", "too-few", "hash-not-a-number", "hash-blank", "world-not-a-number", "world-float", "worker-blank",
    "tag-no-percent", "dtype-torch-name", "dtype-upper", "dtype-blank",
)  # fmt: skip


def canonical(vector: Vector) -> bool:
    """Spellings that a writer of keys produces; what servers put up with beyond those is not asked of clients."""
    name = vector.id.rpartition(".")[2]
    return name in CANONICAL or (name.startswith("dtype-") and name not in SENSELESS)


def senseless(vector: Vector) -> bool:
    """Texts that name no key."""
    return vector.id.rpartition(".")[2] in SENSELESS


@case(
    "KEY-PARSE-001",
    "KEY-PARSE-002",
    "KEY-PARSE-004",
    "KEY-FMT-007",
    needs=("parse_key",),
    variants=answered("parse_key", canonical),
)
def test_parse(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client reads in a key string the parts that lmcache reads in it."""
    got = client.ok("parse_key", text=vector.args["text"])["key"]
    found = {name: got.get(name) for name in vector.answer["key"]}
    judge.same_value(vector.answer["key"], found, what="the parsed key", source=vector)


@case("KEY-PARSE-003", needs=("parse_key",), variants=refused("parse_key", senseless))
def test_parse_refused(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client does not make a key of a text that lmcache refuses."""
    answer = client.call("parse_key", text=vector.args["text"])
    judge.not_ok("parse_key", answer, because=vector.refusal, kinds=("protocol",), source=vector)
