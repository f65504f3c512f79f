"""Requests as bytes: what a client writes means to a server what lmcache's own request means, and it reads what lmcache reads."""

from cases.mp.messages import FROM_THE_FIRST, meant_as_written, raw_frames, request_in_words
from harness.captures import Vector
from harness.case import answered, case, refused
from harness.judge import Judge
from harness.subject import Subject
from wire.mp.operations import ORDERS, TEXT_OPERATIONS, OperationTable

REQUEST = ("MP-REQ-001", "MP-REQ-002", "MP-REQ-003", "MP-KEY-009", "MP-FRAME-001")


@case(*REQUEST, needs=("mp_encode_request",), releases=FROM_THE_FIRST, variants=answered("mp_encode_request", meant_as_written))
def test_encode(client: Subject, judge: Judge, mp_table: OperationTable, vector: Vector) -> None:
    """A request means to a server of the release what the same request of lmcache means: operation, payloads and their types."""
    operation = mp_table.named(vector.args["operation"])
    got = raw_frames(client.ok("mp_encode_request", **vector.args)["frames"])
    found = request_in_words(judge, mp_table, operation, got)
    expected = request_in_words(judge, mp_table, operation, raw_frames(vector.answer["frames"]))
    cite = "MP-REQ-001" if found["operation"] != expected["operation"] else "MP-REQ-002"
    judge.same_value(expected, found, what=f"the {operation.name} request", source=vector, cite=cite)


@case("MP-REQ-004", needs=("mp_encode_request",), releases=FROM_THE_FIRST, variants=refused("mp_encode_request"))
def test_encode_refused(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client refuses to write a request that lmcache refuses to write."""
    answer = client.call("mp_encode_request", **vector.args)
    judge.not_ok("mp_encode_request", answer, because=vector.refusal, kinds=("refused",), source=vector)


@case("MP-REQ-004", "MP-REQ-001", needs=("mp_encode_request",), releases=FROM_THE_FIRST)
def test_operations_of_other_releases(client: Subject, judge: Judge, mp_table: OperationTable) -> None:
    """A client refuses to write a request for an operation that only other releases have."""
    for name in absent(mp_table):
        answer = client.call("mp_encode_request", operation=name, payloads=[])
        judge.not_ok("mp_encode_request", answer, because=f"lmcache {mp_table.release} has no {name}", kinds=("refused",))


@case("MP-REQ-005", needs=("mp_decode_request",), releases=FROM_THE_FIRST, variants=answered("mp_decode_request"))
def test_decode(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client reads in a request what lmcache reads in it, unknown members left out and missing ones filled in."""
    got = client.ok("mp_decode_request", **vector.args)
    judge.same_members(vector.answer, got, what="the decoded request", source=vector)


def outside_of_tensors(vector: Vector) -> bool:
    """Vectors that are refused for something else than what is inside of an extension, which a decoder hands on as it is."""
    return "tensor-extension" not in vector.id


@case(
    "MP-REQ-006", needs=("mp_decode_request",), releases=FROM_THE_FIRST, variants=refused("mp_decode_request", outside_of_tensors)
)
def test_decode_refused(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client does not read a request that lmcache refuses."""
    answer = client.call("mp_decode_request", **vector.args)
    judge.not_ok("mp_decode_request", answer, because=vector.refusal, kinds=("protocol",), source=vector)


def absent(table: OperationTable) -> list[str]:
    """Operations of any release that this one does not have, in the order of the newest."""
    known = {name: None for _, order in [*ORDERS.rows(), *TEXT_OPERATIONS.rows()] for name in order}
    return [name for name in known if name not in table]
