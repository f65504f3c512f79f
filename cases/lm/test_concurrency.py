"""Many at once: requests under way on one connection and on several, values that change meanwhile, crowds of connections."""

import threading
from typing import Any

from cases.lm.steps import SHORT_MS, released
from harness.case import MOCK, SERVERS, case, parameters
from harness.client import CONCURRENT, Answer, Call, Miss
from harness.judge import Judge, in_words
from harness.leaks import client_leaves_nothing, room_for
from harness.peers import Peer, await_bytes
from harness.stamped import Stamp, TornError, read_stamp
from harness.subject import Subject
from harness.targets import Server, mock_server
from harness.values import Keys, binary
from wire.lm.profile import LmProfile
from wire.release import Release

SIZES = (512, 512, 512, 512, 24, 4000, 70_000, 300_000)
"""Bytes of the values of one connection: some alike, so that only the bytes tell them apart, others up to a long one."""
ROUNDS = 3
MEANWHILE = 0.05
"""Seconds that replies are held back, so that requests that were made at once are under way at once."""
CROWD = 256
CROWD_POOL = CROWD // 4
"""Sockets, and threads, that a client may keep when a crowd is gone."""
CHURN = 200
CHURN_POOL = CHURN // 10
"""The same after connections that were open one at a time."""
LOADING = ("connect", "put", "get", "exist", CONCURRENT)


@case("LM-CONN-004", targets=SERVERS, needs=LOADING)
def test_requests_on_one_connection(client: Subject, judge: Judge, server: Server, keys: Keys) -> None:
    """Of many requests under way on one connection, each gets the reply to its own: values, misses, yes and no."""
    connection = client.connect(server)
    names, unknown, fresh = keys.several(len(SIZES)), keys(hash=0xDEAD), [keys(hash=0xF000 + number) for number in range(4)]
    values = [Stamp(number, 0, 0).payload(size) for number, size in enumerate(SIZES)]
    client.ok_all([_put(connection, name, value) for name, value in zip(names, values, strict=True)])
    client.ok("exist", connection=connection, key=names[0])
    for turn in range(ROUNDS):
        new = [Stamp(100 + number, turn, 0).payload(2000) for number in range(4)]
        gets = [_get(connection, name, len(value)) for name, value in zip(names, values, strict=True)]
        calls = [
            *gets[:4],
            *[_put(connection, name, value) for name, value in zip(fresh, new, strict=True)],
            *[_exist(connection, name) for name in (names[1], unknown, names[2], unknown)],
            _get(connection, unknown, 512),
            *gets[4:],
        ]
        answers = client.call_all(calls)
        for expected, answer in zip(values, [*answers[:4], *answers[13:]], strict=True):
            _is_value(judge, answer, expected, "LM-CONN-004")
        for there, answer in zip((True, False, True, False), answers[8:12], strict=True):
            exists = judge.ok("exist", answer)["exists"]
            judge.holds(exists is there, f"exist was {exists}, the reply to another request: it is {there}", cite="LM-CONN-004")
        judge.holds(isinstance(answers[12], Miss), "get of an unknown key did not miss", client_answered=in_words(answers[12]))
        for answer in answers[4:8]:
            judge.ok("put", answer)
        client.ok("exist", connection=connection, key=fresh[0])
        for expected, answer in zip(new, client.call_all([_get(connection, name, 2000) for name in fresh]), strict=True):
            _is_value(judge, answer, expected, "LM-CONN-004")


@case("LM-CONN-004", "LM-CONN-005", targets=MOCK, needs=LOADING, variants=parameters("header-first", "in-pieces"))
def test_replies_in_segments(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: str) -> None:
    """Requests under way on two connections get their own replies, header and payload together, when those come in pieces."""
    header = profile.header.reply_size
    sizes = f"{header}+65536" if vector == "header-first" else "20+30+100"
    connections = [client.connect(server) for _ in range(2)]
    names = keys.several(8)
    values = [Stamp(number, 0, 0).payload(400) for number in range(8)]
    client.ok_all([_put(connections[0], name, value) for name, value in zip(names, values, strict=True)])
    client.ok("exist", connection=connections[0], key=names[0])
    server.misbehave(f"segments:sizes={sizes}")
    for _ in range(2):
        answers = client.call_all([_get(connections[number % 2], name, 400) for number, name in enumerate(names)])
        for expected, answer in zip(values, answers, strict=True):
            _is_value(judge, answer, expected, "LM-CONN-004")


@case("LM-CONN-005", "LM-ID-008", targets=MOCK, needs=LOADING, once_for="frames")
def test_one_key_with_two_expectations(client: Subject, judge: Judge, server: Server, keys: Keys) -> None:
    """Of several gets of one key under way, those that expect what is there get it, and the others nothing."""
    value, other = Stamp(1, 0, 0).payload(400), 300
    connections = [client.connect(server) for _ in range(4)]
    client.ok("put", connection=connections[0], key=keys(), **binary(value).stored)
    client.ok_all([_exist(connection, keys()) for connection in connections])
    server.misbehave(f"delay:seconds={MEANWHILE},command=GET")
    sizes = (len(value), other, len(value), other)
    answers = client.call_all([_get(*pair) for pair in zip(connections, [keys()] * 4, sizes, strict=True)])
    for size, answer in zip(sizes, answers, strict=True):
        if size == len(value):
            _is_value(judge, answer, value, "LM-CONN-005")
        else:
            because = f"the value has {len(value)} bytes, and {size} were expected"
            judge.not_ok("get", answer, because=because, kinds=("refused", "protocol"), miss=True, cite="LM-ID-008")


@case("LM-CONN-005", targets=MOCK, needs=LOADING, once_for="frames")
def test_one_key_on_two_servers(client: Subject, judge: Judge, server: Server, keys: Keys, release: Release) -> None:
    """Gets of one key under way on two servers get what each server has."""
    with mock_server(release) as second:
        servers = (server, second)
        connections = [client.connect(one) for one in servers]
        values = [Stamp(1, number, 0).payload(400) for number in range(2)]
        for connection, value in zip(connections, values, strict=True):
            client.ok("put", connection=connection, key=keys(), **binary(value).stored)
            client.ok("exist", connection=connection, key=keys())
        for one in servers:
            one.misbehave(f"delay:seconds={MEANWHILE},command=GET")
        answers = client.call_all([_get(connection, keys(), 400) for connection in connections])
        for expected, answer in zip(values, answers, strict=True):
            _is_value(judge, answer, expected, "LM-CONN-005")
        for connection in connections:
            client.ok("close", connection=connection)


@case("LM-CONN-005", "LM-PUT-003", targets=SERVERS, needs=LOADING)
def test_requests_on_many_connections(client: Subject, judge: Judge, server: Server, keys: Keys) -> None:
    """Values that are stored and loaded over several connections at the same time stay whole and apart."""
    connections, names = [client.connect(server) for _ in range(8)], keys.several(8)
    for turn in range(2):
        values = [Stamp(number, number, turn).payload(150_000) for number in range(8)]
        client.ok_all([_put(*triple) for triple in zip(connections, names, values, strict=True)])
        client.ok_all([_exist(*pair) for pair in zip(connections, names, strict=True)])
        answers = client.call_all([_get(connections[number - turn], name, 150_000) for number, name in enumerate(names)])
        for expected, answer in zip(values, answers, strict=True):
            _is_value(judge, answer, expected, "LM-CONN-005")


@case("LM-CONN-005", "LM-GET-002", targets=SERVERS, needs=LOADING)
def test_last_writer_wins(client: Subject, judge: Judge, server: Server, keys: Keys) -> None:
    """Of the values that several connections store under one key at once, one is there afterwards, whole, for all of them."""
    connections, key = [client.connect(server) for _ in range(6)], keys()
    for turn in range(2):
        written = [Stamp(1, writer, turn).payload(60_000) for writer in range(6)]
        client.ok_all([_put(connection, key, value) for connection, value in zip(connections, written, strict=True)])
        client.ok_all([_exist(connection, key) for connection in connections])
        found = {values["payload"] for values in client.ok_all([_get(connection, key, 60_000) for connection in connections])}
        judge.holds(
            len(found) == 1 and found <= set(written),
            f"after six puts of one key they see {' and '.join(sorted(map(_what, found)))}, not one value that was put",
        )


@case("LM-GET-002", "LM-CONN-005", targets=SERVERS, needs=("connect", "put", "get", "exist"))
def test_overwritten_meanwhile(client: Subject, judge: Judge, server: Server, keys: Keys, release: Release) -> None:
    """While somebody else overwrites a value, a get gives the old one whole, and afterwards the new one."""
    connection, key = client.connect(server), keys()
    old, new = Stamp(1, 1, 1).payload(20_000), Stamp(1, 2, 1).payload(20_000)
    client.ok("put", connection=connection, key=key, **binary(old).stored)
    client.ok("exist", connection=connection, key=key)
    with Peer(release, server) as peer:
        frame = peer.frame("PUT", key, new)
        half = peer.header_size + len(new) // 2
        peer.send(frame[:half])
        await_bytes(release, server, key, half)
        _is_value(judge, client.call("get", connection=connection, key=key, expect=binary(old).expect), old, "LM-GET-002")
        peer.send(frame[half:])
        peer.exist(key)
        _is_value(judge, client.call("get", connection=connection, key=key, expect=binary(new).expect), new, "LM-GET-002")


@case("LM-CONN-005", targets=MOCK, needs=LOADING)
def test_stalled_request_holds_up_no_other(client: Subject, judge: Judge, server: Server, keys: Keys) -> None:
    """A get that the server does not answer holds up no request on another connection."""
    stalled, others = client.connect(server, timeout_ms=SHORT_MS), [client.connect(server) for _ in range(4)]
    client.ok("exist", connection=stalled, key=keys())
    server.misbehave("stall:command=GET")

    def answered() -> bool:
        return sum(exchange.done for exchange in server.journal.exchanges(command="EXIST")) > len(others)

    def release_it() -> None:
        """End the server once all others are served; the stalled get then ends with it, and not with its own timeout."""
        try:
            server.journal.wait_for(lambda _: answered(), SHORT_MS / 1000 + 5)
        except TimeoutError:
            return
        server.stop()

    watcher = threading.Thread(target=release_it, daemon=True)
    watcher.start()
    answers = client.call_all([_get(stalled, keys(), 512), *[_exist(connection, keys()) for connection in others]])
    watcher.join()
    judge.not_ok(
        "get",
        answers[0],
        because="the connection ended while others were served; only a get that held them up runs into its timeout",
        kinds=("connection",),
        cite="LM-CONN-005",
    )
    for answer in answers[1:]:
        judge.holds(judge.ok("exist", answer)["exists"] is False, "exist of an unknown key was true")


@case(
    "LM-CONN-007",
    "LM-CONN-005",
    "LM-STATE-001",
    "LM-STATE-002",
    targets=SERVERS,
    needs=("connect", "put", "get", "exist", "close"),
    once_for="frames",
)
def test_crowd(client: Subject, judge: Judge, server: Server, keys: Keys) -> None:
    """A client has 256 connections open at once, each of them usable, and nothing is left when they are closed."""
    room_for(2 * CROWD + 64)
    names = keys.several(CROWD)
    with client_leaves_nothing(client, judge, connections=CROWD, pool=CROWD_POOL):
        before = client.ok("state")["connections"]
        connections = [client.connect(server) for _ in names]
        counted = [client.ok("state")["connections"] - before]
        for number, (connection, name) in enumerate(zip(connections, names, strict=True)):
            client.ok("put", connection=connection, key=name, **binary(Stamp(number, number, 0).payload(600)).stored)
        for connection, name in zip(connections, names, strict=True):
            exists = client.ok("exist", connection=connection, key=name)["exists"]
            judge.holds(exists, "exist of a value that was stored over the same connection was false", cite="LM-CONN-005")
        counted.append(client.ok("state")["connections"] - before)
        judge.holds(
            CROWD in counted,
            f"state counts {counted[0]} connections after {CROWD} were opened, and {counted[1]} after each was used",
            cite="LM-CONN-007",
        )
        for number, (connection, name) in enumerate(zip(reversed(connections), names, strict=True)):
            answer = client.call("get", connection=connection, key=name, expect=binary(bytes(600)).expect)
            _is_value(judge, answer, Stamp(number, number, 0).payload(600), "LM-CONN-005")
        for connection in connections:
            client.ok("close", connection=connection)
        released(judge, server, pool=CROWD_POOL, cite="LM-STATE-001")


@case("LM-STATE-001", "LM-STATE-002", "LM-CONN-006", targets=SERVERS, needs=("connect", "exist", "close"), once_for="frames")
def test_churn(client: Subject, judge: Judge, server: Server, keys: Keys) -> None:
    """Connections that are opened, used and closed again and again leave nothing behind, in the client or at the server."""
    with client_leaves_nothing(client, judge, connections=CHURN, pool=CHURN_POOL):
        for _ in range(CHURN):
            connection = client.connect(server)
            client.ok("exist", connection=connection, key=keys())
            client.ok("close", connection=connection)
        released(judge, server, pool=CHURN_POOL, cite="LM-STATE-001")


def _put(connection: str, key: Any, payload: bytes) -> Call:
    return Call.of("put", connection=connection, key=key, **binary(payload).stored)


def _get(connection: str, key: Any, size: int) -> Call:
    return Call.of("get", connection=connection, key=key, expect=binary(bytes(size)).expect)


def _exist(connection: str, key: Any) -> Call:
    return Call.of("exist", connection=connection, key=key)


def _is_value(judge: Judge, answer: Answer, expected: bytes, cite: str) -> None:
    """A get gave this stamped value."""
    got = judge.ok("get", answer, cite=cite)["payload"]
    if got != expected:
        judge.fail(f"get gave {_what(got)}; expected {_what(expected)}", cite=cite)


def _what(payload: bytes) -> str:
    try:
        return str(read_stamp(payload))
    except TornError as error:
        return str(error)
