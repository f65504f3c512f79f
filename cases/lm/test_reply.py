"""Reply headers: what a client reads in them, and (for clients that also serve) the bytes that it writes."""

from harness.captures import Vector, raw
from harness.case import answered, case, refused
from harness.judge import Judge
from harness.subject import Subject

SIZES = ("LM-REPLY-001", "LM-REPLY-002")
NUMBERS = ("LM-REQ-006", "LM-REQ-007", "LM-REQ-008", "LM-REQ-009", "LM-REQ-010")


@case(*SIZES, *NUMBERS, needs=("encode_reply",), variants=answered("encode_reply"))
def test_encode(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client writes the same reply header as lmcache, byte for byte."""
    got = client.ok("encode_reply", **vector.args)["bytes"]
    expected = raw(vector.answer["bytes"])
    judge.same_bytes(expected, got, what="the reply header", describe=judge.as_reply, source=vector)


@case("LM-REQ-011", *NUMBERS, needs=("encode_reply",), variants=refused("encode_reply"))
def test_encode_refused(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client refuses to write a reply header that the release cannot express."""
    answer = client.call("encode_reply", **vector.args)
    judge.not_ok("encode_reply", answer, because=vector.refusal, kinds=("refused",), source=vector)


@case(*SIZES, *NUMBERS, needs=("decode_reply",), variants=answered("decode_reply"))
def test_decode(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client reads in a reply header what lmcache reads in it."""
    got = client.ok("decode_reply", bytes=raw(vector.args["bytes"]))
    judge.same_members(vector.answer, got, what="the decoded reply", source=vector)


@case("LM-REQ-012", "LM-REPLY-006", needs=("decode_reply",), variants=refused("decode_reply"))
def test_decode_refused(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client does not read a reply header that lmcache refuses."""
    answer = client.call("decode_reply", bytes=raw(vector.args["bytes"]))
    judge.not_ok("decode_reply", answer, because=vector.refusal, kinds=("protocol",), source=vector)
