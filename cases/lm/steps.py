"""Steps that several topics share."""

from typing import Any

from harness.client import Answer, Error, Ok
from harness.judge import Judge
from harness.subject import Subject
from harness.targets import Server
from harness.values import Keys, Value, sample
from wire.lm.profile import LmProfile

STALL_MS = 250
"""The timeout of a connection that a conformant client lets run out."""
SHORT_MS = 1500
"""The timeout of a connection on which a conformant client is never kept waiting, but others may be."""
ATTEMPTS = 3


def stored(client: Subject, server: Server, keys: Keys, profile: LmProfile, *, timeout_ms: int = 5000) -> tuple[str, Value]:
    """A connection over which one value was stored and seen by the server."""
    connection, value = client.connect(server, timeout_ms=timeout_ms), sample(profile)
    client.ok("put", connection=connection, key=keys(), **value.stored)
    client.ok("exist", connection=connection, key=keys())
    return connection, value


def stored_elsewhere(client: Subject, server: Server, keys: Keys, profile: LmProfile, *, timeout_ms: int) -> tuple[str, Value]:
    """A value that the server has, and another connection, whose timeout so need not leave time for the first requests."""
    _, value = stored(client, server, keys, profile)
    return client.connect(server, timeout_ms=timeout_ms), value


def reached(client: Subject, server: Server, keys: Keys, *, timeout_ms: int) -> tuple[str, Answer]:
    """A connection to a server that may take none, and the answer to connecting or, where a client connects late, to an exist."""
    name = client.new_connection()
    answer = client.call("connect", connection=name, protocol="lm", host=server.host, port=server.port, timeout_ms=timeout_ms)
    if isinstance(answer, Ok):
        answer = client.call("exist", connection=name, key=keys())
    return name, answer


def fails_to_connect(client: Subject, judge: Judge, server: Server, keys: Keys, *, because: str, timeout_ms: int) -> None:
    """Connecting ends with an error, at the latest with the first request."""
    _, answer = reached(client, server, keys, timeout_ms=timeout_ms)
    judge.not_ok("connect", answer, because=because, kinds=("connection", "timeout"))


def released(judge: Judge, server: Server, *, pool: int, cite: str) -> None:
    """The mock sees that hardly more connections are open than a pool may keep for later; a live server does not tell."""
    if server.mock is None:
        return
    try:
        server.journal.wait_for(lambda journal: len(journal.open_connections) <= pool)
    except TimeoutError:
        left = len(server.journal.open_connections)
        judge.fail(
            f"the client closed its connections, but the server still sees {left} open; at most {pool} may be kept for later",
            cite=cite,
        )


def in_step(client: Subject, judge: Judge, connection: str, keys: Keys) -> None:
    """Exist of a stored and of an unknown key are right, or the connection is gone."""
    for key, expected in ((keys(), True), (keys(hash=0xDEAD), False)):
        judge.in_step(asked(client, "exist", connection=connection, key=key), "exists", expected=expected)


def asked(client: Subject, op: str, **args: Any) -> Answer:
    """One operation over a connection with a short timeout, once more where that ran out: machines are slow at times."""
    answer = client.call(op, **args)
    for _ in range(ATTEMPTS - 1):
        if not isinstance(answer, Error) or answer.kind != "timeout":
            break
        answer = client.call(op, **args)
    return answer
