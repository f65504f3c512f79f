"""Defects in the life of connections: time limits, what is kept after a failure, what is shared, what is closed."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from harness.client import ClientError, MissError
from harness.mutants.mutant import mutant
from harness.reference.lm import LmConnection, ReferenceClient

Answer = dict[str, Any]


class Keeping(LmConnection):
    """Goes on with a socket after failures of some kinds."""

    keeps: ClassVar[frozenset[str]] = frozenset()

    @contextmanager
    def exchange(self) -> Iterator[None]:
        """One request and its reply, on whatever socket there is."""
        self._until = time.monotonic() + self._timeout
        if self._for_good:
            raise ClientError("connection", "the connection was closed by its owner")
        if self._socket is None:
            with self._bounded():
                self._open()
        try:
            yield
        except TimeoutError as error:
            self._end("timeout")
            raise ClientError("timeout", "no answer in time") from error
        except OSError as error:
            self._end("connection")
            raise ClientError("connection", str(error)) from error
        except ClientError as error:
            self._end(error.kind)
            raise

    def _end(self, kind: str) -> None:
        if kind not in self.keeps:
            self._drop()


class _KeepsAfterTimeout(Keeping):
    keeps = frozenset({"timeout"})


@mutant(
    "connection-kept-after-a-timeout",
    stands_for="A request that is cancelled (LMCache pull request 1913) on a socket that is used again: its reply comes late.",
    found_by=(
        "lm.broken.late-reply",
        "lm.broken.reply-stalls",
        "lm.misbehaviour.swapped-replies*",
    ),
)
class KeepsAfterTimeout(ReferenceClient):
    """Sends the next request on a connection whose last one timed out, even if its reply lies there by now."""

    connection_class = _KeepsAfterTimeout


class _KeepsWhenAsked(LmConnection):
    """Leaves a socket in use after the timeout of some operations, unless its peer has ended it."""

    keeping = False

    def _drop(self) -> None:
        if not self.keeping or self._socket is None or self._is_stale(self._socket):
            super()._drop()


class _KeepingAfter(ReferenceClient):
    connection_class = _KeepsWhenAsked

    @contextmanager
    def _keeping(self, name: str) -> Iterator[None]:
        link = self._connection(name)
        assert isinstance(link, _KeepsWhenAsked)
        link.keeping = True
        try:
            yield
        finally:
            link.keeping = False


@mutant(
    "connection-kept-after-a-health-timeout",
    stands_for="A health check that catches its timeout itself, since a server that is not well is an answer and no failure.",
    found_by=("lm.misbehaviour.dropped-reply*HEALTH]",),
)
class KeepsAfterHealth(_KeepingAfter):
    """Sends the next request on a connection whose HEALTH timed out."""

    def health(self, *, connection: str, **members: Any) -> Answer:
        """And leave the connection as it is."""
        with self._keeping(connection):
            return super().health(connection=connection, **members)


@mutant(
    "connection-kept-after-a-list-timeout",
    stands_for="A list that is known to time out, and is therefore left out of the handling of errors.",
    found_by=("lm.roundtrip.list-is-never-answered",),
)
class KeepsAfterList(_KeepingAfter):
    """Sends the next request on a connection whose LIST timed out."""

    def list(self, *, connection: str, **members: Any) -> Answer:
        """And leave the connection as it is."""
        with self._keeping(connection):
            return super().list(connection=connection, **members)


@mutant(
    "connection-kept-after-a-put-timeout",
    stands_for="A put that fails is given up in the middle of its payload: the server reads the next requests as payload.",
    found_by=("lm.connection.nobody-reads",),
)
class KeepsAfterPut(_KeepingAfter):
    """Sends the next request on a connection whose PUT timed out in the middle of its payload."""

    def put(self, *, connection: str, **members: Any) -> Answer:
        """And leave the connection as it is."""
        with self._keeping(connection):
            return super().put(connection=connection, **members)


class _KeepsAfterRefusal(Keeping):
    keeps = frozenset({"refused", "protocol"})


@mutant(
    "connection-kept-after-a-refusal",
    stands_for="A value that does not fit is thrown away with its header; its payload is read as the next header.",
    found_by=("lm.identity.reply-disagrees", "lm.identity.other-layout"),
)
class KeepsAfterRefusal(ReferenceClient):
    """Leaves the payload of a refused reply where it is, and goes on."""

    connection_class = _KeepsAfterRefusal


class _KeepsAlways(Keeping):
    keeps = frozenset({"timeout", "refused", "protocol", "connection", "internal"})

    def receive(self, size: int) -> bytes:
        buffer = bytearray(size)
        got = 0
        while got < size:
            count = self._ready().recv_into(memoryview(buffer)[got:])
            if not count:
                break
            got += count
        return bytes(buffer)


@mutant(
    "connection-never-given-up",
    stands_for="LMCache #3565: one socket for the life of the process, and every error on it swallowed or logged.",
    found_by=("lm.broken.reply-breaks-off", "lm.broken.reply-stalls", "lm.connection.server-dies"),
)
class KeepsAlways(ReferenceClient):
    """Goes on with its socket whatever happened on it."""

    connection_class = _KeepsAlways


class _Unlimited(ReferenceClient):
    """Some operations take as long as they like."""

    patient: ClassVar[frozenset[str]] = frozenset()
    seconds: ClassVar[float] = 3600.0

    def _connection(self, name: str) -> LmConnection:
        link = super()._connection(name)
        link._timeout = self._limits.get(name, link._timeout)  # noqa: SLF001  # the limit is what is wrong
        return link

    def __init__(self) -> None:
        super().__init__()
        self._limits: dict[str, float] = {}

    @contextmanager
    def _patience(self, name: str) -> Iterator[None]:
        link = self._connection(name)
        limit = link._timeout  # noqa: SLF001
        self._limits[name] = self.seconds
        try:
            yield
        finally:
            self._limits[name] = limit


@mutant(
    "timeout-missing-on-get",
    stands_for="A blocking read: the engine stands still for as long as a server that went silent.",
    found_by=("lm.broken.reply-stalls",),
)
class GetsForEver(_Unlimited):
    """Waits for the reply to a GET for ever."""

    def get(self, *, connection: str, **members: Any) -> Answer:
        """Without a limit."""
        with self._patience(connection):
            return super().get(connection=connection, **members)


@mutant(
    "timeout-missing-on-exist",
    stands_for="A time limit for what moves data alone; a lookup waits just as long for a server that went silent.",
    found_by=("lm.broken.exist-stalls", "lm.connection.nobody-accepts"),
)
class AsksForEver(_Unlimited):
    """Waits for the reply to an EXIST for ever."""

    def exist(self, *, connection: str, **members: Any) -> Answer:
        """Without a limit."""
        with self._patience(connection):
            return super().exist(connection=connection, **members)


@mutant(
    "timeout-missing-on-put",
    stands_for="A time limit for replies, of which a PUT has none: it waits for a server that takes no more bytes.",
    found_by=("lm.connection.nobody-reads",),
)
class StoresForEver(_Unlimited):
    """Waits for ever for a server to take the bytes of a PUT."""

    def put(self, *, connection: str, **members: Any) -> Answer:
        """Without a limit."""
        with self._patience(connection):
            return super().put(connection=connection, **members)


@mutant(
    "timeout-missing-on-health",
    stands_for="A health check that is itself what hangs.",
    found_by=("lm.broken.health-breaks-off",),
)
class ChecksForEver(_Unlimited):
    """Waits for the reply to a HEALTH for ever."""

    def health(self, *, connection: str, **members: Any) -> Answer:
        """Without a limit."""
        with self._patience(connection):
            return super().health(connection=connection, **members)


@mutant(
    "timeout-missing-on-list",
    stands_for="The list call of lmcache's own client: no released server has ever answered LIST.",
    found_by=("lm.roundtrip.list-is-never-answered",),
)
class ListsForEver(_Unlimited):
    """Waits for the reply to a LIST for ever."""

    def list(self, *, connection: str, **members: Any) -> Answer:
        """Without a limit."""
        with self._patience(connection):
            return super().list(connection=connection, **members)


class _UnlimitedOnceReopened(LmConnection):
    _opened = 0

    def _open(self) -> None:
        super()._open()
        self._opened += 1

    def _ready(self) -> socket.socket:
        ready = super()._ready()
        if self._opened > 1:
            ready.settimeout(None)
        return ready


@mutant(
    "timeout-missing-after-a-reconnect",
    stands_for="A time limit that connect() sets on the socket, and the function that reconnects forgets.",
    found_by=("lm.misbehaviour.silent-after-a-reconnect*",),
)
class WaitsForEverOnceReopened(ReferenceClient):
    """Waits for ever on a connection that it opened in place of a broken one."""

    connection_class = _UnlimitedOnceReopened


@mutant(
    "timeout-too-short",
    stands_for="A limit written into the client, fit for a server on the same machine, in place of the one that was asked for.",
    found_by=("lm.segments.slow-reply",),
)
class Impatient(_Unlimited):
    """Gives every EXIST a tenth of a second, whatever limit was set."""

    seconds = 0.1

    def exist(self, *, connection: str, **members: Any) -> Answer:
        """With its own limit."""
        with self._patience(connection):
            return super().exist(connection=connection, **members)


@mutant(
    "no-server-is-a-miss",
    stands_for="LMCache pull request 2450 shows the line: connection failed in contains, returning False.",
    found_by=(
        "lm.connection.nobody-listens",
        "lm.connection.nobody-accepts",
        "lm.connection.server-dies",
        "lm.broken.exist-stalls",
        "lm.broken.late-reply",
        "lm.connection.close",
    ),
)
class NoServerIsAMiss(ReferenceClient):
    """Answers false when there is no connection, and connects when it must."""

    def __init__(self) -> None:
        super().__init__()
        self._unopened: dict[str, Mapping[str, Any]] = {}

    def connect(self, *, connection: str, **members: Any) -> Answer:
        """Without a look at whether anybody listens."""
        try:
            return super().connect(connection=connection, **members)
        except ClientError as error:
            if error.kind == "refused":
                raise
            self._unopened[connection] = members
            return {}

    def exist(self, *, connection: str, **members: Any) -> Answer:
        """False where nobody answers."""
        try:
            return super().exist(connection=connection, **members)
        except ClientError as error:
            if error.kind in {"connection", "timeout"}:
                return {"exists": False}
            raise


@mutant(
    "miss-is-an-error",
    stands_for="An exception for whatever is not a hit: the engine then logs a failure for every prompt that is new.",
    found_by=("lm.roundtrip.miss", "lm.identity.other-key", "lm.identity.other-model"),
)
class MissIsAnError(ReferenceClient):
    """Reports a miss as a failure of the protocol."""

    def get(self, **members: Any) -> Answer:
        """A value or an error."""
        try:
            return super().get(**members)
        except MissError:
            raise ClientError("protocol", "the server has no such value") from None


@mutant(
    "put-errors-swallowed",
    stands_for="LMCache #3565: after a restart of the server every PUT fails with EPIPE, and its caller learns nothing.",
    found_by=("lm.connection.puts-to-a-dead-server", "lm.connection.nobody-reads"),
)
class SwallowsPutErrors(ReferenceClient):
    """Says that a value is stored when the connection is gone."""

    def put(self, **members: Any) -> Answer:
        """Never fails for want of a connection."""
        try:
            return super().put(**members)
        except ClientError as error:
            if error.kind in {"connection", "timeout"}:
                return {}
            raise


@mutant(
    "connection-reopened-after-close",
    stands_for="A reconnect that does not tell a connection that broke from one that its owner closed.",
    found_by=("lm.connection.close",),
)
class ReopensWhatWasClosed(ReferenceClient):
    """Goes on with a connection that its owner closed."""

    def close(self, *, connection: str, **_: Any) -> Answer:
        """Until the next request."""
        if connection in self._connections:
            self._connections[connection]._drop()  # noqa: SLF001
        return {}


@mutant(
    "connection-closed-twice-fails",
    stands_for="A lookup that raises for what is no longer there: shutting down in the wrong order then ends in a traceback.",
    found_by=("lm.connection.close",),
)
class ClosesOnce(ReferenceClient):
    """Fails when a connection is closed for the second time."""

    def close(self, *, connection: str, **members: Any) -> Answer:
        """Once."""
        if not self._connection(connection).is_open:
            raise ClientError("connection", f"{connection} is closed")
        return super().close(connection=connection, **members)


@mutant(
    "connection-leaks",
    stands_for="A socket that is dropped and not closed, or closed by a collector that runs when it likes.",
    found_by=("lm.connection.closed-connections-are-released",),
)
class Leaks(ReferenceClient):
    """Takes no more requests for a closed connection, and goes on holding its socket and counting it."""

    def __init__(self) -> None:
        super().__init__()
        self._leaked: list[LmConnection] = []

    def close(self, *, connection: str, **_: Any) -> Answer:
        """As far as its owner can see."""
        if connection in self._connections:
            link = self._connections.pop(connection)
            self._leaked.append(link)
            link._for_good = True  # noqa: SLF001
            self._connections[connection] = link
        return {}


@mutant(
    "connection-shared",
    stands_for="A pool, or a singleton, by host and port: whoever closes it closes it for all.",
    found_by=("lm.roundtrip.two-connections",),
)
class Shared(ReferenceClient):
    """Gives every connection to one server the same socket."""

    def __init__(self) -> None:
        super().__init__()
        self._by_address: dict[tuple[str, int], LmConnection] = {}

    def connect(self, *, connection: str, host: str, port: int, **members: Any) -> Answer:
        """The one that there is already, if it is open."""
        known = self._by_address.get((host, port))
        if known is not None and known.is_open:
            self._connections[connection] = known
            return {}
        answer = super().connect(connection=connection, host=host, port=port, **members)
        self._by_address[host, port] = self._connections[connection]
        return answer

    def bye(self, **members: Any) -> Answer:
        """Close everything once."""
        with contextlib.suppress(OSError):
            return super().bye(**members)
        return {}
