"""Defects in how a server holds a conversation."""

from __future__ import annotations

import contextlib
import socket

from harness.mutants.mutant import server_mutant
from mockserver.endings import ConnectionEndedError, Ending
from mockserver.lm import LmServer
from mockserver.lm.requests import ServerRequest
from mockserver.lm.session import Session
from mockserver.records import RunningExchange
from wire.lm.frames import Reply, encode_reply


class _Goodbye(Session):
    def _converse(self) -> Ending:
        ending = super()._converse()
        with contextlib.suppress(ConnectionEndedError):
            self._connection.send(encode_reply(self._desk.profile, Reply("FAIL")))
        return ending


@server_mutant("server-says-goodbye", stands_for="A last reply that tells what was wrong, as other protocols have it.")
class SaysGoodbye(LmServer):
    """Sends a reply of failure before it closes a connection."""

    session_class = _Goodbye


class _Answering(Session):
    def _exchange(self, header: bytes) -> Ending | None:
        ending = super()._exchange(header)
        if ending is None or ending.kind != "bad request":
            return ending
        self._connection.send(encode_reply(self._desk.profile, Reply("FAIL")))
        return None


@server_mutant("server-answers-bad-requests", stands_for="An exception caught around one request instead of one connection.")
class AnswersBadRequests(LmServer):
    """Answers a request that it cannot read with failure, and goes on."""

    session_class = _Answering


class _OneRequest(Session):
    def _exchange(self, header: bytes) -> Ending | None:
        return super()._exchange(header) or Ending("no data", "one request is enough")


@server_mutant(
    "server-closes-after-one-request",
    stands_for="A connection for each request, as in HTTP 1.0.",
    found_by=("servers.agreement.mock-equals-live",),
)
class OneRequest(LmServer):
    """Closes a connection after its first request."""

    session_class = _OneRequest


class _OneRecv(Session):
    def _converse(self) -> Ending:
        size = len(self._header)
        while True:
            try:
                count = self._connection.socket.recv_into(self._header)
            except OSError:
                return Ending("peer reset")
            if count < size:
                return Ending("cut header", f"{count} of {size} bytes") if count else Ending("peer closed")
            ending = self._exchange(bytes(self._header))
            if ending is not None:
                return ending


@server_mutant("server-header-in-one-recv", stands_for="A request header read with one recv.")
class OneRecv(LmServer):
    """Takes what one recv gives for a whole request."""

    session_class = _OneRecv


class _OneAtATime(Session):
    def _serve(self, exchange: RunningExchange, request: ServerRequest) -> Ending | None:
        ending = super()._serve(exchange, request)
        with contextlib.suppress(OSError):
            if request.command != "PUT" and self._connection.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
                return Ending("bad request", "more than one")
        return ending


@server_mutant("server-takes-one-at-a-time", stands_for="A request that comes before its turn taken for a fault of the client.")
class OneAtATime(LmServer):
    """Closes a connection on which the next request is there before a reply has left."""

    session_class = _OneAtATime


class _NotToHalf(Session):
    def _serve(self, exchange: RunningExchange, request: ServerRequest) -> Ending | None:
        with contextlib.suppress(OSError):
            if not self._connection.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
                return Ending("peer closed")
        return super()._serve(exchange, request)


@server_mutant("server-ignores-half-open", stands_for="A peer that sends no more taken for one that is gone.")
class NotToHalf(LmServer):
    """Gives no reply to a peer that has closed its side."""

    session_class = _NotToHalf


class _WaitsAtTheEnd(Session):
    def _converse(self) -> Ending:
        ending = super()._converse()
        if ending.kind in {"peer closed", "cut header"}:
            self._connection.send(b"?")
        return ending


@server_mutant("server-asks-at-the-end", stands_for="A prompt, or a keep-alive, where a stream has ended.")
class AsksAtTheEnd(LmServer):
    """Sends a byte when its peer has closed."""

    session_class = _WaitsAtTheEnd
