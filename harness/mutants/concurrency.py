"""Defects that show when much happens at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from harness.client import ClientError
from harness.mutants.mutant import mutant
from harness.reference.lm import Answer, LmConnection, ReferenceClient

ELSEWHERE: Final = 0.0005
"""Seconds that a thread is busy with something else, such as memory for a payload; others get their turn meanwhile."""
FIRST_ELSEWHERE: Final = 0.02
"""The same, where a defect is to show even on a busy machine: long enough for whoever comes next to overtake."""


class _TwoLocks(LmConnection):
    """Lets other exchanges in between the header of a reply and its payload."""

    def receive(self, size: int) -> bytes:
        if size == self.profile.header.reply_size:
            return super().receive(size)
        self._exchanging.release()
        time.sleep(ELSEWHERE)
        self._exchanging.acquire()
        return super().receive(size)


@mutant(
    "lock-let-go-before-the-payload",
    stands_for="The real client, which takes its lock once for the header of a reply and once more for the payload.",
    found_by=("lm.concurrency.requests-on-one-connection", "lm.concurrency.replies-in-segments"),
)
class LetsGoBeforeThePayload(ReferenceClient):
    """Lets go of the lock of a connection between the header of a reply and its payload."""

    connection_class = _TwoLocks


class _ReadByWhoeverComes(LmConnection):
    """One lock for sending and another for reading."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._sending = threading.Lock()
        self._reading = threading.RLock()
        self._under_way = 0
        self._first = 0

    @contextmanager
    def exchange(self) -> Iterator[None]:
        self._enter()
        try:
            with self._bounded():
                yield
        finally:
            with suppress(RuntimeError):  # of a request that has no reply, or got none
                self._reading.release()
            with self._exchanging:
                self._under_way -= 1

    def send(self, *parts: bytes) -> None:
        with self._sending:
            super().send(*parts)
        time.sleep(FIRST_ELSEWHERE if self._first == threading.get_ident() else ELSEWHERE)

    def receive(self, size: int) -> bytes:
        if size == self.profile.header.reply_size:
            self._reading.acquire(timeout=self._timeout)
        return super().receive(size)

    def _enter(self) -> None:
        if self._for_good:
            raise ClientError("connection", "the connection was closed by its owner")
        with self._exchanging:
            self._until = time.monotonic() + self._timeout
            with self._bounded():
                if self._socket is None or (self._under_way == 0 and self._is_stale(self._socket)):
                    self._drop()
                    self._open()
            if self._under_way == 0:
                self._first = threading.get_ident()
            self._under_way += 1


@mutant(
    "replies-read-by-whoever-comes-first",
    stands_for="Pipelining with one lock for sending and one for reading: who sends first need not be the first to read.",
    found_by=("lm.concurrency.requests-on-one-connection",),
)
class ReadByWhoeverComesFirst(ReferenceClient):
    """Gives the next reply of a connection to whichever request asks for it first."""

    connection_class = _ReadByWhoeverComes


class _OneReceiveBuffer(LmConnection):
    """Receives every payload into memory that all connections share."""

    shared: ClassVar[bytearray] = bytearray()

    def receive(self, size: int) -> bytes:
        if size == self.profile.header.reply_size:
            return super().receive(size)
        if len(self.shared) < size:
            self.shared.extend(bytes(size - len(self.shared)))
        self.shared[:size] = super().receive(size)
        time.sleep(ELSEWHERE)
        return bytes(self.shared[:size])


@mutant(
    "one-receive-buffer",
    stands_for="A staging buffer, pinned once for the whole process, that each connection copies its payloads out of.",
    found_by=("lm.concurrency.requests-on-many-connections", "lm.concurrency.replies-in-segments"),
)
class OneReceiveBuffer(ReferenceClient):
    """Receives the payloads of all connections into one buffer."""

    connection_class = _OneReceiveBuffer


class _OneSendBuffer(LmConnection):
    """Assembles every PUT in memory that all connections share."""

    shared: ClassVar[bytearray] = bytearray()

    def send(self, *parts: bytes) -> None:
        data = b"".join(parts)
        if len(self.shared) < len(data):
            self.shared.extend(bytes(len(data) - len(self.shared)))
        self.shared[: len(data)] = data
        half = len(data) // 2 if len(parts) > 1 else 0
        super().send(bytes(self.shared[:half]))
        time.sleep(ELSEWHERE)
        super().send(bytes(self.shared[half : len(data)]))


@mutant(
    "one-send-buffer",
    stands_for="A staging buffer, pinned once for the whole process, in which each connection puts its requests together.",
    found_by=("lm.concurrency.requests-on-many-connections",),
)
class OneSendBuffer(ReferenceClient):
    """Puts the requests of all connections together in one buffer."""

    connection_class = _OneSendBuffer


@mutant(
    "one-lock-for-all-connections",
    stands_for="A lock that belongs to the client and not to its connections: one silent server stops the whole engine.",
    found_by=("lm.concurrency.stalled-request-holds-up-no-other",),
)
class OneLockForAll(ReferenceClient):
    """Has one request under way at a time, over all connections."""

    def __init__(self) -> None:
        super().__init__()
        self._alone = threading.Lock()

    def get(self, **members: Any) -> Answer:
        """One at a time."""
        with self._alone:
            return super().get(**members)

    def exist(self, **members: Any) -> Answer:
        """One at a time, behind a get that is being called."""
        time.sleep(20 * ELSEWHERE)
        with self._alone:
            return super().exist(**members)


@mutant(
    "connection-remembers-its-puts",
    stands_for="Write-back buffers of each connection, in which a get looks first: after a put of somebody else they are wrong.",
    found_by=("lm.concurrency.last-writer-wins",),
)
class RemembersItsPuts(ReferenceClient):
    """Answers a get of the key that a connection put last with what it put."""

    def __init__(self) -> None:
        super().__init__()
        self._last_put: dict[str, tuple[str, Answer]] = {}

    def put(self, *, connection: str, key: Mapping[str, Any], **members: Any) -> Answer:
        """Remember it."""
        answer = super().put(connection=connection, key=key, **members)
        value = {name: members[name] for name in ("payload", "format", "dtype", "shape")}
        self._last_put[connection] = (repr(key), value)
        return answer

    def get(self, *, connection: str, key: Mapping[str, Any], expect: Mapping[str, Any], **members: Any) -> Answer:
        """Look there first."""
        put, value = self._last_put.get(connection, ("", {}))
        if put == repr(key) and {name: value[name] for name in expect} == dict(expect):
            return value
        return super().get(connection=connection, key=key, expect=expect, **members)


@mutant(
    "a-hundred-connections",
    stands_for="A table of connections with a fixed number of places.",
    found_by=("lm.concurrency.crowd",),
)
class AHundredConnections(ReferenceClient):
    """Has 100 connections at most."""

    def connect(self, **members: Any) -> Answer:
        """Refuse the one that has no place."""
        if self.state()["connections"] >= 100:
            raise ClientError("refused", "all 100 places for connections are taken")
        return super().connect(**members)


@mutant(
    "closed-connections-stay-open",
    stands_for="A pool that takes a closed connection back and never gives it to anybody again.",
    found_by=("lm.concurrency.churn", "lm.connection.closed-connections-are-released"),
)
class StaysOpen(ReferenceClient):
    """Forgets a closed connection, which it no longer counts, and leaves its socket open: only the server sees it."""

    def __init__(self) -> None:
        super().__init__()
        self._pool: list[LmConnection] = []

    def close(self, *, connection: str, **_: Any) -> Answer:
        """Keep it."""
        known = self._connections.pop(connection, None)
        if known is not None:
            self._pool.append(known)
        return {}

    def bye(self, **members: Any) -> Answer:
        """The process would end here."""
        for kept in self._pool:
            kept.close()
        return super().bye(**members)


class _OneAtATime(LmConnection):
    """Takes no request while another is under way."""

    @contextmanager
    def exchange(self) -> Iterator[None]:
        if self._exchanging.locked():
            raise ClientError("internal", "another request is under way on this connection")
        with super().exchange():
            yield


@mutant(
    "fails-while-others-are-under-way",
    stands_for="A connection that is for one thread only, in a client that says it is for many.",
    found_by=("lm.concurrency.requests-on-one-connection",),
)
class FailsWhileBusy(ReferenceClient):
    """Answers with an error where another request is under way on the connection."""

    connection_class = _OneAtATime


@dataclass
class _Flight:
    """A get that others wait for."""

    landed: threading.Event = field(default_factory=threading.Event)
    answer: Answer | None = None
    error: Exception | None = None


class _Together(ReferenceClient):
    """Lets one get stand for all that look alike and are under way."""

    def __init__(self) -> None:
        super().__init__()
        self._flights: dict[str, _Flight] = {}
        self._boarding = threading.Lock()

    def get(self, *, connection: str, key: Mapping[str, Any], expect: Mapping[str, Any], **members: Any) -> Answer:
        """Fetch a value, or wait for whoever fetches it."""
        name = self._alike(connection, key, expect)
        with self._boarding:
            flight = self._flights.get(name)
            leads = flight is None
            flight = self._flights.setdefault(name, _Flight())
        if leads:
            try:
                flight.answer = super().get(connection=connection, key=key, expect=expect, **members)
            except Exception as error:  # noqa: BLE001  # handed to all who wait
                flight.error = error
            with self._boarding:
                del self._flights[name]
            flight.landed.set()
        flight.landed.wait()
        if flight.answer is None:
            raise flight.error or ClientError("internal", "no answer")
        return flight.answer

    def _alike(self, connection: str, key: Mapping[str, Any], expect: Mapping[str, Any]) -> str:
        """Gets with the same name are taken for the same get."""
        raise NotImplementedError


@mutant(
    "one-get-for-all-expectations",
    stands_for="A single flight for each key, as web caches have: the value is checked against what the first one expects.",
    found_by=("lm.concurrency.one-key-with-two-expectations",),
)
class OneGetForAllExpectations(_Together):
    """Answers gets of one key that are under way at once with what the first of them gets, whatever they expect."""

    def _alike(self, connection: str, key: Mapping[str, Any], expect: Mapping[str, Any]) -> str:  # noqa: ARG002
        where = self._connection(connection)._address  # noqa: SLF001
        return f"{where} {key}"


@mutant(
    "one-get-for-all-servers",
    stands_for="A single flight for each key and description in a client that was written for one server.",
    found_by=("lm.concurrency.one-key-on-two-servers",),
)
class OneGetForAllServers(_Together):
    """Answers gets of one key that are under way on several servers with what the first of them gets."""

    def _alike(self, connection: str, key: Mapping[str, Any], expect: Mapping[str, Any]) -> str:  # noqa: ARG002
        return f"{key} {expect}"
