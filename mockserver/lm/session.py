"""The conversation on one connection.

Source: ``LMCacheServer.handle_client``; the order of reads, sends and stores is the real one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from mockserver.connection import Connection
from mockserver.delivery import deliver
from mockserver.endings import ConnectionEndedError, Ending
from mockserver.faults.outgoing import Outgoing, Restart
from mockserver.faults.plan import PlanProgress, shape
from mockserver.journal import Journal
from mockserver.lm.replies import Replies
from mockserver.lm.requests import ServerRequest, glance
from mockserver.records import RunningExchange
from mockserver.store import Store, StoredValue
from wire.errors import DecodeError
from wire.lm.profile import LmProfile


@dataclass(frozen=True, slots=True)
class Desk:
    """What the sessions of one server share."""

    profile: LmProfile
    store: Store
    journal: Journal
    replies: Replies
    read_request: Callable[[bytes], ServerRequest]
    faults: Callable[[], PlanProgress]
    """The plan at work; asked anew for every exchange, since a test may set another."""
    restart: Callable[[Restart], None]
    """Ends every other connection of the server and starts it anew."""


class Session:
    """Serves one connection until it ends."""

    def __init__(self, desk: Desk, connection: Connection, faults: tuple[str, ...]) -> None:
        self._desk = desk
        self._connection = connection
        self._header = memoryview(bytearray(desk.profile.header.request_size))
        self._number = desk.journal.open_connection(connection.peer, faults)
        connection.record(desk.journal.tape, ", ".join(faults))
        self._exchanges = 0
        self._held: list[Outgoing] = []
        """Replies that wait until the next one has left."""

    def run(self) -> None:
        """Serve, and leave the reason for the end in the journal before the peer can see the end."""
        ending = Ending("server error")
        try:
            ending = self._converse()
        except ConnectionEndedError as ended:
            ending = ended.ending
        except Exception as defect:
            ending = Ending("server error", repr(defect))
            raise
        finally:
            self._desk.faults().forget(self._number)
            self._desk.journal.close_connection(self._number, ending, bytes(self._header[: self._connection.arrived]))
            self._connection.record_end(ending)
            self._connection.close()
            self._desk.journal.let_go(self._number)

    def _converse(self) -> Ending:
        while True:
            header = self._connection.read_whole(self._header)
            if header is None:
                arrived = self._connection.arrived
                return Ending("cut header", f"{arrived} of {len(self._header)} bytes") if arrived else Ending("peer closed")
            ending = self._exchange(header)
            if ending is not None:
                return ending

    def _exchange(self, header: bytes) -> Ending | None:
        try:
            request = self._desk.read_request(header)
        except DecodeError as refusal:
            exchange = self._begin(header, *glance(self._desk.profile, header))
            exchange.ending = Ending("bad request", str(refusal))
            self._finish(exchange)
            return exchange.ending
        exchange = self._begin(header, request.command, request.key_text)
        try:
            exchange.ending = self._serve(exchange, request)
        except ConnectionEndedError as ended:
            exchange.ending = ended.ending
            raise
        except MemoryError as refused:
            exchange.ending = Ending("no memory", str(refused) or f"the system refused what this {request.command} needs")
        finally:
            self._finish(exchange)
        return exchange.ending

    def _begin(self, header: bytes, command: str, key: str) -> RunningExchange:
        self._exchanges += 1
        exchange = RunningExchange(self._number, self._exchanges, command, key, header, self._connection.moved)
        self._desk.journal.begin(exchange)
        return exchange

    def _finish(self, exchange: RunningExchange) -> None:
        self._connection.new_segments()
        exchange.done = True
        self._desk.journal.tell()

    def _serve(self, exchange: RunningExchange, request: ServerRequest) -> Ending | None:
        if request.command == "PUT":
            cut = self._receive(exchange, request)
            if cut is not None:
                return cut
        outgoing = self._desk.replies.answer(request, self._desk.store)
        progress = self._desk.faults()
        if progress.idle:
            actions = None
        else:
            actions = progress.actions_for(request.command, self._number, request.key_text, self._exchanges)
        if actions:
            outgoing, exchange.faults = shape(outgoing, actions)
        elif not outgoing.header:
            return None
        exchange.reply_header = outgoing.header
        exchange.reply_body_length = len(outgoing.body)
        self._desk.journal.tell()
        return self._deliver(outgoing)

    def _deliver(self, outgoing: Outgoing) -> Ending | None:
        if outgoing.last == "hold":
            self._held.append(replace(outgoing, last="go on"))
            return None
        if outgoing.plain and not self._held:
            self._connection.send(outgoing.header)
            if outgoing.body:
                self._connection.send(outgoing.body)
            return None
        ending = deliver(self._connection, outgoing)
        if outgoing.restart is not None:
            self._desk.restart(outgoing.restart)
        if self._held and outgoing.size and ending is None:
            for late in self._held:
                deliver(self._connection, late)
            self._held = []
        return ending

    def _receive(self, exchange: RunningExchange, request: ServerRequest) -> Ending | None:
        """The payload of a PUT, into the store. A cut one leaves None there, as in the real server."""
        size = max(0, request.about.length)
        data, arrived = self._connection.read_payload(size, self._desk.journal.tell)
        whole = arrived == size
        self._desk.store.put(request.key, StoredValue(data if whole else None, request.about))
        exchange.received = self._desk.journal.see_payload(data if whole else bytes(data[:arrived]))
        return None if whole else Ending("cut payload", f"{arrived} of {size} bytes")
