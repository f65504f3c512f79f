"""The conversation on one connection.

Source: ``LMCacheServer.handle_client``; the order of reads, sends and stores is the real one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from mockserver.buffers import writable
from mockserver.connection import Connection
from mockserver.delivery import deliver
from mockserver.endings import ConnectionEndedError, Ending
from mockserver.faults.plan import PlanProgress, shape
from mockserver.journal import Journal
from mockserver.lm.replies import Replies
from mockserver.lm.requests import ServerRequest, command_name, key_text, read_request
from mockserver.records import Exchange
from mockserver.store import Store, StoredValue
from wire.errors import DecodeError
from wire.keys import CacheKey
from wire.lm.frames import header_numbers
from wire.lm.profile import KEY_FIELD_SIZE, LmProfile


@dataclass(frozen=True, slots=True)
class Desk:
    """What the sessions of one server share."""

    profile: LmProfile
    store: Store
    journal: Journal
    replies: Replies
    read_key: Callable[[bytes], CacheKey]
    faults: Callable[[], PlanProgress]
    """The plan at work; asked anew for every exchange, since a test may set another."""


class Session:
    """Serves one connection until it ends."""

    def __init__(self, desk: Desk, connection: Connection) -> None:
        self._desk = desk
        self._connection = connection
        self._header = memoryview(bytearray(desk.profile.header.request_size))
        self._number = desk.journal.open_connection(connection.peer)
        self._exchanges = 0

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
            arrived = sum(segment.size for segment in self._connection.peek_segments_in())
            self._desk.journal.close_connection(self._number, ending, bytes(self._header[:arrived]))

    def _converse(self) -> Ending:
        size = len(self._header)
        while True:
            arrived = self._connection.read_into(self._header)
            if arrived < size:
                return Ending("cut header", f"{arrived} of {size} bytes") if arrived else Ending("peer closed")
            ending = self._exchange(bytes(self._header))
            if ending is not None:
                return ending

    def _exchange(self, header: bytes) -> Ending | None:
        self._exchanges += 1
        exchange = Exchange(
            connection=self._number,
            number=self._exchanges,
            command=command_name(header_numbers(self._desk.profile.header.request, header)["command"]),
            key=key_text(header),
            header=header,
            segments_in=self._connection.peek_segments_in(),
        )
        running = _Running(exchange)
        try:
            running.ending = self._serve(running, header)
        except ConnectionEndedError as ended:
            running.ending = ended.ending
            raise
        finally:
            received, sent = self._connection.take_segments()
            self._note(running, segments_in=received, segments_out=sent, ending=running.ending, done=True)
        return running.ending

    def _serve(self, running: _Running, header: bytes) -> Ending | None:
        try:
            key = self._desk.read_key(header[-KEY_FIELD_SIZE:])
            request = read_request(self._desk.profile, header, key)
        except DecodeError as refusal:
            return Ending("bad request", str(refusal))
        if request.command == "PUT":
            self._note(running)
            cut = self._receive(running, request)
            if cut is not None:
                return cut
        outgoing = self._desk.replies.answer(request, self._desk.store)
        actions = self._desk.faults().actions_for(running.exchange.command, self._number, running.exchange.key)
        outgoing, effective = shape(outgoing, actions)
        if outgoing.size or effective:
            self._note(running, reply_header=outgoing.header, reply_body_length=len(outgoing.body), faults=effective)
            return deliver(self._connection, outgoing)
        return None

    def _receive(self, running: _Running, request: ServerRequest) -> Ending | None:
        """The payload of a PUT, into the store. A cut one leaves None there, as in the real server."""
        size = max(0, request.about.length)
        buffer = writable(size)
        arrived = self._connection.read_into(buffer)
        data = buffer.toreadonly() if arrived == size else None
        self._desk.store.put(request.key, StoredValue(data, request.about))
        seen = self._desk.journal.see_payload(data if data is not None else bytes(buffer[:arrived]))
        running.exchange = replace(running.exchange, received=seen)
        return None if data is not None else Ending("cut payload", f"{arrived} of {size} bytes")

    def _note(self, running: _Running, **progress: Any) -> None:
        running.exchange = replace(running.exchange, **progress)
        self._desk.journal.record(running.exchange)


class _Running:
    """An exchange that goes on: its latest snapshot, and the end of the connection if it brings one."""

    __slots__ = ("ending", "exchange")

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.ending: Ending | None = None
