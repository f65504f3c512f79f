"""Packing of paged K/V into chunks, and back."""

from harness.captures import Vector, raw
from harness.case import answered, case
from harness.judge import Judge
from harness.subject import Subject

AXES = ("LAY-001", "LAY-002", "LAY-003")


@case(*AXES, "LAY-004", needs=("pack_layout",), variants=answered("pack_layout"))
def test_pack(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client packs the same chunk bytes as lmcache."""
    args = {**vector.args, "paged": raw(vector.args["paged"])}
    got = client.ok("pack_layout", **args)
    judge.same_value(list(vector.answer["shape"]), list(got["shape"]), what="the chunk's shape", source=vector)
    judge.same_bytes(raw(vector.answer["bytes"]), got["bytes"], what="the chunk", source=vector)


@case(*AXES, "LAY-004", "LAY-005", needs=("unpack_layout",), variants=answered("unpack_layout"))
def test_unpack(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client puts a chunk into the slots that lmcache puts it into, and touches no other."""
    args = {**vector.args, "bytes": raw(vector.args["bytes"])}
    got = client.ok("unpack_layout", **args)["paged"]
    judge.same_bytes(raw(vector.answer["paged"]), got, what="the paged memory", source=vector)
