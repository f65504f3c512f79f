"""RemoteMetadata: the prefix that other remote backends put in front of a stored value."""

from harness.captures import Vector, raw
from harness.case import answered, case, refused
from harness.judge import Judge
from harness.subject import Subject

LAYOUTS = ("LM-META-001", "LM-META-002")


@case(*LAYOUTS, needs=("encode_metadata",), variants=answered("encode_metadata"))
def test_encode(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client writes the same metadata as lmcache, byte for byte."""
    got = client.ok("encode_metadata", **vector.args)["bytes"]
    judge.same_bytes(raw(vector.answer["bytes"]), got, what="the metadata", source=vector)


@case("LM-REQ-011", needs=("encode_metadata",), variants=refused("encode_metadata"))
def test_encode_refused(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client refuses to write metadata that the release cannot express."""
    answer = client.call("encode_metadata", **vector.args)
    judge.not_ok("encode_metadata", answer, because=vector.refusal, kinds=("refused",), source=vector)


@case(*LAYOUTS, "LM-META-003", needs=("decode_metadata",), variants=answered("decode_metadata"))
def test_decode(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client reads in metadata what lmcache reads in it, whatever stands behind."""
    got = client.ok("decode_metadata", bytes=raw(vector.args["bytes"]), groups=vector.args["groups"])
    judge.same_members(vector.answer, got, what="the decoded metadata", source=vector)


@case("LM-META-003", needs=("decode_metadata",), variants=refused("decode_metadata"))
def test_decode_refused(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client does not read metadata that lmcache refuses."""
    answer = client.call("decode_metadata", bytes=raw(vector.args["bytes"]), groups=vector.args["groups"])
    judge.not_ok("decode_metadata", answer, because=vector.refusal, kinds=("protocol",), source=vector)
