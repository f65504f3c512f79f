"""Defects of servers that show when several connections are served at once."""

from __future__ import annotations

import itertools
import os
import select
import threading
import time
from typing import Any, ClassVar

from harness.mutants.mutant import server_mutant
from mockserver.buffers import writable
from mockserver.delivery import deliver
from mockserver.endings import Ending
from mockserver.faults.outgoing import Outgoing
from mockserver.lm import LmServer
from mockserver.lm.replies import Replies
from mockserver.lm.requests import ServerRequest
from mockserver.lm.session import Session
from mockserver.records import RunningExchange
from mockserver.store import Store, StoredValue
from wire.keys import CacheKey
from wire.release import Release


class _LockedStore(Session):
    """Keeps everybody out of the store while the payload of a PUT arrives."""

    lock: ClassVar[threading.Lock] = threading.Lock()

    def _serve(self, exchange: RunningExchange, request: ServerRequest) -> Ending | None:
        with self.lock:
            if request.command == "PUT":
                return super()._serve(exchange, request)
        return super()._serve(exchange, request)


@server_mutant(
    "server-put-holds-the-lock",
    stands_for="A lock around the whole of a PUT: one engine that stops in the middle of a payload stops all others.",
    found_by=("servers.concurrency.last-to-end-wins", "servers.concurrency.slow-peers-hold-up-nobody"),
)
class PutHoldsTheLock(LmServer):
    """Serves nobody while a payload arrives."""

    session_class = _LockedStore


class _LockedReplies(Session):
    """Keeps everybody out of the store while a value is sent."""

    lock: ClassVar[threading.Lock] = threading.Lock()

    def _serve(self, exchange: RunningExchange, request: ServerRequest) -> Ending | None:
        if request.command != "GET":
            with self.lock:
                pass
            return super()._serve(exchange, request)
        with self.lock:
            return super()._serve(exchange, request)


@server_mutant(
    "server-get-holds-the-lock",
    stands_for="A lock around the whole of a GET: one engine that does not read its value stops all others.",
    found_by=("servers.concurrency.slow-peers-hold-up-nobody",),
)
class GetHoldsTheLock(LmServer):
    """Serves nobody while a value is sent."""

    session_class = _LockedReplies


class _VisibleAtOnce(Session):
    """Puts the memory for a payload into the store before the payload is in it."""

    def _receive(self, exchange: RunningExchange, request: ServerRequest) -> Ending | None:
        buffer = writable(max(0, request.about.length))
        self._desk.store.put(request.key, StoredValue(buffer, request.about))
        arrived = self._connection.read_into(buffer)
        if arrived < len(buffer):
            self._desk.store.put(request.key, StoredValue(None, request.about))
            exchange.received = self._desk.journal.see_payload(bytes(buffer[:arrived]))
            return Ending("cut payload", f"{arrived} of {len(buffer)} bytes")
        exchange.received = self._desk.journal.see_payload(buffer)
        return None


@server_mutant(
    "server-value-visible-while-it-arrives",
    stands_for="Memory that is entered into the index when it is allocated, and filled from the socket afterwards.",
    found_by=("servers.concurrency.old-value-until-the-last-byte",),
)
class VisibleWhileItArrives(LmServer):
    """Gives out a value of which not all bytes are there."""

    session_class = _VisibleAtOnce


class _ByBeginning(Store):
    """Takes a value only if no PUT that began later has been taken."""

    def __init__(self) -> None:
        super().__init__()
        self._begun = itertools.count(1)
        self._mine = threading.local()
        self._taken: dict[CacheKey, int] = {}
        self._ordering = threading.Lock()

    def begin(self) -> None:
        """A PUT of this thread begins."""
        self._mine.number = next(self._begun)

    def put(self, key: CacheKey, value: StoredValue) -> None:
        number = getattr(self._mine, "number", 0)
        with self._ordering:
            if number >= self._taken.get(key, 0):
                self._taken[key] = number
                super().put(key, value)


class _TellsOfBeginnings(Session):
    """Notes when PUTs begin."""

    def _receive(self, exchange: RunningExchange, request: ServerRequest) -> Ending | None:
        store = self._desk.store
        if isinstance(store, _ByBeginning):
            store.begin()
        return super()._receive(exchange, request)


@server_mutant(
    "server-last-to-begin-wins",
    stands_for="Versions that are given out when a request arrives, and not when its value is whole.",
    found_by=("servers.concurrency.last-to-end-wins",),
)
class LastToBeginWins(LmServer):
    """Drops a value if a PUT of its key that began later has ended already."""

    session_class = _TellsOfBeginnings

    def __init__(self, release: str | Release, **more: Any) -> None:
        super().__init__(release, **{"store": _ByBeginning(), **more})


class _ShortOnesFirst(Session):
    """Keeps a value back while there are other requests to answer."""

    _waiting: Outgoing | None = None

    def _serve(self, exchange: RunningExchange, request: ServerRequest) -> Ending | None:
        held, self._waiting = self._waiting, None
        if request.command == "GET" and held is None and self._more_is_there():
            self._waiting = self._desk.replies.answer(request, self._desk.store)
            return None
        ending = super()._serve(exchange, request)
        return ending or (deliver(self._connection, held) if held is not None else None)

    def _more_is_there(self) -> bool:
        return bool(select.select([self._connection.socket], [], [], 0)[0])


@server_mutant(
    "server-pipelined-replies-out-of-order",
    stands_for="Requests of one connection that are given to a pool of workers, each of which replies when it is done.",
    found_by=("servers.concurrency.pipelined",),
)
class ShortOnesFirst(LmServer):
    """Answers a GET behind the request that follows it, if that is there already."""

    session_class = _ShortOnesFirst


class _LooksTwice(Replies):
    """Takes the description from one look at the store and the payload from another."""

    def _get(self, request: ServerRequest, store: Store) -> Outgoing:
        first = store.get(request.key)
        if first is None or first.data is None:
            return super()._get(request, store)
        time.sleep(0.0005)
        second = store.get(request.key)
        data = first.data if second is None or second.data is None else second.data
        return Outgoing(self._profile.header.reply, self._hit_header(first.about), data)


@server_mutant(
    "server-get-looks-twice",
    stands_for="A lock that is taken once for the length and once more for the bytes.",
    found_by=("servers.concurrency.whole-values",),
)
class LooksTwice(LmServer):
    """Announces the length of one value and sends the bytes of the next where a PUT comes between."""

    replies_class = _LooksTwice


class _KeepsDescriptor(Session):
    """Opens something for each connection and never closes it."""

    kept: ClassVar[list[int]] = []

    def run(self) -> None:
        self.kept.append(os.open(os.devnull, os.O_RDONLY))
        super().run()


@server_mutant(
    "server-descriptor-for-each-connection-stays",
    stands_for="A file, a pipe or an event that belongs to a connection and is forgotten when it ends.",
    found_by=("servers.concurrency.churn",),
)
class KeepsDescriptors(LmServer):
    """Has one descriptor more after each connection."""

    session_class = _KeepsDescriptor

    def stop(self) -> None:
        """A process would end here."""
        super().stop()
        while _KeepsDescriptor.kept:
            os.close(_KeepsDescriptor.kept.pop())


class _LeavesThread(Session):
    """Starts a thread for each connection that does not end with it."""

    ended: ClassVar[threading.Event] = threading.Event()

    def run(self) -> None:
        threading.Thread(target=self.ended.wait, daemon=True).start()
        super().run()


@server_mutant(
    "server-thread-for-each-connection-stays",
    stands_for="A second thread for each connection, to send or to watch, that nobody tells of its end.",
    found_by=("servers.concurrency.churn",),
)
class LeavesThreads(LmServer):
    """Has one thread more after each connection."""

    session_class = _LeavesThread

    def stop(self) -> None:
        """A process would end here."""
        super().stop()
        _LeavesThread.ended.set()
        _LeavesThread.ended = threading.Event()


class _Full(Session):
    """Ends at once where there are many others."""

    def run(self) -> None:
        if len(self._desk.journal.open_connections) > 128:
            self._desk.journal.close_connection(self._number, Ending("fault", "all places are taken"))
            return
        super().run()


@server_mutant(
    "server-has-128-connections",
    stands_for="A pool of workers, one for each connection, with a fixed number of them.",
    found_by=("servers.concurrency.crowd",),
)
class Full(LmServer):
    """Ends a connection at once where 128 others are open."""

    session_class = _Full
