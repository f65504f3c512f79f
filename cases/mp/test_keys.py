"""Objects of the server: the hashes of chunks and the names that a key means."""

from cases.mp.messages import FROM_THE_FIRST
from harness.captures import Vector
from harness.case import answered, case, refused
from harness.judge import Judge
from harness.subject import Subject
from wire.mp.values import from_json


def as_clients_write(vector: Vector) -> bool:
    """Vectors of keys whose range is one of their tokens, and for lookups ends with them: all that clients send."""
    key = vector.args["key"]
    count = len(from_json(key["token_ids"]))
    whole = not vector.args["lookup"] or count - key["end"] < vector.args["chunk_size"]
    return bool(key["start"] <= key["end"] <= count) and whole


@case("MP-KEY-007", needs=("mp_object_keys",), releases=FROM_THE_FIRST, variants=answered("mp_object_keys", as_clients_write))
def test_objects(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client hashes the whole chunks of a key as the server does, and knows the objects of each rank."""
    got, expected = client.ok("mp_object_keys", **vector.args)["keys"], vector.answer["keys"]
    judge.same_value(len(expected), len(got), what="the number of objects", source=vector)
    for index, (one, other) in enumerate(zip(expected, got, strict=True)):
        judge.same_members(one, other, what=f"object {index}", source=vector)


def named(vector: Vector) -> bool:
    """Those with the names that second tiers use."""
    return as_clients_write(vector) and "names" in vector.answer


@case("MP-KEY-008", needs=("mp_object_keys",), releases=FROM_THE_FIRST, variants=answered("mp_object_keys", named))
def test_names(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client writes the names of objects as the server does."""
    got = client.ok("mp_object_keys", **vector.args)
    judge.same_value(vector.answer["names"], got.get("names"), what="the names", source=vector)


@case("MP-KEY-007", needs=("mp_object_keys",), releases=FROM_THE_FIRST, variants=refused("mp_object_keys", as_clients_write))
def test_refused(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client names no objects for a key that the server cannot hash."""
    answer = client.call("mp_object_keys", **vector.args)
    judge.not_ok("mp_object_keys", answer, because=vector.refusal, kinds=("refused", "protocol"), source=vector)
