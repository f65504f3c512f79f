"""Servers that break the protocol: what a client can notice is no answer, and what it can know to be lost is no success.

Bytes that a client is to notice before its next request arrive in one segment with the reply, or before the request is made.
"""

from collections.abc import Sequence
from typing import Any

from cases.lm.steps import SHORT_MS, STALL_MS, asked, fails_to_connect, in_step, stored, stored_elsewhere
from harness.case import MOCK, Variant, Variants, case, parameters
from harness.client import Error, Miss, Ok
from harness.judge import Judge, in_words
from harness.subject import Subject
from harness.targets import Server
from harness.values import Keys, Value, sample
from wire.lm.profile import LmProfile, lm_profile
from wire.release import KNOWN_RELEASES, Release, ReleaseRange

LOADING = ("connect", "put", "get", "exist")
BETWEEN = 0.5
"""Seconds in which the mock has noticed that a client closed its socket."""
TOGETHER = "segments:sizes=65536"
"""All that is sent in one exchange arrives at once, so that what belongs to no reply is there before the next request."""


def seldom(*values: Any) -> Variants:
    """Variants of a case that lets a timeout run out, which does not depend on the release: for the oldest and for new ones."""
    found, recent = [Variant(str(value), value) for value in values], ReleaseRange.parse("0.5.0 and later")
    return lambda release: found if release.text == KNOWN_RELEASES[0] or release in recent else []


@case("LM-CONN-001", "LM-CONN-002", targets=MOCK, needs=LOADING, variants=seldom("EXIST", "GET", "HEALTH"))
def test_dropped_reply(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: str) -> None:
    """A request whose reply never comes ends with the timeout, and nothing more is asked on that connection."""
    if vector == "HEALTH":
        client.needs("health")
    connection, value = stored_elsewhere(client, server, keys, profile, timeout_ms=STALL_MS)
    server.misbehave(f"drop-reply:command={vector},nth=1")
    unanswered(client, judge, connection, keys, value, vector)
    dropped = judge.struck(server)
    in_step(client, judge, connection, keys)
    nothing_more(
        judge, server, dropped.connection, dropped.number, "a request travelled on the connection whose reply never came"
    )


@case("LM-CONN-001", "LM-CONN-002", targets=MOCK, needs=LOADING, variants=parameters("EXIST", "GET"), once_for="frames")
def test_silent_after_a_reconnect(
    client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: str
) -> None:
    """A request over a connection that was opened in place of a broken one ends with the timeout as well."""
    connection, value = stored_elsewhere(client, server, keys, profile, timeout_ms=STALL_MS)
    server.misbehave("close-between:command=EXIST,nth=1")
    asked(client, "exist", connection=connection, key=keys())
    ended = judge.struck(server).connection
    server.journal.wait_for(lambda journal: journal.is_gone(ended))
    server.misbehave(f"stall:command={vector}")
    unanswered(client, judge, connection, keys, value, vector)
    server.misbehave()
    in_step(client, judge, connection, keys)


@case("LM-CONN-002", "LM-CONN-003", targets=MOCK, needs=LOADING, variants=seldom("GET"))
def test_swapped_replies(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: str) -> None:
    """A value that comes behind the reply to a later request is given to nobody who did not ask for it."""
    connection, value = stored_elsewhere(client, server, keys, profile, timeout_ms=STALL_MS)
    server.misbehave(f"reorder-replies:command={vector},nth=1")
    answer = client.call("get", connection=connection, key=keys(), expect=value.expect)
    judge.not_ok("get", answer, because="its reply is held back", kinds=("timeout", "connection"), miss=True)
    in_step(client, judge, connection, keys)
    answer = client.call("get", connection=connection, key=keys(hash=0xBAD), expect=value.expect)
    judge.holds(not isinstance(answer, Ok), "get gave the value of another key", client_answered=in_words(answer))


@case("LM-CONN-008", "LM-CONN-003", targets=MOCK, needs=LOADING, variants=parameters("EXIST", "GET"))
def test_duplicated_reply(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: str) -> None:
    """The second copy of a reply is not the answer to the next request."""
    connection, value = stored(client, server, keys, profile, timeout_ms=SHORT_MS)
    others = keys(hash=0xBAD)
    server.misbehave(f"duplicate-reply:command={vector},nth=1", TOGETHER)
    if vector == "EXIST":
        exists_or_error(client, judge, server, connection, keys)
        out_of_order(client, judge, server, connection, keys)
        return
    got = client.call("get", connection=connection, key=keys(), expect=value.expect)
    right_bytes_or_error(judge, got, value.payload)
    answer = client.call("get", connection=connection, key=others, expect=value.expect)
    judge.holds(
        not isinstance(answer, Ok),
        "get gave the value of the key that was asked for before",
        cite="LM-CONN-008",
        client_answered=in_words(answer),
        conformant_answer="miss, or error connection",
    )
    in_step(client, judge, connection, keys)


@case("LM-CONN-008", "LM-PUT-002", targets=MOCK, needs=LOADING, variants=parameters("SUCCESS", "FAIL"))
def test_reply_to_a_put(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: str) -> None:
    """A confirmation that a server sends for a PUT is not the answer to the next request."""
    connection, value = client.connect(server, timeout_ms=SHORT_MS), sample(profile)
    server.misbehave(f"unasked-reply:code={vector}")
    client.ok("put", connection=connection, key=keys(), **value.stored)
    judge.struck(server)
    out_of_order(client, judge, server, connection, keys, first=vector == "FAIL")


@case("LM-GET-003", "LM-CONN-008", targets=MOCK, needs=LOADING, variants=parameters(1, 36, 100))
def test_bytes_after_a_miss(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: int) -> None:
    """What a server sends behind a miss is neither its payload nor the next reply."""
    connection, value = stored(client, server, keys, profile, timeout_ms=SHORT_MS)
    server.misbehave(f"bytes-after-miss:bytes={vector},command=GET", TOGETHER)
    answer = client.call("get", connection=connection, key=keys(hash=0xBAD), expect=value.expect)
    judge.not_ok("get", answer, because="the code says miss", kinds=("protocol",), miss=True, **judge.where(server, "GET"))
    out_of_order(client, judge, server, connection, keys)


@case("LM-REPLY-005", "LM-CONN-003", targets=MOCK, needs=LOADING, variants=parameters(1, 4, 32, 36))
def test_garbage_before_reply(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: int) -> None:
    """A stream that is shifted yields no true and no value, and is left."""
    connection, value = stored(client, server, keys, profile, timeout_ms=SHORT_MS)
    server.misbehave(f"garbage-before:bytes={vector}", TOGETHER)
    answer = client.call("exist", connection=connection, key=keys())
    judge.not_yes("exist", answer, "exists", because="the reply does not begin with code 200", **judge.where(server, "EXIST"))
    again = client.connect(server, timeout_ms=SHORT_MS)
    got = client.call("get", connection=again, key=keys(), expect=value.expect)
    judge.not_ok("get", got, because="the reply does not begin with code 200", kinds=("protocol",), miss=True)
    server.misbehave()
    for used in (connection, again):
        in_step(client, judge, used, keys)


@case("LM-REPLY-004", "LM-CONN-008", targets=MOCK, needs=LOADING, variants=parameters(1, 36, 1000))
def test_extended_body(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: int) -> None:
    """A payload is as long as its header says; what a server sends behind it belongs to nothing."""
    connection, value = stored(client, server, keys, profile, timeout_ms=SHORT_MS)
    server.misbehave(f"extend-body:bytes={vector}", TOGETHER)
    right_bytes_or_error(judge, client.call("get", connection=connection, key=keys(), expect=value.expect), value.payload)
    out_of_order(client, judge, server, connection, keys)


def flips(release: Release) -> Sequence[Variant]:
    """The lowest bit of each field that says what the payload is, and the highest of its length, which makes it negative."""
    fields = [name for name in lm_profile(release).header.reply if name not in {"code", "location"}]
    places = {name: f"at=field:{name},bit=0" for name in fields} | {"sign-of-length": "at=field:length+3,bit=7"}
    return [Variant(name, (name.rpartition("-")[2], place)) for name, place in places.items()]


@case("LM-ID-006", "LM-ID-007", "LM-ID-008", "LM-ID-009", "LM-CONN-003", targets=MOCK, needs=LOADING, variants=flips)
def test_flipped_bit(
    client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: tuple[str, str]
) -> None:
    """One flipped bit in the description of a reply, and it is no value."""
    connection, value = stored(client, server, keys, profile, timeout_ms=SHORT_MS)
    field, place = vector
    server.misbehave(f"flip-bit:{place},command=GET")
    answer = client.call("get", connection=connection, key=keys(), expect=value.expect)
    judge.not_ok(
        "get",
        answer,
        because=f"the {field} of the reply is not what was expected",
        kinds=("refused", "protocol"),
        miss=True,
        cite={"format": "LM-ID-006", "dtype": "LM-ID-007", "length": "LM-ID-009"}.get(field, "LM-ID-008"),
        **judge.where(server, "GET"),
    )
    server.misbehave()
    in_step(client, judge, connection, keys)


@case(
    "LM-CONN-002",
    "LM-PUT-001",
    targets=MOCK,
    needs=("connect", "put", "exist"),
    variants=parameters("close-between:reset=false", "close-between:reset=true", "half-close:bytes=end"),
)
def test_ended_between_requests(
    client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: str
) -> None:
    """A put over a connection that the server has ended meanwhile arrives over a new one, or fails: it is not lost in silence."""
    connection, value = stored(client, server, keys, profile, timeout_ms=SHORT_MS)
    server.misbehave(f"{vector},command=EXIST,nth=1")
    exists_or_error(client, judge, server, connection, keys)
    ended = judge.struck(server).connection
    if not vector.startswith("half-close"):
        server.journal.wait_for(lambda journal: journal.is_gone(ended))
    key = keys(hash=0xBAD)
    answer = client.call("put", connection=connection, key=key, **value.stored)
    if isinstance(answer, Ok):
        arrives(judge, server, ended, value.payload)
    else:
        judge.not_ok("put", answer, because="the server has ended the connection", kinds=("connection",))
    in_step(client, judge, connection, keys)


@case("LM-GET-005", "LM-CONN-002", targets=MOCK, needs=LOADING)
def test_restarted_and_empty(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile) -> None:
    """After the server came back with an empty store nothing is found, until it is stored again."""
    connection, value = stored(client, server, keys, profile, timeout_ms=SHORT_MS)
    client.ok("get", connection=connection, key=keys(), expect=value.expect)
    server.misbehave("restart:moves=false,command=EXIST,nth=1")
    exists_or_error(client, judge, server, connection, keys)
    ended = judge.struck(server).connection
    server.journal.wait_for(lambda journal: journal.is_gone(ended))
    for _ in range(2):
        answer = client.call("get", connection=connection, key=keys(), expect=value.expect)
        judge.not_ok("get", answer, because="the store is empty", kinds=("connection",), miss=True)
    answer = client.call("exist", connection=connection, key=keys())
    judge.not_yes("exist", answer, "exists", because="the store is empty")
    again, new = client.connect(server), sample(profile, seed=2)
    client.ok("put", connection=again, key=keys(), **new.stored)
    got = client.ok("get", connection=again, key=keys(), expect=new.expect)["payload"]
    judge.same_bytes(new.payload, got, what="the payload", source="what this case stored after the restart", cite="LM-GET-005")


@case("LM-CONN-001", "LM-CONN-005", targets=MOCK, needs=LOADING)
def test_refused_meanwhile(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile) -> None:
    """While the port refuses, a new connection fails and one that is held open goes on; when it listens again all is well."""
    connection, _ = stored(client, server, keys, profile, timeout_ms=SHORT_MS)
    server.misbehave("refuse")
    fails_to_connect(client, judge, server, keys, because="the server takes no connection", timeout_ms=SHORT_MS)
    meanwhile = client.call("exist", connection=connection, key=keys())
    server.misbehave()
    again = client.connect(server)
    judge.holds(client.ok("exist", connection=again, key=keys())["exists"], "a new connection lost a key")
    if isinstance(meanwhile, Error) and meanwhile.kind == "connection" and not holds_open(server):
        return
    judge.holds(judge.ok("exist", meanwhile, cite="LM-CONN-005")["exists"], "the open connection lost a key", cite="LM-CONN-005")


@case("LM-CONN-001", targets=MOCK, needs=("connect", "exist"), variants=seldom(STALL_MS))
def test_full_backlog(client: Subject, judge: Judge, server: Server, keys: Keys, vector: int) -> None:
    """Connecting to a server whose queue is full costs a bounded wait: no answer at all comes to the SYN."""
    server.misbehave("backlog-full")
    fails_to_connect(client, judge, server, keys, because="the server takes no connection", timeout_ms=vector)


@case("LM-CONN-001", targets=MOCK, needs=("connect", "exist"), variants=seldom(0.2))
def test_slow_accept(client: Subject, judge: Judge, server: Server, keys: Keys, vector: float) -> None:
    """A server that is slow to accept, within the client's limit, is waited for."""
    server.misbehave(f"slow-accept:seconds={vector}")
    found = client.ok("exist", connection=client.connect(server), key=keys())["exists"]
    judge.holds(found is False, f"exist gave {found!r} for a key that nobody stored")


def holds_open(server: Server) -> bool:
    """Whether the client keeps any connection open between requests; it may also make a socket for each."""
    try:
        server.journal.wait_for(lambda journal: not journal.open_connections, BETWEEN)
    except TimeoutError:
        return True
    return False


def unanswered(client: Subject, judge: Judge, connection: str, keys: Keys, value: Value, command: str) -> None:
    """A request to which no reply comes in time: no value, no yes."""
    op, because = command.lower(), "the server never replied"
    if command == "HEALTH":
        judge.not_yes(op, client.call(op, connection=connection), "healthy", because=because)
        return
    expect = {"expect": value.expect} if command == "GET" else {}
    answer = client.call(op, connection=connection, key=keys(), **expect)
    judge.not_ok(op, answer, because=because, kinds=("timeout", "connection"), miss=command == "GET")


def exists_or_error(client: Subject, judge: Judge, server: Server, connection: str, keys: Keys) -> None:
    """An exist of the stored key whose reply is right as far as it goes."""
    answer = client.call("exist", connection=connection, key=keys())
    right = isinstance(answer, Ok) and answer.values.get("exists") is True
    honest = isinstance(answer, Error) and answer.kind in {"protocol", "connection"}
    judge.holds(
        right or honest, "exist was wrong for a stored key", client_answered=in_words(answer), **judge.where(server, "EXIST")
    )


def right_bytes_or_error(judge: Judge, answer: object, payload: bytes) -> None:
    """A get whose reply holds the value, and more."""
    if isinstance(answer, Ok):
        judge.same_bytes(payload, answer.values["payload"], what="the payload", source="what this case stored")
    else:
        honest = isinstance(answer, Miss) or (isinstance(answer, Error) and answer.kind in {"protocol", "connection"})
        judge.holds(honest, "get failed in the wrong way")


def out_of_order(client: Subject, judge: Judge, server: Server, connection: str, keys: Keys, *, first: bool = False) -> None:
    """The next requests are answered rightly, or the connection is gone; bytes that nobody asked for are in the stream before."""
    server_wrote = "bytes that answer no request were in the stream before the next one"
    for expected in (first, not first, first):
        answer = client.call("exist", connection=connection, key=keys() if expected else keys(hash=0xDEAD))
        right = isinstance(answer, Ok) and answer.values.get("exists") is expected
        gone = isinstance(answer, Error) and answer.kind == "connection"
        judge.holds(
            right or gone,
            f"exist took what it had not asked for as its answer: {server_wrote}",
            cite="LM-CONN-008",
            client_answered=in_words(answer),
            conformant_answer=f"exists = {str(expected).lower()}, or error connection",
        )


def nothing_more(judge: Judge, server: Server, connection: int, number: int, summary: str) -> None:
    """The exchange of this number is the last one on its connection."""
    last = server.journal.exchanges(connection=connection)[-1].number
    more = f"connection {connection} carried {last} requests, the unanswered one is its {number}."
    judge.holds(last == number, summary, cite="LM-CONN-002", exchange=more)


def arrives(judge: Judge, server: Server, ended: int, payload: bytes) -> None:
    """A put that the client called done is received whole, on another connection than the one that was ended."""
    try:
        puts = server.journal.wait_for(
            lambda journal: [put for put in journal.exchanges(command="PUT")[1:] if put.done and put.connection != ended], 1.5
        )
    except TimeoutError:
        judge.fail(
            "put said that it was done, but it had used a connection that the server had ended, where values get lost",
            cite="LM-CONN-002",
            conformant_answer="ok over a new connection, or error connection",
        )
    judge.same_bytes(
        payload, puts[-1].payload or b"", what="the payload that came", source="what this case stored", cite="LM-PUT-001"
    )
