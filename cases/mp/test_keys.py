"""Objects of the server: the hashes of chunks and the names that a key means."""

from cases.mp.messages import FROM_THE_FIRST
from fixturegen.vector import Vector
from harness.case import answered, case, refused
from harness.judge import Judge
from harness.subject import Subject


@case("MP-KEY-007", needs=("mp_object_keys",), releases=FROM_THE_FIRST, variants=answered("mp_object_keys"))
def test_hashes(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client hashes the whole chunks of a key as the server does."""
    got = client.ok("mp_object_keys", **vector.args)
    judge.same_value(vector.answer["hashes"], got["hashes"], what="the hashes of the chunks", source=vector)


@case("MP-KEY-007", "MP-KEY-008", needs=("mp_object_keys",), releases=FROM_THE_FIRST, variants=answered("mp_object_keys"))
def test_names(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client names the objects of a key as the server does: chunk by chunk, and rank by rank."""
    got = client.ok("mp_object_keys", **vector.args)["keys"]
    expected = vector.answer["keys"]
    judge.same_value(len(expected), len(got), what="the number of objects", source=vector, cite="MP-KEY-007")
    for index, (one, other) in enumerate(zip(expected, got, strict=True)):
        judge.same_members(one, other, what=f"object {index}", source=vector)


@case("MP-KEY-007", needs=("mp_object_keys",), releases=FROM_THE_FIRST, variants=refused("mp_object_keys"))
def test_refused(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client names no objects for a key that the server cannot hash."""
    answer = client.call("mp_object_keys", **vector.args)
    judge.not_ok("mp_object_keys", answer, because=vector.refusal, kinds=("refused", "protocol"), source=vector)
