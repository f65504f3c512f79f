"""Defects of a server in how it converses: seeded into the reference server, for the cases of runs that judge servers."""

from __future__ import annotations

import queue
import select
import socket
import threading
import time
from dataclasses import replace

from harness.mutants.mutant import server_mutant
from harness.reference.servers.lm import RobustReplies, RobustServer, RobustSession
from mockserver.buffers import writable
from mockserver.delivery import deliver
from mockserver.endings import ConnectionEndedError, Ending
from mockserver.faults.outgoing import Outgoing
from mockserver.lm.requests import ServerRequest
from mockserver.records import RunningExchange
from mockserver.store import Store
from wire.lm.frames import NOTHING, Reply, encode_reply, replace_field


class _NoList(RobustReplies):
    def answer(self, request: ServerRequest, store: Store) -> Outgoing:
        """The reply, none to LIST."""
        return self._silence if request.command == "LIST" else super().answer(request, store)


@server_mutant(
    "better-server-does-not-list",
    runs="server",
    stands_for="What the real server does: the command is in the table and nowhere else.",
    found_by=("servers.better.list",),
)
class DoesNotList(RobustServer):
    """Does not answer LIST."""

    replies_class = _NoList


class _ShortList(RobustReplies):
    def answer(self, request: ServerRequest, store: Store) -> Outgoing:
        """The reply; LIST brings no more than one key."""
        out = super().answer(request, store)
        return self.listing(bytes(out.body).split(b"\n")[0]) if request.command == "LIST" else out


@server_mutant(
    "better-server-lists-one",
    runs="server",
    stands_for="A text that ends at its first line feed.",
    found_by=("servers.better.list",),
)
class ListsOne(RobustServer):
    """Brings one key for a LIST."""

    replies_class = _ShortList


class _ListTwice(RobustReplies):
    def answer(self, request: ServerRequest, store: Store) -> Outgoing:
        """The reply; LIST brings a header in front of that of the list."""
        out = super().answer(request, store)
        return replace(out, before=self._yes.header) if request.command == "LIST" else out


@server_mutant(
    "better-server-confirms-list",
    runs="server",
    stands_for="A confirmation of the request, and then its result.",
    found_by=("servers.wire.list-keeps-the-order",),
)
class ConfirmsList(RobustServer):
    """Answers LIST with two replies."""

    replies_class = _ListTwice


class _ConfirmsPut(RobustReplies):
    def answer(self, request: ServerRequest, store: Store) -> Outgoing:
        """The reply, one to a PUT as well."""
        return self._yes if request.command == "PUT" else super().answer(request, store)


@server_mutant(
    "better-server-confirms-put",
    runs="server",
    stands_for="Every request has a reply in the protocols that people know.",
    found_by=("servers.captured.demanded[*put-silent*]", "servers.wire.programs"),
)
class ConfirmsPut(RobustServer):
    """Answers a PUT."""

    replies_class = _ConfirmsPut


class _BlankMiss(RobustReplies):
    def answer(self, request: ServerRequest, store: Store) -> Outgoing:
        """The reply; one that describes nothing has zeros in every field but the code."""
        out = super().answer(request, store)
        plain = encode_reply(self._profile, Reply("SUCCESS", NOTHING))[4:]
        return replace(out, header=out.header[:4] + bytes(len(plain))) if out.header[4:] == plain else out


@server_mutant(
    "better-server-describes-nothing-with-zeros",
    runs="server",
    stands_for="A struct that was set to zero: a reader takes the dtype 0 for none.",
    found_by=("servers.captured.demanded[*get-miss*]", "servers.captured.demanded", "servers.captured.understood"),
)
class DescribesNothingWithZeros(RobustServer):
    """Leaves format and dtype of a miss, an EXIST and a HEALTH zero."""

    replies_class = _BlankMiss


class _SendsInPieces(RobustSession):
    def _deliver(self, outgoing: Outgoing) -> Ending | None:
        if outgoing.header and outgoing.last == "go on":
            for part in (outgoing.before, outgoing.header[:12]):
                self._connection.send(part)
            time.sleep(0.0005)
            self._connection.send(outgoing.header[12:])
            self._connection.send(outgoing.body)
            return None
        return super()._deliver(outgoing)


@server_mutant(
    "better-server-header-in-pieces",
    runs="server",
    stands_for="Fields that are written one by one to a socket without a buffer.",
    found_by=("servers.wire.headers-in-one-piece",),
)
class HeaderInPieces(RobustServer):
    """Sends a reply header in two pieces."""

    session_class = _SendsInPieces


class _WaitsForAcknowledgements(RobustSession):
    def run(self) -> None:
        """Serve, with Nagle's algorithm."""
        self._connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
        super().run()


@server_mutant(
    "better-server-waits-for-acknowledgements",
    runs="server",
    stands_for="What the real server does: header and payload in two sends, and the default of the system.",
    found_by=("servers.better.prompt",),
)
class WaitsForAcknowledgements(RobustServer):
    """Takes forty milliseconds for a small GET."""

    session_class = _WaitsForAcknowledgements


class _ReadsBehindGet(RobustSession):
    def _serve(self, exchange: RunningExchange, request: ServerRequest) -> Ending | None:
        if request.command != "PUT" and request.about.length > 0:
            self._connection.read_into(writable(request.about.length))
        return super()._serve(exchange, request)


@server_mutant(
    "better-server-reads-behind-get",
    runs="server",
    stands_for="A frame is a header and `length` bytes, whatever the command.",
    found_by=("servers.captured.demanded[*get-length-ignored*]", "servers.wire.programs"),
)
class ReadsBehindGet(RobustServer):
    """Awaits a payload behind every request whose header has a length."""

    session_class = _ReadsBehindGet


class _ReadsOnce(RobustSession):
    def _converse(self) -> Ending:
        size = len(self._header)
        while True:
            self._await_request()
            arrived = self._connection.socket.recv_into(self._header)
            if arrived < size:
                return Ending("cut header", f"{arrived} of {size} bytes")
            ending = self._exchange(bytes(self._header))
            if ending is not None:
                return ending


@server_mutant(
    "better-server-reads-headers-once",
    runs="server",
    stands_for="One recv for one header, as the real client does it.",
    found_by=("servers.captured.demanded[*half-header-waits*]", "servers.wire.programs"),
)
class ReadsHeadersOnce(RobustServer):
    """Ends a connection on which a header comes in pieces."""

    session_class = _ReadsOnce


class _DropsTheRest(RobustSession):
    def _deliver(self, outgoing: Outgoing) -> Ending | None:
        if outgoing.header:
            self._connection.discard_input()
        return super()._deliver(outgoing)


@server_mutant(
    "better-server-drops-pipelined",
    runs="server",
    stands_for="A buffer that is emptied for the next request.",
    found_by=("servers.captured.demanded[*pipelined*]", "servers.wire.programs"),
)
class DropsPipelined(RobustServer):
    """Throws away what has come behind a request when it answers."""

    session_class = _DropsTheRest


class _SilentlyBack(RobustReplies):
    def answer(self, request: ServerRequest, store: Store) -> Outgoing:
        """The reply, with the location of the PUT."""
        out = super().answer(request, store)
        value = store.get(request.key)
        if request.command != "GET" or value is None or "location" not in self._profile.header.reply:
            return out
        return replace(out, header=replace_field(self._profile.header.reply, out.header, "location", 1))


@server_mutant(
    "better-server-tells-its-location",
    runs="server",
    releases="0.3.3 and later",
    stands_for="The field is there, so it is filled.",
    found_by=("servers.captured.demanded[*put-get*]", "servers.wire.programs"),
)
class TellsItsLocation(RobustServer):
    """Answers a GET with a location."""

    replies_class = _SilentlyBack


class _WholeConversation(RobustSession):
    def _deliver(self, outgoing: Outgoing) -> Ending | None:
        gone = select.poll()
        gone.register(self._connection.socket, select.POLLRDHUP)
        time.sleep(0.001)
        return Ending("peer closed", "before the reply") if gone.poll(0) else super()._deliver(outgoing)


@server_mutant(
    "better-server-forgets-who-half-closed",
    runs="server",
    stands_for="An event of the poller that is taken for the end of both directions.",
    found_by=("servers.captured.understood[*half-close-before-reply*]",),
)
class ForgetsWhoHalfClosed(RobustServer):
    """Does not answer a client that has shut down its sending side."""

    session_class = _WholeConversation


class _NeverEnds(RobustSession):
    def _converse(self) -> Ending:
        ending = super()._converse()
        if ending.kind == "peer closed":
            self._connection.wait(None)
        return ending


@server_mutant(
    "better-server-keeps-half-closed",
    runs="server",
    stands_for="The end of a stream taken for a moment without bytes.",
    found_by=("servers.captured.understood[*half-close*]",),
)
class KeepsHalfClosed(RobustServer):
    """Does not end a connection whose client has shut down its sending side."""

    session_class = _NeverEnds


class _AnswersAll(RobustSession):
    def _exchange(self, header: bytes) -> Ending | None:
        ending = super()._exchange(header)
        if ending is None or ending.kind != "bad request" or ending.detail.startswith("a payload"):
            return ending
        self._connection.send(encode_reply(self._desk.profile, Reply("FAIL", NOTHING)))
        return None


@server_mutant(
    "better-server-answers-bad-requests",
    runs="server",
    stands_for="An error code for a bad request, and on with what may be its payload.",
    found_by=("servers.hostile.refused[*bad-*]", "servers.hostile.refused[*ones*]"),
)
class AnswersBadRequests(RobustServer):
    """Answers 400 to what cannot be a request, and goes on."""

    session_class = _AnswersAll


class _Waits(RobustSession):
    stall = 1000.0


@server_mutant(
    "better-server-waits-for-ever",
    runs="server",
    stands_for="What the real server does: reads without a timeout.",
    found_by=("servers.better.stalls",),
)
class WaitsForEver(RobustServer):
    """Keeps connections that have stopped inside a request."""

    session_class = _Waits


class _Hasty(RobustSession):
    stall = 1.0


@server_mutant(
    "better-server-loses-patience",
    runs="server",
    stands_for="A timeout that was made for a fast network.",
    found_by=("servers.better.stalls",),
)
class LosesPatience(RobustServer):
    """Ends a connection that pauses for a second inside a request."""

    session_class = _Hasty


class _EndsIdle(RobustSession):
    def _await_request(self) -> None:
        arrives = select.poll()
        arrives.register(self._connection.socket, select.POLLIN)
        if not arrives.poll(5000):
            raise ConnectionEndedError(Ending("peer closed", "idle"))


@server_mutant(
    "better-server-ends-idle-connections",
    runs="server",
    stands_for="One timeout for everything, also between requests.",
    found_by=("servers.better.stalls",),
)
class EndsIdleConnections(RobustServer):
    """Ends a connection on which nothing was asked for five seconds."""

    session_class = _EndsIdle


class _Queues(RobustSession):
    """Gives its replies to a thread of its own, and goes on reading."""

    _outbox: queue.SimpleQueue[bytes | None] | None = None

    def run(self) -> None:
        """Serve, with a thread that sends."""
        outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._outbox = outbox

        def send() -> None:
            try:
                for data in iter(outbox.get, None):
                    self._connection.send(data)
            except ConnectionEndedError:
                return

        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        try:
            super().run()
        finally:
            outbox.put(None)

    def _converse(self) -> Ending:
        ending = super()._converse()
        while self._outbox is not None and not self._outbox.empty():
            self._connection.wait(0.001)
        return ending

    def _deliver(self, outgoing: Outgoing) -> Ending | None:
        if outgoing.last != "go on" or self._outbox is None:
            return deliver(self._connection, outgoing)
        self._outbox.put(outgoing.header + bytes(outgoing.body))
        return None


@server_mutant(
    "better-server-queues-replies",
    runs="server",
    stands_for="Writes to a transport of an event loop, without waiting until they have left.",
    found_by=("servers.better.deaf-readers-cost-little",),
)
class QueuesReplies(RobustServer):
    """Keeps every reply in memory until its peer reads it."""

    session_class = _Queues
