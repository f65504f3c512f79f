"""Connections: refused, lost, closed, and several at once."""

import itertools
import socket
import struct
import threading

from cases.lm.steps import SHORT_MS, STALL_MS, fails_to_connect, reached, released
from harness import meeting
from harness.case import MOCK, SERVERS, case
from harness.client import Ok
from harness.judge import Judge
from harness.reference.values import key_from_json
from harness.subject import Subject
from harness.targets import Server
from harness.values import Keys, binary, sample
from wire.keys import format_key
from wire.lm.profile import LmProfile
from wire.release import Release

READS_WITHIN = 2.0
"""Seconds in which a server of this module has read what was sent to it."""

AT_ONCE = 6
"""Connections that are open together; a pool that gives sockets out again never keeps more."""
ROUNDS = 3


@case("LM-CONN-001", targets=MOCK, needs=("connect", "exist"))
def test_nobody_listens(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile) -> None:
    """Connecting to a port where nobody listens ends with an error, at the latest with the first request."""
    server.stop()
    fails_to_connect(client, judge, server, keys, because="nobody listens on this port", timeout_ms=SHORT_MS)


@case("LM-CONN-001", targets=MOCK, needs=("connect", "exist"))
def test_nobody_accepts(client: Subject, judge: Judge, keys: Keys, profile: LmProfile) -> None:
    """A server that accepts nothing and answers nothing costs a bounded wait."""
    with socket.create_server((meeting.host(), 0), backlog=1) as silent:
        name, answer = reached(client, Server(*silent.getsockname()), keys, timeout_ms=STALL_MS)
        judge.not_ok("exist", answer, because="the server never answers", kinds=("timeout", "connection"))
        client.call("close", connection=name)


@case("LM-CONN-001", "LM-CONN-002", targets=MOCK, needs=("connect", "put", "exist"))
def test_nobody_reads(client: Subject, judge: Judge, keys: Keys, release: Release) -> None:
    """A put to a server that takes no more bytes ends after the timeout, and nothing follows it on its connection."""
    value, other = binary(bytes(64 << 20)), keys(hash=0xBAD)
    with socket.create_server((meeting.host(), 0), backlog=1) as deaf:
        host, port = deaf.getsockname()
        name = client.new_connection()
        answer = client.call("connect", connection=name, protocol="lm", host=host, port=port, timeout_ms=STALL_MS)
        connected = isinstance(answer, Ok)
        if connected:
            answer = client.call("put", connection=name, key=keys(), **value.stored)
        judge.not_ok("put", answer, because="the server never reads", kinds=("timeout", "connection"))
        if not connected:
            return
        came = bytearray()
        reader = threading.Thread(target=read_the_first, args=(deaf, came), daemon=True)
        reader.start()
        answer = client.call("exist", connection=name, key=other)
        judge.not_ok("exist", answer, because="the server answers nothing", kinds=("timeout", "connection"))
        client.call("close", connection=name)
        deaf.shutdown(socket.SHUT_RDWR)
        reader.join(READS_WITHIN)
    asked = format_key(release, key_from_json(other)).encode() in came
    judge.holds(not asked, "a request travelled behind a put that had timed out in the middle of its payload", cite="LM-CONN-002")


def read_the_first(server: socket.socket, came: bytearray) -> None:
    """Read all of the first connection and close the others at once, until the server is shut down."""
    for number in itertools.count():
        try:
            connection, _ = server.accept()
            with connection:
                connection.settimeout(READS_WITHIN)
                while number == 0 and (data := connection.recv(1 << 20)):
                    came += data
        except OSError:
            return


@case("LM-CONN-002", targets=MOCK, needs=("connect", "put", "get", "exist"))
def test_server_dies(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile) -> None:
    """When the server is gone every operation ends with an error, and none pretends to have found anything."""
    connection, value = client.connect(server, timeout_ms=SHORT_MS), sample(profile)
    client.ok("put", connection=connection, key=keys(), **value.stored)
    client.ok("exist", connection=connection, key=keys())
    server.stop()
    for _ in range(2):
        answer = client.call("get", connection=connection, key=keys(), expect=value.expect)
        judge.not_ok("get", answer, because="the server is gone", kinds=("connection", "timeout"), miss=True)
        answer = client.call("exist", connection=connection, key=keys())
        judge.not_ok("exist", answer, because="the server is gone", kinds=("connection", "timeout"))


@case("LM-CONN-002", targets=MOCK, needs=("connect", "put", "exist"))
def test_puts_to_a_dead_server(client: Subject, judge: Judge, server: Server, keys: Keys) -> None:
    """Puts to a server that is gone fail, at the latest once the operating system knows that it is gone."""
    connection = client.connect(server, timeout_ms=SHORT_MS)
    client.ok("exist", connection=connection, key=keys())
    server.stop()
    value = binary(bytes(1 << 20))
    answers = [client.call("put", connection=connection, key=keys(), **value.stored) for _ in range(4)]
    judge.not_ok("put", answers[-1], because="the server has been gone for three puts", kinds=("connection", "timeout"))


@case("LM-CONN-002", "LM-PUT-001", targets=MOCK, needs=("connect", "put"))
def test_interrupted_put_is_not_sent_again(client: Subject, judge: Judge, keys: Keys) -> None:
    """A put that the server cuts off ends with an error, and is not sent again over another connection."""
    value = binary(bytes(16 << 20))
    began: list[bytes] = []
    with socket.create_server((meeting.host(), 0)) as server:
        threading.Thread(target=cut_off, args=(server, began), daemon=True).start()
        host, port = server.getsockname()
        name = client.new_connection()
        client.ok("connect", connection=name, protocol="lm", host=host, port=port, timeout_ms=SHORT_MS)
        answer = client.call("put", connection=name, key=keys(), **value.stored)
        server.shutdown(socket.SHUT_RDWR)
    judge.not_ok("put", answer, because="the server reset the connection inside the payload", kinds=("connection", "timeout"))
    judge.holds(len(began) == 1, f"one put began {len(began)} times", cite="LM-CONN-002")


def cut_off(server: socket.socket, began: list[bytes]) -> None:
    """Reset every connection once its first bytes have come, and note those, until the server is shut down."""
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            data = connection.recv(1)
            if data:
                began.append(data)


@case("LM-CONN-002", "LM-CONN-005", targets=MOCK, needs=("connect", "put", "get", "exist"))
def test_broken_connection_is_not_reused(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile) -> None:
    """After a reply broke off, requests fail or travel on a new connection; another connection goes on as before."""
    broken, other, value = client.connect(server, timeout_ms=SHORT_MS), client.connect(server), sample(profile)
    client.ok("put", connection=broken, key=keys(), **value.stored)
    client.ok("exist", connection=broken, key=keys())
    number = judge.exchange(server, "EXIST").connection
    server.misbehave("close-after:bytes=5,command=GET,nth=1")
    answer = client.call("get", connection=broken, key=keys(), expect=value.expect)
    judge.not_ok("get", answer, because="the reply broke off", kinds=("connection", "protocol"), miss=True)
    before = len(server.journal.exchanges(connection=number))
    answer = client.call("exist", connection=broken, key=keys())
    judge.in_step(answer, "exists", expected=True)
    after = len(server.journal.exchanges(connection=number))
    judge.holds(before == after, "a request travelled on the connection that had broken")
    got = client.ok("get", connection=other, key=keys(), expect=value.expect)["payload"]
    judge.same_bytes(value.payload, got, what="the payload over the other connection", source="what this case stored")


@case("LM-CONN-006", targets=SERVERS, needs=("connect", "close", "exist"))
def test_close(client: Subject, judge: Judge, server: Server, keys: Keys) -> None:
    """A closed connection carries nothing more; closing it again is no error, and it can be opened anew."""
    name = client.connect(server)
    client.ok("exist", connection=name, key=keys())
    client.ok("close", connection=name)
    client.ok("close", connection=name)
    answer = client.call("exist", connection=name, key=keys())
    judge.not_ok("exist", answer, because="the connection was closed", kinds=("connection", "refused"))
    again = client.connect(server)
    judge.holds(client.ok("exist", connection=again, key=keys())["exists"] is False, "exist on a new connection was wrong")


@case("LM-CONN-006", targets=MOCK, needs=("connect", "close", "exist"))
def test_closed_connections_are_released(client: Subject, judge: Judge, server: Server, keys: Keys) -> None:
    """Connections that were closed are no longer counted, and the server sees them end, but for as many as serve again."""
    before = client.ok("state")["connections"]
    for _ in range(ROUNDS):
        names = [client.connect(server) for _ in range(AT_ONCE)]
        for name in names:
            client.ok("exist", connection=name, key=keys())
        for name in names:
            client.ok("close", connection=name)
    after = client.ok("state")["connections"]
    judge.holds(after == before, f"state counts {after} connections after all were closed, {before} before", cite="LM-CONN-006")
    released(judge, server, pool=AT_ONCE, cite="LM-CONN-006")


@case("LM-CONN-005", targets=SERVERS, needs=("connect", "put", "get"))
def test_interleaved_connections(client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile) -> None:
    """Values stored and loaded over several connections in turn stay apart."""
    connections = [client.connect(server) for _ in range(4)]
    values = [sample(profile, seed=number) for number in range(4)]
    stored = keys.several(4)
    for connection, key, value in zip(connections, stored, values, strict=True):
        client.ok("put", connection=connection, key=key, **value.stored)
    for connection, key in zip(connections, stored, strict=True):
        client.ok("exist", connection=connection, key=key)
    for shift in range(4):
        for index, connection in enumerate(connections):
            chosen = (index + shift) % 4
            got = client.ok("get", connection=connection, key=stored[chosen], expect=values[chosen].expect)["payload"]
            judge.same_bytes(values[chosen].payload, got, what="the payload", source="what this case stored")
