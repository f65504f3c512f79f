"""Connections: silence ends with a timeout, what comes late is nobody's answer, and a server may go and come back."""

from cases.mp.test_roundtrip import DATA, TRANSFER
from cases.mp.workers import CHUNK, contents, request, some_tokens, worker
from harness.case import MOCK, SERVERS, case, parameters
from harness.client import CONCURRENT, Answer, Call, Error, Ok
from harness.judge import Judge, in_words
from harness.mp.keys import MpKeys
from harness.mp.targets import MpTarget
from harness.subject import Subject

FIRST = "0.3.9.post1 and later"
STALL_MS = 400
"""The timeout of a connection that is to time out."""


@case("MP-CONN-003", targets=SERVERS, needs=("connect", "mp_noop", "close"), releases=FIRST)
def test_independent(client: Subject, judge: Judge, mp_server: MpTarget) -> None:
    """Of several connections each works, and goes on when others are closed."""
    names = [client.connect(mp_server) for _ in range(5)]
    for name in names:
        client.ok("mp_noop", connection=name)
    for name in names[1:]:
        client.ok("close", connection=name)
    client.ok("mp_noop", connection=names[0])
    again = client.connect(mp_server)
    judge.holds(client.ok("mp_noop", connection=again)["text"], "a new connection got an empty answer")


@case("MP-CONN-003", "MP-CONN-002", targets=SERVERS, needs=("connect", "mp_noop", "close"), releases=FIRST)
def test_closed(client: Subject, judge: Judge, mp_server: MpTarget) -> None:
    """A connection that was closed carries nothing more, and another one is not concerned."""
    closed, other = client.connect(mp_server), client.connect(mp_server)
    client.ok("close", connection=closed)
    answer = client.call("mp_noop", connection=closed)
    judge.not_ok("mp_noop", answer, because="the connection was closed", kinds=("connection",))
    client.ok("mp_noop", connection=other)


@case("MP-CONN-001", "MP-CONN-002", "MP-FLOW-009", targets=MOCK, needs=("connect", "mp_noop"), releases=FIRST)
def test_silence(client: Subject, judge: Judge, mp_server: MpTarget) -> None:
    """A request that is not answered ends with the timeout, is not sent again, and the next one is answered."""
    connection = client.connect(mp_server, timeout_ms=STALL_MS)
    mp_server.misbehave("drop-reply:operation=NOOP,nth=1")
    timed_out(client, judge, connection)
    sent = len(mp_server.journal.exchanges(operation="NOOP"))
    judge.holds(sent == 1, f"an operation that was not answered was sent {sent} times", cite="MP-FLOW-009")
    in_order(client, judge, mp_server, connection)


@case("MP-CONN-001", targets=MOCK, needs=("connect", "mp_noop"), releases=FIRST)
def test_nobody(client: Subject, judge: Judge, mp_server: MpTarget) -> None:
    """Where no server is any more, an operation ends with the timeout or says that the connection is gone."""
    connection = client.connect(mp_server, timeout_ms=STALL_MS)
    client.ok("mp_noop", connection=connection)
    mp_server.stop()
    answer = client.call("mp_noop", connection=connection)
    judge.not_ok("mp_noop", answer, because="the server is gone", kinds=("timeout", "connection"))


@case("MP-CONN-005", "MP-CONN-002", targets=MOCK, needs=("connect", "mp_noop"), releases=FIRST)
def test_restarted(client: Subject, judge: Judge, mp_server: MpTarget) -> None:
    """When the server has come back, the connection works again or ends honestly, and a new one works."""
    connection = client.connect(mp_server, timeout_ms=2000)
    client.ok("mp_noop", connection=connection)
    mp_server.restart()
    answer = client.call("mp_noop", connection=connection)
    if not isinstance(answer, Ok):
        judge.not_ok("mp_noop", answer, because="the server was restarted", kinds=("connection", "timeout"))
    in_order(client, judge, mp_server, connection)


@case("MP-FLOW-010", "MP-FLOW-011", "MP-CONN-005", targets=SERVERS, needs=DATA, releases=TRANSFER, own_server=True)
def test_restarted_and_empty(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """After the server came back empty a worker registers again, finds nothing, stores again and loads what it stored then."""
    before, whole = worker(client, judge, mp_server, mp_keys), request(mp_keys, some_tokens(2))
    before.stored(whole, contents(2))
    before.loaded(whole.again(), contents(2))
    mp_server.restart()
    args = {"instance_id": before.instance, "context": mp_keys.context()}
    connection = client.connect(mp_server)
    client.ok("mp_register", connection=connection, **args)
    again = type(before)(client, judge, connection, before.instance)
    again.hits(whole.again(), 0, because="the server was restarted", cite="MP-FLOW-011")
    again.stored(whole.again(), contents(2, seed=9))
    again.loaded(whole.again(), contents(2, seed=9))


@case("MP-FLOW-010", "MP-CONN-005", targets=MOCK, needs=DATA, releases=TRANSFER)
def test_registered_again(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys) -> None:
    """A worker that registers again over its old connection works with the server that came back, if that connection works."""
    one, whole = worker(client, judge, mp_server, mp_keys, timeout_ms=2000), request(mp_keys, some_tokens(2))
    one.stored(whole, contents(2))
    mp_server.restart()
    answer = client.call("mp_register", connection=one.connection, instance_id=one.instance, context=mp_keys.context())
    if not isinstance(answer, Ok):
        judge.not_ok("mp_register", answer, because="the server was restarted", kinds=("connection", "timeout"))
        return
    one.stored(whole.again(), contents(2, seed=9))
    one.loaded(whole.again(), contents(2, seed=9))


@case(
    "MP-CONN-004",
    "MP-REPLY-001",
    targets=SERVERS,
    needs=("connect", "mp_noop", "mp_chunk_size", CONCURRENT),
    releases="0.3.10 and later",
)
def test_several_at_once(client: Subject, judge: Judge, mp_server: MpTarget) -> None:
    """Operations that are under way at once over one connection each get their own answer."""
    connection = client.connect(mp_server)
    text = client.ok("mp_noop", connection=connection)["text"]
    calls = [Call.of(op, connection=connection) for op in ["mp_noop", "mp_chunk_size"] * 10]
    for answer in client.ok_all(calls)[::2]:
        judge.same_value(text, answer["text"], what="the answer to NOOP", cite="MP-CONN-004")
    for answer in client.ok_all(calls)[1::2]:
        judge.same_value(CHUNK, answer["chunk_size"], what="the answer to GET_CHUNK_SIZE", cite="MP-CONN-004")


@case(
    "MP-CONN-004",
    "MP-FLOW-004",
    targets=SERVERS,
    needs=(*DATA, CONCURRENT),
    releases=TRANSFER,
    variants=parameters("one", "each"),
)
def test_lookups_at_once(client: Subject, judge: Judge, mp_server: MpTarget, mp_keys: MpKeys, vector: str) -> None:
    """Lookups that are under way at once, over one connection or one each, find as many chunks as each of them should."""
    one, tokens = worker(client, judge, mp_server, mp_keys), some_tokens(6)
    one.stored(request(mp_keys, tokens), contents(6))
    asked = [request(mp_keys, tokens[: chunks * CHUNK]) for chunks in (1, 6, 2, 5, 3, 4)]
    connections = [one.connection if vector == "one" else client.connect(mp_server) for _ in asked]
    calls = [
        Call.of("mp_lookup", connection=connection, key=wanted.key(), tp_size=1)
        for connection, wanted in zip(connections, asked, strict=True)
    ]
    found = [answer["hits"] for answer in client.ok_all(calls)]
    judge.same_value([1, 6, 2, 5, 3, 4], found, what="the chunks that lookups found", cite="MP-CONN-004")
    for wanted in asked:
        one.free(wanted)


def timed_out(client: Subject, judge: Judge, connection: str, op: str = "mp_noop", **args: object) -> Answer:
    """An operation that the server does not answer ends with a timeout."""
    answer = client.call(op, connection=connection, **args)
    judge.not_ok(op, answer, because="the server never replied", kinds=("timeout",), cite="MP-CONN-001")
    return answer


def in_order(client: Subject, judge: Judge, server: MpTarget, connection: str) -> None:
    """Without faults from here on: the next operation is answered rightly or the connection is gone, and a new one works."""
    server.misbehave()
    fresh = client.connect(server)
    right = client.ok("mp_noop", connection=fresh)["text"]
    answer = client.call("mp_noop", connection=connection)
    judge.holds(
        (isinstance(answer, Ok) and answer.values["text"] == right)
        or (isinstance(answer, Error) and answer.kind == "connection"),
        "the operation after a failure was answered wrongly",
        cite="MP-CONN-002",
        client_answered=in_words(answer),
        conformant_answer=f"text = {right!r}, or error connection",
    )
