"""Frames byte for byte: whoever writes them as lmcache does can be compared and replayed."""

from cases.mp.messages import FROM_THE_FIRST, meant_as_written, raw_frames
from harness.captures import Vector
from harness.case import answered, case
from harness.judge import Judge
from harness.subject import Subject


@case(
    "MP-FRAME-003",
    needs=("mp_encode_request",),
    releases=FROM_THE_FIRST,
    variants=answered("mp_encode_request", meant_as_written),
)
def test_request(client: Subject, judge: Judge, vector: Vector) -> None:
    """A request has the bytes of lmcache's own, frame by frame."""
    got = raw_frames(client.ok("mp_encode_request", **vector.args)["frames"])
    same_frames(judge, raw_frames(vector.answer["frames"]), got, vector)


@case("MP-FRAME-003", needs=("mp_encode_reply",), releases=FROM_THE_FIRST, variants=answered("mp_encode_reply"))
def test_reply(client: Subject, judge: Judge, vector: Vector) -> None:
    """A reply has the bytes of lmcache's own, frame by frame."""
    got = raw_frames(client.ok("mp_encode_reply", **vector.args)["frames"])
    same_frames(judge, raw_frames(vector.answer["frames"]), got, vector)


def same_frames(judge: Judge, expected: list[bytes], got: list[bytes], vector: Vector) -> None:
    """Two lists of frames are the same, byte for byte."""
    judge.same_frames(expected, got, what="the frames are not those of lmcache", source=vector)
