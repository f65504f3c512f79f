"""Defects of a server that one peer can hurt: seeded into the reference server, for the cases of runs that judge servers."""

from __future__ import annotations

import os
import threading
from typing import ClassVar

from harness.mutants.mutant import server_mutant
from harness.reference.servers.lm import RobustServer, RobustSession
from mockserver.endings import ConnectionEndedError, Ending, EndingKind
from mockserver.faults.outgoing import Outgoing, Restart
from mockserver.lm.requests import ServerRequest
from mockserver.records import RunningExchange


class _Fragile(RobustSession):
    """Takes the server down with it when its connection ends in some way; something starts it again, without its values."""

    ends_with: ClassVar[frozenset[EndingKind]] = frozenset()

    def _converse(self) -> Ending:
        try:
            ending = super()._converse()
        except ConnectionEndedError as ended:
            self._take_down(ended.ending)
            raise
        self._take_down(ending)
        return ending

    def _take_down(self, ending: Ending) -> None:
        if ending.kind in self.ends_with and self._is_deadly():
            self._desk.restart(Restart(moves=False, empties=True))

    def _is_deadly(self) -> bool:
        return True


class _DiesOfBadRequests(_Fragile):
    ends_with = frozenset({"bad request"})


@server_mutant(
    "better-server-dies-of-bad-requests",
    runs="server",
    stands_for="An exception that nobody catches, a panic, an assertion about what peers send.",
    found_by=(
        "servers.hostile.others-are-served[*bad-*]",
        "servers.hostile.others-are-served[*noise*]",
        "servers.hostile.others-are-served[*less-than-nothing*]",
    ),
)
class DiesOfBadRequests(RobustServer):
    """Ends when something comes that is no request."""

    session_class = _DiesOfBadRequests


class _DiesOfCutRequests(_Fragile):
    ends_with = frozenset({"cut header", "cut payload"})


@server_mutant(
    "better-server-dies-of-cut-requests",
    runs="server",
    stands_for="A header or a payload that is read in one go and unwrapped.",
    found_by=(
        "servers.hostile.others-are-served[*half-header-close*]",
        "servers.hostile.others-are-served[*payload-close*]",
    ),
)
class DiesOfCutRequests(RobustServer):
    """Ends when a connection ends inside a request."""

    session_class = _DiesOfCutRequests


class _DiesOfResets(_Fragile):
    ends_with = frozenset({"peer reset"})


@server_mutant(
    "better-server-dies-of-resets",
    runs="server",
    stands_for="An error of the socket that is taken for one of the server.",
    found_by=(
        "servers.hostile.others-are-served[*reset*]",
        "servers.hostile.others-are-served[*leave-in-mid-reply*]",
    ),
)
class DiesOfResets(RobustServer):
    """Ends when a peer resets its connection, or is gone when a reply is sent."""

    session_class = _DiesOfResets


class _DiesOfNothing(_Fragile):
    ends_with = frozenset({"peer closed"})

    def _is_deadly(self) -> bool:
        return self._exchanges == 0


@server_mutant(
    "better-server-dies-of-empty-connections",
    runs="server",
    stands_for="A first read that must bring something; health checks of load balancers send nothing.",
    found_by=("servers.hostile.others-are-served[*connect-close*]",),
)
class DiesOfEmptyConnections(RobustServer):
    """Ends when a connection is closed that never sent anything."""

    session_class = _DiesOfNothing


class _OneAtATime(RobustSession):
    def __init__(self, *about: object) -> None:
        super().__init__(*about)  # type: ignore[arg-type]  # as they come
        self._turn: threading.Lock = self._desk.store.__dict__.setdefault("turn", threading.Lock())

    def run(self) -> None:
        """Serve, when nobody else is served."""
        with self._turn:
            super().run()


@server_mutant(
    "better-server-one-at-a-time",
    runs="server",
    stands_for="A loop that accepts and serves, in one thread.",
    found_by=("servers.hostile.others-are-served", "servers.wire.programs"),
)
class OneAtATime(RobustServer):
    """Serves a connection when the one before it has ended."""

    session_class = _OneAtATime


class _OneRequestAtATime(RobustSession):
    def __init__(self, *about: object) -> None:
        super().__init__(*about)  # type: ignore[arg-type]  # as they come
        self._turn: threading.Lock = self._desk.store.__dict__.setdefault("turn", threading.Lock())

    def _serve(self, exchange: RunningExchange, request: ServerRequest) -> Ending | None:
        with self._turn:
            return super()._serve(exchange, request)


@server_mutant(
    "better-server-one-request-at-a-time",
    runs="server",
    stands_for="A lock around a request from its payload to the last byte of its reply.",
    found_by=(
        "servers.hostile.others-are-served[*deaf-readers*]",
        "servers.hostile.others-are-served[*payload-stalls*]",
        "servers.concurrency.slow-peers-hold-up-nobody",
    ),
)
class OneRequestAtATime(RobustServer):
    """Serves a request when the one before it, of whatever connection, is done."""

    session_class = _OneRequestAtATime


class _Slots(RobustSession):
    most = 100

    def run(self) -> None:
        """Serve, if there is a place."""
        places: threading.Semaphore = self._desk.store.__dict__.setdefault("places", threading.Semaphore(self.most))
        with places:
            super().run()


@server_mutant(
    "better-server-a-hundred-connections",
    runs="server",
    stands_for="A pool of threads, each of which serves a connection to its end.",
    found_by=("servers.hostile.others-are-served[*crowd*]", "servers.concurrency.crowd"),
)
class AHundredConnections(RobustServer):
    """Serves a hundred connections; others wait."""

    session_class = _Slots


class _KeepsDescriptors(RobustSession):
    def run(self) -> None:
        """Serve, with a second descriptor that stays."""
        self._desk.store.__dict__.setdefault("kept", []).append(_Kept(os.dup(self._connection.socket.fileno())))
        super().run()


class _Kept:
    """A descriptor that is closed with the server, so that this process does not pay for it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __del__(self) -> None:
        os.close(self._descriptor)


@server_mutant(
    "better-server-keeps-descriptors",
    runs="server",
    stands_for="A table of connections from which nobody takes those that ended.",
    found_by=("servers.hostile.nothing-is-left-behind", "servers.concurrency.churn"),
)
class KeepsDescriptors(RobustServer):
    """Keeps a descriptor of every connection."""

    session_class = _KeepsDescriptors


class _KeepsThreads(RobustSession):
    def run(self) -> None:
        """Serve, beside a thread that waits for the server's end."""
        over: threading.Event = self._desk.store.__dict__.setdefault("over", threading.Event())
        threading.Thread(target=over.wait, args=(60.0,), daemon=True).start()
        super().run()


@server_mutant(
    "better-server-keeps-threads",
    runs="server",
    stands_for="A thread for each direction, of which one does not learn that the other has ended.",
    found_by=("servers.hostile.nothing-is-left-behind", "servers.concurrency.churn"),
)
class KeepsThreads(RobustServer):
    """Keeps a thread of every connection."""

    session_class = _KeepsThreads

    def stop(self) -> None:
        """Stop, and let those threads go."""
        super().stop()
        self.store.__dict__.setdefault("over", threading.Event()).set()


class _CountsOutgoing(RobustSession):
    def _deliver(self, outgoing: Outgoing) -> Ending | None:
        if self._exchanges > 100:
            return Ending("server error", "too many requests")
        return super()._deliver(outgoing)


@server_mutant(
    "better-server-a-hundred-requests",
    runs="server",
    stands_for="Connections that are recycled after so many requests, as web servers do it.",
    found_by=("servers.hostile.others-are-served[*pipeline*]", "servers.wire.headers-in-one-piece"),
)
class AHundredRequests(RobustServer):
    """Ends a connection after a hundred requests."""

    session_class = _CountsOutgoing


class _LoadBearing(RobustSession):
    def _serve(self, exchange: RunningExchange, request: ServerRequest) -> Ending | None:
        if request.command == "LIST":
            self._desk.store.clear()
        return super()._serve(exchange, request)


@server_mutant(
    "better-server-list-takes-all",
    runs="server",
    stands_for="A snapshot that is made by moving the index.",
    found_by=("servers.hostile.others-are-served[*list-flood*]", "servers.wire.list-keeps-the-order"),
)
class ListTakesAll(RobustServer):
    """Forgets everything when LIST is asked for."""

    session_class = _LoadBearing
