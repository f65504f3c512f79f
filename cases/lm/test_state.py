"""What a client still holds after its connections are gone, as it tells itself, and how it ends."""

from collections.abc import Callable

from cases.lm.steps import SHORT_MS, reached
from harness.case import MOCK, case, parameters
from harness.judge import Judge
from harness.leaks import settled
from harness.subject import Subject
from harness.targets import Server
from harness.values import Keys, binary, sample
from wire.lm.profile import LmProfile

COUNT = 12
"""Connections at once; a pool that a client may keep is smaller."""
ROUNDS = 2
POOL = COUNT // 2
"""Descriptors or threads by which a pool may be fuller at one time than at another."""
SPOILED_COUNT = COUNT
BRIEF_MS = 60
"""The timeout of several connections that run it out one after another."""
SPOILED = {
    "late": "drop-reply:command=GET",
    "cut": "close-after:bytes=5,command=GET",
    "wrong": "flip-bit:at=field:format,bit=0,command=GET",
}
"""Faults of a reply by how it is spoiled."""
HONEST = ("timeout", "connection", "protocol", "refused")
SETTLE = 3.0
"""Seconds in which a client gives back what it no longer needs."""
MEBIBYTE = 1 << 20
LOADS = 16
GROWTH = 8 * MEBIBYTE
"""What a process may grow by after so many loads; one that keeps each value grows by twice as much."""


def used(client: Subject, server: Server, keys: Keys, count: int) -> None:
    """Open connections, use each, close each."""
    names = [client.connect(server) for _ in range(count)]
    for name in names:
        client.ok("exist", connection=name, key=keys())
    for name in names:
        client.ok("close", connection=name)


def still_above(client: Subject, member: str, most: int) -> int | None:
    """A member of ``state`` that does not become small enough in a while."""
    return settled(lambda: now if (now := client.state(member)) > most else None, SETTLE)


def closed_leave_nothing(client: Subject, judge: Judge, server: Server, keys: Keys, members: tuple[str, ...], cite: str) -> None:
    """A client tells of no more in ``state`` after connections that were opened, used and closed."""
    used(client, server, keys, COUNT)
    before = {member: client.state(member) for member in members}
    for _ in range(ROUNDS):
        used(client, server, keys, COUNT)
    not_more(client, judge, before, cite, f"{ROUNDS * COUNT} connections were closed")


def not_more(client: Subject, judge: Judge, before: dict[str, int], cite: str, after: str) -> None:
    """No member of ``state`` has grown by more than a pool may."""
    for member, count in before.items():
        most = count if member == "connections" else count + POOL
        now = still_above(client, member, most)
        judge.holds(now is None, f"{member} in state: {now} after {after}, {count} before", cite=cite)


@case("LM-STATE-001", targets=MOCK, needs=("connect", "exist", "close"))
def test_closed_connections_leave_no_descriptor(client: Subject, judge: Judge, server: Server, keys: Keys) -> None:
    """A client that opened, used and closed connections has as many file descriptors open as before."""
    closed_leave_nothing(client, judge, server, keys, ("connections", "file_descriptors"), "LM-STATE-001")


@case("LM-STATE-001", targets=MOCK, needs=("connect", "exist", "close"))
def test_failed_connections_leave_no_descriptor(client: Subject, judge: Judge, server: Server, keys: Keys) -> None:
    """Connections that the server ended, and those that it never accepted, leave no file descriptor open."""
    used(client, server, keys, COUNT)
    before = {"file_descriptors": client.state("file_descriptors")}
    names = [client.connect(server, timeout_ms=SHORT_MS) for _ in range(COUNT)]
    for name in names:
        client.ok("exist", connection=name, key=keys())
    server.stop()
    for name in names:
        answer = client.call("exist", connection=name, key=keys())
        judge.not_ok("exist", answer, because="the server is gone", kinds=("connection", "timeout"))
    for _ in range(COUNT):
        name, _ = reached(client, server, keys, timeout_ms=SHORT_MS)
        client.call("close", connection=name)
    for name in names:
        client.call("close", connection=name)
    not_more(client, judge, before, "LM-STATE-001", f"{COUNT} connections broke and {COUNT} failed")


@case(
    "LM-STATE-001",
    targets=MOCK,
    needs=("connect", "put", "get", "exist", "close"),
    variants=parameters(*SPOILED),
    once_for="frames",
)
def test_spoiled_replies_leave_no_descriptor(
    client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: str
) -> None:
    """Connections that were given up, since a reply did not come in time, broke off or was refused, leave no descriptor open."""
    leaves_nothing(client, judge, server, keys, profile, vector, "file_descriptors", "LM-STATE-001")


@case(
    "LM-STATE-002",
    targets=MOCK,
    needs=("connect", "put", "get", "exist", "close"),
    variants=parameters(*SPOILED),
    once_for="frames",
)
def test_spoiled_replies_leave_no_thread(
    client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: str
) -> None:
    """Connections that were given up, since a reply did not come in time, broke off or was refused, leave no thread running."""
    leaves_nothing(client, judge, server, keys, profile, vector, "threads", "LM-STATE-002")


def leaves_nothing(
    client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, how: str, member: str, cite: str
) -> None:
    """A client tells of no more in ``state`` after several connections, each ended by a spoiled reply."""
    value = sample(profile)
    first = client.connect(server)
    client.ok("put", connection=first, key=keys(), **value.stored)
    client.ok("exist", connection=first, key=keys())
    client.ok("close", connection=first)
    used(client, server, keys, COUNT)

    def spoiled(times: int) -> None:
        server.misbehave(SPOILED[how])
        for _ in range(times):
            name = client.connect(server, timeout_ms=BRIEF_MS if how == "late" else SHORT_MS)
            answer = client.call("get", connection=name, key=keys(), expect=value.expect)
            judge.not_ok("get", answer, because=f"the reply is {how}", kinds=HONEST, miss=True)
            client.call("close", connection=name)
        server.misbehave()

    spoiled(1)
    before = {member: client.state(member)}
    spoiled(SPOILED_COUNT)
    not_more(client, judge, before, cite, f"{SPOILED_COUNT} connections with a reply that was {how}")


@case("LM-STATE-002", targets=MOCK, needs=("connect", "exist", "close"))
def test_closed_connections_leave_no_thread(client: Subject, judge: Judge, server: Server, keys: Keys) -> None:
    """A client that opened, used and closed connections runs as many threads as before."""
    closed_leave_nothing(client, judge, server, keys, ("threads",), "LM-STATE-002")


@case("LM-STATE-003", targets=MOCK, needs=("connect", "put", "get", "exist", "close"))
def test_loaded_values_are_not_kept(client: Subject, judge: Judge, server: Server, keys: Keys) -> None:
    """A client that loads a value again and again does not grow by its size each time."""
    value = binary(bytes(MEBIBYTE))
    first = client.connect(server)
    client.ok("put", connection=first, key=keys(), **value.stored)
    client.ok("exist", connection=first, key=keys())

    def load(times: int) -> None:
        for _ in range(times):
            name = client.connect(server)
            client.ok("get", connection=name, key=keys(), expect=value.expect)
            client.ok("close", connection=name)

    grows_little(client, judge, load, "loads")


@case("LM-STATE-003", targets=MOCK, needs=("connect", "put", "exist", "close"), once_for="frames")
def test_stored_values_are_not_kept(client: Subject, judge: Judge, server: Server, keys: Keys) -> None:
    """A client that stores a value again and again does not grow by its size each time."""
    value = binary(bytes(MEBIBYTE))

    def store(times: int) -> None:
        for _ in range(times):
            name = client.connect(server)
            client.ok("put", connection=name, key=keys(), **value.stored)
            client.ok("exist", connection=name, key=keys())
            client.ok("close", connection=name)
            server.forget()  # the mock may be in the process of the client

    grows_little(client, judge, store, "stores")


def grows_little(client: Subject, judge: Judge, transfer: Callable[[int], None], what: str) -> None:
    """The memory of a client that has moved as many values before does not grow with each more."""
    transfer(LOADS // 2)
    before = client.state("resident_bytes") + GROWTH
    transfer(LOADS)
    now = still_above(client, "resident_bytes", before)
    judge.holds(
        now is None,
        f"resident_bytes in state: {now} after {LOADS} {what} of {MEBIBYTE} bytes, {before - GROWTH} before",
        cite="LM-STATE-003",
    )


@case("LM-STATE-004", targets=MOCK, needs=("connect", "exist"))
def test_bye_ends_everything(client: Subject, judge: Judge, server: Server, keys: Keys) -> None:
    """After bye the connections of a client are closed, and its process, where it has one, has ended with status 0."""
    client.ok("exist", connection=client.connect(server), key=keys())
    client.ok("bye")
    status = client.exit_status
    ended = "it had to be killed" if status is None else f"it ended with status {status}"
    judge.holds(status == 0, f"the process of the client should end with status 0 after bye; {ended}", cite="LM-STATE-004")
    try:
        server.journal.wait_for(lambda journal: not journal.open_connections)
    except TimeoutError:
        judge.fail("the client ended, but the server still sees its connection open", cite="LM-STATE-004")
