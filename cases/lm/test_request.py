"""Request headers: the bytes that a client writes, and what it reads in those of others."""

from collections.abc import Callable

from harness.captures import Vector, patterned, raw
from harness.case import MOCK, answered, case, parameters, refused
from harness.judge import Judge
from harness.subject import Subject
from harness.targets import Server
from harness.values import Keys, sample
from wire.lm.profile import KEY_FIELD_SIZE, LmProfile

SIZES = ("LM-REQ-001", "LM-REQ-002")
TABLES = ("LM-REQ-005", "LM-REQ-006", "LM-REQ-007", "LM-REQ-008")
SHAPES = ("LM-REQ-009", "LM-REQ-010")


def only_these(judge: Judge, server: Server, *commands: str) -> None:
    """The operations of this case, and connecting, sent these requests and no others."""
    seen = [exchange.command for exchange in server.journal.exchanges()]
    judge.holds(
        not set(seen) - set(commands) and len(seen) <= len(commands),
        f"the server saw {' and '.join(seen)}; the operations asked for {' and '.join(commands)} and nothing else",
        cite="LM-REQ-013",
    )


def sent(command: str) -> Callable[[Vector], bool]:
    """Vectors of a request that a client would send."""
    return lambda vector: vector.id.startswith("lm.request.sent.") and vector.args["command"] == command


@case(*SIZES, "LM-REQ-003", "LM-REQ-004", *TABLES, *SHAPES, needs=("encode_request",), variants=answered("encode_request"))
def test_encode(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client writes the same request header as lmcache, byte for byte."""
    got = client.ok("encode_request", **vector.args)["bytes"]
    expected = raw(vector.answer["bytes"])
    judge.same_bytes(expected, got, what="the request header", describe=judge.as_request, source=vector)


@case("LM-REQ-011", "LM-REQ-004", *SHAPES, needs=("encode_request",), variants=refused("encode_request"))
def test_encode_refused(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client refuses to write a request header that the release cannot express."""
    answer = client.call("encode_request", **vector.args)
    judge.not_ok("encode_request", answer, because=vector.refusal, kinds=("refused",), source=vector)


@case(*SIZES, "LM-REQ-003", *TABLES, *SHAPES, needs=("decode_request",), variants=answered("decode_request"))
def test_decode(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client reads in a request header what lmcache reads in it."""
    got = client.ok("decode_request", bytes=raw(vector.args["bytes"]))
    judge.same_members(vector.answer, got, what="the decoded request", source=vector)


@case("LM-REQ-012", needs=("decode_request",), variants=refused("decode_request"))
def test_decode_refused(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client does not read a request header that lmcache refuses."""
    answer = client.call("decode_request", bytes=raw(vector.args["bytes"]))
    judge.not_ok("decode_request", answer, because=vector.refusal, kinds=("protocol",), source=vector)


@case(
    "LM-PUT-001",
    "LM-REQ-013",
    *SIZES,
    targets=MOCK,
    needs=("connect", "put", "exist"),
    variants=answered("encode_request", sent("PUT")),
)
def test_put_on_the_wire(client: Subject, judge: Judge, server: Server, vector: Vector) -> None:
    """What a client sends for a put is the header that lmcache writes, then the payload and nothing else."""
    described = {name: vector.args[name] for name in ("key", "format", "dtype", "shape", "location")}
    payload = patterned(5, vector.args["length"])
    connection = client.connect(server)
    client.ok("put", connection=connection, payload=payload, **described)
    client.ok("exist", connection=connection, key=vector.args["key"])
    exchange = judge.exchange(server, "PUT")
    judge.same_bytes(
        raw(vector.answer["bytes"]),
        exchange.header,
        what="the PUT header on the wire",
        describe=judge.as_request,
        source=vector,
    )
    judge.same_bytes(payload, exchange.payload or b"", what="the payload on the wire", source="the payload of this case")
    count = len(server.journal.exchanges(command="PUT"))
    judge.holds(count == 1, f"one put became {count} PUT requests", cite="LM-PUT-001")
    only_these(judge, server, "PUT", "EXIST")


@case(
    "LM-GET-001", "LM-REQ-013", *SIZES, targets=MOCK, needs=("connect", "get"), variants=answered("encode_request", sent("GET"))
)
def test_get_on_the_wire(client: Subject, judge: Judge, server: Server, vector: Vector) -> None:
    """What a client sends for a get is the header that lmcache writes."""
    connection = client.connect(server)
    expect = {"format": "KV_2LTD", "dtype": "float16", "shape": [2, 2, 4, 8]}
    judge.miss(client.call("get", connection=connection, key=vector.args["key"], expect=expect), because="the store is empty")
    only_these(judge, server, "GET")
    got = judge.exchange(server, "GET").header
    judge.same_bytes(raw(vector.answer["bytes"]), got, what="the GET header", describe=judge.as_request, source=vector)


@case(
    "LM-GET-001",
    "LM-REQ-013",
    *SIZES,
    targets=MOCK,
    needs=("connect", "exist"),
    variants=answered("encode_request", sent("EXIST")),
)
def test_exist_on_the_wire(client: Subject, judge: Judge, server: Server, vector: Vector) -> None:
    """What a client sends for an exist is the header that lmcache writes."""
    connection = client.connect(server)
    client.ok("exist", connection=connection, key=vector.args["key"])
    only_these(judge, server, "EXIST")
    got = judge.exchange(server, "EXIST").header
    judge.same_bytes(raw(vector.answer["bytes"]), got, what="the EXIST header", describe=judge.as_request, source=vector)


@case(
    "LM-HEALTH-001",
    "LM-GET-001",
    "LM-REQ-013",
    targets=MOCK,
    needs=("connect", "health"),
    variants=answered("encode_request", sent("HEALTH")),
)
def test_health_on_the_wire(client: Subject, judge: Judge, server: Server, vector: Vector) -> None:
    """What a client sends for a health is the header that lmcache writes, with a key of the client's choice."""
    connection = client.connect(server)
    client.ok("health", connection=connection)
    only_these(judge, server, "HEALTH")
    got = judge.exchange(server, "HEALTH").header
    expected = raw(vector.answer["bytes"])
    key = len(expected) - KEY_FIELD_SIZE
    judge.same_bytes(
        expected[:key] + got[key:], got, what="the HEALTH header", describe=judge.as_request, source=vector, cite="LM-GET-001"
    )


@case("LM-REQ-004", targets=MOCK, needs=("connect", "exist"), variants=parameters("put", "get", "exist"))
def test_long_key_is_not_sent(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: str) -> None:
    """A key that does not fit into its field is refused by every operation, and nothing of it is sent."""
    if vector != "exist":
        client.needs(vector)
    connection, value = client.connect(server), sample(profile)
    args = {"put": value.stored, "get": {"expect": value.expect}, "exist": {}}[vector]
    for model in ("m" * 140, "é" * 70):
        answer = client.call(vector, connection=connection, key=keys(model=model), **args)
        judge.not_ok(vector, answer, because="the key has more than 150 bytes", kinds=("refused",))
    sent = [exchange for exchange in server.journal.exchanges() if exchange.command in {"PUT", "GET", "EXIST"}]
    judge.holds(not sent, f"a request went out although its key does not fit: {[exchange.key for exchange in sent]}")
