"""Replies as bytes: a client reads in them what lmcache reads, and one that writes them is understood."""

from cases.mp.messages import FROM_THE_FIRST, raw_frames, result_in_words
from harness.captures import Vector
from harness.case import answered, case, refused
from harness.client import Ok
from harness.judge import Judge
from harness.subject import Subject
from wire.mp.operations import OperationTable

LENIENT = ("operation-name", "result-nil")


def as_servers_write(vector: Vector) -> bool:
    """Vectors of replies that a server writes; lmcache also reads some with more frames or in other words, others need not."""
    return not (vector.id.endswith(LENIENT) and "query-prefetch" not in vector.id) and not with_more_frames(vector)


def with_more_frames(vector: Vector) -> bool:
    """Vectors of replies that have a frame behind the result."""
    return vector.id.endswith("one-frame-more")


@case("MP-REPLY-006", needs=("mp_encode_reply",), releases=FROM_THE_FIRST, variants=answered("mp_encode_reply"))
def test_encode(client: Subject, judge: Judge, mp_table: OperationTable, vector: Vector) -> None:
    """A reply means to a client of the release what the same reply of lmcache means."""
    operation = mp_table.named(vector.args["operation"])
    got = raw_frames(client.ok("mp_encode_reply", **vector.args)["frames"])
    expected = result_in_words(judge, mp_table, operation, raw_frames(vector.answer["frames"]))
    found = result_in_words(judge, mp_table, operation, got)
    judge.same_value(expected, found, what=f"the reply to {operation.name}", source=vector)


@case(
    "MP-REPLY-004",
    "MP-REPLY-005",
    needs=("mp_decode_reply",),
    releases=FROM_THE_FIRST,
    variants=answered("mp_decode_reply", as_servers_write),
)
def test_decode(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client reads in a reply what lmcache reads in it, unknown members left out and missing ones filled in."""
    got = client.ok("mp_decode_reply", **vector.args)
    judge.same_members(vector.answer, got, what="the decoded reply", source=vector)


@case(
    "MP-REPLY-007",
    needs=("mp_decode_reply",),
    releases=FROM_THE_FIRST,
    variants=answered("mp_decode_reply", with_more_frames),
)
def test_decode_more_frames(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client passes over frames behind the result, or says that the reply is broken; it reads nothing else in them."""
    answer = client.call("mp_decode_reply", **vector.args)
    if isinstance(answer, Ok):
        judge.same_members(vector.answer, answer.values, what="the decoded reply", source=vector)
    else:
        judge.not_ok("mp_decode_reply", answer, because="frames stand behind the result", kinds=("protocol",), source=vector)


@case("MP-REPLY-003", needs=("mp_decode_reply",), releases=FROM_THE_FIRST, variants=refused("mp_decode_reply"))
def test_decode_refused(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client does not read a reply that lmcache refuses."""
    answer = client.call("mp_decode_reply", **vector.args)
    judge.not_ok("mp_decode_reply", answer, because=vector.refusal, kinds=("protocol",), source=vector)
