"""Servers that answer late, wrongly or not at all: no answer of another request, no value that was not there, and a way on."""

from typing import Any

import msgspec

from cases.mp.test_connection import FIRST, STALL_MS, in_order, timed_out
from cases.mp.test_roundtrip import DATA, TRANSFER, missed
from cases.mp.workers import CHUNK, Worker, contents, request, some_tokens, worker
from harness.case import MOCK, case, parameters
from harness.client import CONCURRENT, Answer, Call, Error, Miss, Ok
from harness.judge import Judge, in_words
from harness.mp.keys import MpKeys
from harness.mp.targets import MpTarget
from harness.subject import Subject

CONTROL = ("connect", "mp_noop", "mp_chunk_size")
FROM_CHUNK_SIZE = "0.3.10 and later"
SHARED = "0.4.7 and later"
LATE = 0.7
"""Seconds that a reply comes late; the client waits for less."""
OTHER_TEXT = "another text"
"""What NOOP is answered with where two of its replies must be told apart."""


@case("MP-REPLY-002", "MP-CONN-002", targets=MOCK, needs=("connect", "mp_noop"), releases=FIRST)
def test_late_reply(client: Subject, judge: Judge, mp_server: MpTarget) -> None:
    """A reply that comes after its request was given up is not the answer to the next one of the same operation."""
    connection = client.connect(mp_server, timeout_ms=STALL_MS)
    mp_server.misbehave(
        f"late-reply:seconds={LATE},operation=NOOP,nth=1", f"late-reply:seconds={LATE / 2},operation=NOOP,nth=2", other_text(2)
    )
    timed_out(client, judge, connection)
    right_or_error(judge, client.call("mp_noop", connection=connection), "text", OTHER_TEXT)
    in_order(client, judge, mp_server, connection)


@case("MP-REPLY-002", "MP-CONN-002", targets=MOCK, needs=DATA, releases=TRANSFER)
def test_late_hits(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """The hits of a lookup that was given up are not those of the next one."""
    one, tokens = worker(client, judge, mp_server, mp_keys, timeout_ms=500), some_tokens(3)
    one.stored(request(mp_keys, tokens), contents(3))
    mp_server.misbehave(
        *(f"late-reply:seconds={LATE},operation={name},nth=1" for name in polls(mp_server)),
        *(f"late-reply:seconds=0.35,operation={name},nth=2.." for name in polls(mp_server)),
    )
    timed_out(client, judge, one.connection, "mp_lookup", key=request(mp_keys, tokens).key(), tp_size=1)
    wanted = request(mp_keys, tokens[:CHUNK])
    answer = client.call("mp_lookup", connection=one.connection, key=wanted.key(), tp_size=1)
    right_or_error(judge, answer, "hits", 1)


@case("MP-REPLY-001", "MP-CONN-004", targets=MOCK, needs=(*CONTROL, CONCURRENT), releases=FROM_CHUNK_SIZE)
def test_swapped_replies(client: Subject, judge: Judge, mp_server: MpTarget) -> None:
    """Replies that come in another order than their requests each reach the operation that asked."""
    connection = client.connect(mp_server)
    text = client.ok("mp_noop", connection=connection)["text"]
    mp_server.misbehave("late-reply:seconds=0.2,operation=NOOP")
    calls = [Call.of("mp_noop", connection=connection), Call.of("mp_chunk_size", connection=connection)]
    first, second = client.ok_all(calls)
    judge.same_value(text, first["text"], what="the answer to NOOP", cite="MP-REPLY-001")
    judge.same_value(CHUNK, second["chunk_size"], what="the answer to GET_CHUNK_SIZE", cite="MP-REPLY-001")


@case("MP-REPLY-001", "MP-FLOW-004", targets=MOCK, needs=(*DATA, CONCURRENT), releases=TRANSFER)
def test_swapped_hits(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """Lookups whose replies overtake each other find as many chunks as each of them should."""
    one, tokens = worker(client, judge, mp_server, mp_keys), some_tokens(3)
    one.stored(request(mp_keys, tokens), contents(3))
    mp_server.misbehave(
        "late-reply:seconds=0.2,operation=QUERY_PREFETCH_STATUS,nth=1", "late-reply:seconds=0.2,operation=LOOKUP,nth=1"
    )
    asked = [request(mp_keys, tokens[: chunks * CHUNK]) for chunks in (1, 3, 2)]
    calls = [Call.of("mp_lookup", connection=one.connection, key=wanted.key(), tp_size=1) for wanted in asked]
    judge.same_value([1, 3, 2], [answer["hits"] for answer in client.ok_all(calls)], what="the hits", cite="MP-REPLY-001")


@case("MP-REPLY-002", targets=MOCK, needs=("connect", "mp_noop"), releases=FIRST)
def test_duplicated_reply(client: Subject, judge: Judge, mp_server: MpTarget) -> None:
    """The second copy of a reply is not the answer to the next request of the same operation."""
    connection = client.connect(mp_server, timeout_ms=STALL_MS)
    mp_server.misbehave("duplicate-reply:operation=NOOP,copies=3,nth=1", other_text(2))
    client.ok("mp_noop", connection=connection)
    right_or_error(judge, client.call("mp_noop", connection=connection), "text", OTHER_TEXT)
    in_order(client, judge, mp_server, connection)


@case("MP-REPLY-002", "MP-CONN-001", targets=MOCK, needs=("connect", "mp_noop"), releases=FIRST)
def test_wrong_uid(client: Subject, judge: Judge, mp_server: MpTarget) -> None:
    """A reply with the uid of nobody is no answer: the request times out."""
    connection = client.connect(mp_server, timeout_ms=STALL_MS)
    mp_server.misbehave("wrong-uid:operation=NOOP")
    timed_out(client, judge, connection)
    in_order(client, judge, mp_server, connection)


BROKEN = (
    "wrong-operation:number=3",
    "missing-frames:keep=1",
    "missing-frames:keep=2",
    "garbage-result:bytes=c1",
    "garbage-result:bytes=a3",
    "wrong-type",
)


@case(
    "MP-REPLY-003",
    "MP-CONN-002",
    targets=MOCK,
    needs=CONTROL,
    releases=FROM_CHUNK_SIZE,
    variants=parameters(*BROKEN, name=lambda fault: fault.replace(":", "-").replace("=", "-")),
)
def test_broken_reply(client: Subject, judge: Judge, mp_server: MpTarget, vector: str) -> None:
    """A reply that is no answer to its request yields no value, and the connection works afterwards or is gone."""
    connection = client.connect(mp_server, timeout_ms=STALL_MS)
    fault, _, rest = vector.partition(":")
    mp_server.misbehave(f"{fault}:operation=GET_CHUNK_SIZE{',' if rest else ''}{rest}")
    answer = client.call("mp_chunk_size", connection=connection)
    judge.not_ok("mp_chunk_size", answer, because="its reply is broken", kinds=("protocol", "timeout", "connection"))
    in_order(client, judge, mp_server, connection)


@case("MP-REPLY-007", "MP-CONN-002", targets=MOCK, needs=CONTROL, releases=FROM_CHUNK_SIZE, variants=parameters(1, 3))
def test_extra_frames(client: Subject, judge: Judge, mp_server: MpTarget, vector: int) -> None:
    """Frames behind the result are passed over or make the reply an error; they are neither the result nor the next reply."""
    connection = client.connect(mp_server, timeout_ms=STALL_MS)
    mp_server.misbehave(f"extra-frames:count={vector},operation=GET_CHUNK_SIZE")
    right_or_error(judge, client.call("mp_chunk_size", connection=connection), "chunk_size", CHUNK)
    in_order(client, judge, mp_server, connection)


@case("MP-REPLY-003", "MP-CONN-001", targets=MOCK, needs=("connect", "mp_noop"), releases=FIRST)
def test_delimiter_in_front(client: Subject, judge: Judge, mp_server: MpTarget) -> None:
    """A reply behind an empty delimiter, which no server sends, is no answer of another request."""
    connection = client.connect(mp_server, timeout_ms=STALL_MS)
    mp_server.misbehave("extra-frames:front=true,operation=NOOP,nth=1")
    answer = client.call("mp_noop", connection=connection)
    judge.not_ok("mp_noop", answer, because="an empty frame stands before the uid", kinds=("protocol", "timeout", "connection"))
    in_order(client, judge, mp_server, connection)


@case("MP-CONN-001", "MP-CONN-002", targets=MOCK, needs=("connect", "mp_noop"), releases=FIRST)
def test_dead_message_thread(client: Subject, judge: Judge, mp_server: MpTarget) -> None:
    """A server that takes connections and reads nothing any more costs a timeout each time, also over a new connection."""
    connection = client.connect(mp_server, timeout_ms=STALL_MS)
    mp_server.misbehave("die:operation=NOOP,nth=1")
    timed_out(client, judge, connection)
    timed_out(client, judge, client.connect(mp_server, timeout_ms=STALL_MS))


@case("MP-FLOW-002", targets=MOCK, needs=DATA, releases=TRANSFER)
def test_lookup_takes_its_time(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """A lookup that is still running is asked for again until it has an answer."""
    one, tokens = worker(client, judge, mp_server, mp_keys), some_tokens(3)
    one.stored(request(mp_keys, tokens), contents(3))
    mp_server.misbehave(*(f"still-running:operation={name},nth=1..3" for name in polls(mp_server)))
    one.hits(request(mp_keys, tokens), 3, because="the lookup was still running when it was first asked for", cite="MP-FLOW-002")


@case("MP-FLOW-002", "MP-CONN-001", targets=MOCK, needs=DATA, releases=TRANSFER)
def test_lookup_never_ends(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """A lookup that is never done ends with the timeout of the connection, not with a number."""
    one, tokens = worker(client, judge, mp_server, mp_keys, timeout_ms=STALL_MS), some_tokens(2)
    one.stored(request(mp_keys, tokens), contents(2))
    mp_server.misbehave(*(f"still-running:operation={name}" for name in polls(mp_server)))
    timed_out(client, judge, one.connection, "mp_lookup", key=request(mp_keys, tokens).key(), tp_size=1)


ONCE = {
    "PREPARE_STORE": "mp_store",
    "COMMIT_STORE": "mp_store",
    "LOOKUP": "mp_lookup",
    "PREPARE_RETRIEVE": "mp_retrieve",
    "COMMIT_RETRIEVE": "mp_retrieve",
    "FREE_LOOKUP_LOCKS": "mp_free_locks",
}


@case("MP-FLOW-009", "MP-CONN-001", "MP-REQ-007", targets=MOCK, needs=DATA, releases=TRANSFER, variants=parameters(*ONCE))
def test_sent_once(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys, vector: str) -> None:
    """A request whose reply never comes ends its operation, is not sent again, and a new connection works."""
    calm, whole = worker(client, judge, mp_server, mp_keys), request(mp_keys, some_tokens(2))
    other = request(mp_keys, some_tokens(2, seed=5))
    calm.stored(whole, contents(2))
    one, wanted = worker(client, judge, mp_server, mp_keys, timeout_ms=STALL_MS), whole.again()
    if ONCE[vector] in {"mp_retrieve", "mp_free_locks"}:
        one.lookup(wanted)
    before = len(mp_server.journal.exchanges(operation=vector))
    mp_server.misbehave(f"drop-reply:operation={vector}")
    answer = one.ask(ONCE[vector], other if ONCE[vector] == "mp_store" else wanted, contents(2))
    unanswered(judge, vector, answer)
    sent = len(mp_server.journal.exchanges(operation=vector)) - before
    judge.holds(sent == 1, f"{vector} was sent {sent} times, its reply never came", cite="MP-FLOW-009")
    mp_server.misbehave()
    worker(client, judge, mp_server, mp_keys).stored(request(mp_keys, some_tokens(1, seed=9)), contents(1))


def unanswered(judge: Judge, name: str, answer: Answer) -> None:
    """What may come of an operation whose request was not answered: the timeout, or where all bytes were there a value."""
    if name == "COMMIT_RETRIEVE" and isinstance(answer, Ok):
        return
    allowed = isinstance(answer, Miss) and name == "PREPARE_RETRIEVE"
    judge.not_ok(ONCE[name], answer, because=f"{name} was not answered", kinds=("timeout", "connection"), miss=allowed)


@case("MP-FLOW-007", targets=MOCK, needs=DATA, releases=TRANSFER)
def test_store_refused(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """A commit that the server answers with false is not a stored value."""
    one, whole = worker(client, judge, mp_server, mp_keys), request(mp_keys, some_tokens(2))
    mp_server.misbehave("refuse:operation=COMMIT_STORE,nth=1")
    answer = one.ask("mp_store", whole, contents(2))
    judge.not_yes("mp_store", answer, "stored", because="the server answered COMMIT_STORE with false", cite="MP-FLOW-007")
    one.stored(request(mp_keys, some_tokens(2, seed=3)), contents(2))


@case("MP-FLOW-008", targets=MOCK, needs=DATA, releases=TRANSFER)
def test_retrieve_refused(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """A retrieve that the server answers with failure is a miss, and the next one of the same chunks works."""
    one, whole = worker(client, judge, mp_server, mp_keys), request(mp_keys, some_tokens(2))
    one.stored(whole, contents(2))
    wanted = whole.again()
    one.lookup(wanted)
    mp_server.misbehave("refuse:operation=PREPARE_RETRIEVE,nth=1")
    missed(judge, one, wanted, because="the server answered with failure")
    mp_server.misbehave()
    one.loaded(whole.again(), contents(2))


@case("MP-FLOW-008", targets=MOCK, needs=DATA, releases=TRANSFER)
def test_hits_shrink(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """A retrieve of chunks that went away after the lookup is a miss; those that stayed are found by the next lookup."""
    one, whole = worker(client, judge, mp_server, mp_keys), request(mp_keys, some_tokens(3))
    one.stored(whole, contents(3))
    mp_server.misbehave(*(f"shrink-hits:operation={name},nth=1" for name in polls(mp_server)))
    wanted = whole.again()
    one.lookup(wanted)
    missed(judge, one, wanted, because="the third chunk went away")
    mp_server.misbehave()
    one.loaded(whole.again().part(0, 2 * CHUNK), contents(2))


@case("MP-REPLY-004", "MP-FLOW-005", targets=MOCK, needs=DATA, releases=SHARED)
def test_newer_server(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """Members that a newer server adds to its replies change nothing, and members that an older one leaves out are defaults."""
    one, whole = worker(client, judge, mp_server, mp_keys), request(mp_keys, some_tokens(1))
    one.stored(whole, contents(1))
    wanted = whole.again()
    one.lookup(wanted)
    one.retrieved(wanted, contents(1))
    slot = last_slot(mp_server)
    again = whole.again()
    one.lookup(again)
    reply(
        mp_server,
        "PREPARE_RETRIEVE",
        {"success": True, "later": [1, {"x": None}], "context": {"slots": [{**slot, "tier": "l1"}], "more": 1}},
    )
    one.retrieved(again, contents(1))
    reply(mp_server, "PREPARE_RETRIEVE", {"success": False})
    missed(judge, one, again, because="the server answered with failure and nothing else")


@case("MP-FLOW-010", "MP-FLOW-011", "MP-CONN-005", targets=MOCK, needs=DATA, releases=TRANSFER)
def test_forgotten_registration(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """A worker that the server has forgotten is told by silence; after it registered again it stores and loads."""
    one, whole = worker(client, judge, mp_server, mp_keys, timeout_ms=STALL_MS), request(mp_keys, some_tokens(2))
    one.stored(whole, contents(2))
    mp_server.restart()
    answer = one.ask("mp_store", whole.again(), contents(2))
    judge.not_ok("mp_store", answer, because="the server does not know the worker", kinds=("timeout", "connection", "refused"))
    connection = client.connect(mp_server)
    client.ok("mp_register", connection=connection, instance_id=one.instance, context=mp_keys.context())
    again = Worker(client, judge, connection, one.instance)
    again.stored(whole.again(), contents(2, seed=4))
    again.loaded(whole.again(), contents(2, seed=4))


def polls(server: MpTarget) -> list[str]:
    """The operations by which a lookup of the release can be asked for."""
    assert server.mock is not None
    return [name for name in ("QUERY_PREFETCH_STATUS", "WAIT_PREFETCH_STATUS") if name in server.mock.table]


def reply(server: MpTarget, operation: str, result: Any) -> None:
    """Let the mock answer the next request of an operation with this result."""
    server.misbehave(f"garbage-result:bytes={msgspec.msgpack.encode(result).hex()},operation={operation},nth=1")


def other_text(nth: int) -> str:
    """The fault that answers one NOOP with another text than the server's own."""
    return f"garbage-result:bytes={msgspec.msgpack.encode(OTHER_TEXT).hex()},operation=NOOP,nth={nth}"


def last_slot(server: MpTarget, operation: str = "PREPARE_RETRIEVE") -> dict[str, Any]:
    """The first slot of the last reply to an operation."""
    found = server.journal.last_exchange(operation)
    assert found is not None
    slot: dict[str, Any] = msgspec.msgpack.decode(found.reply[2])["context"]["slots"][0]
    return slot


def right_or_error(judge: Judge, answer: Answer, member: str, expected: object) -> None:
    """An answer has the right value, or is an honest error."""
    right = isinstance(answer, Ok) and answer.values[member] == expected
    honest = isinstance(answer, Error) and answer.kind in {"timeout", "connection", "protocol"}
    judge.holds(
        right or honest,
        "an operation was given the reply to another one",
        cite="MP-REPLY-002",
        client_answered=in_words(answer),
        conformant_answer=f"{member} = {expected}, or error timeout or connection",
    )
