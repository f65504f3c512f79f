"""Raw conversations with a server, for cases in which two servers are compared: no client takes part."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from harness.failure import TargetUnavailable
from harness.peers import request_frame
from harness.tape import TAPES
from harness.tape.connection import TapedSocket
from harness.targets import Server
from wire.errors import DecodeError
from wire.lm.enums import CODES
from wire.lm.frames import Request as Frame
from wire.lm.frames import decode_reply, encode_request, header_numbers
from wire.lm.profile import LmProfile, lm_profile
from wire.release import Release

PATIENCE: Final = 10.0


@dataclass(frozen=True)
class Request:
    """One request: a command for a key of the contract, the payload of a PUT, and the size of the pieces it is sent in."""

    command: str
    key: Mapping[str, Any]
    payload: bytes
    piece: int


def answers(release: Release, server: Server, requests: Sequence[Request]) -> list[bytes]:
    """The reply of a server to each request, empty where none is due; sent one after the other on one connection.

    Whether a server stays silent where it should shows in the reply that follows; the last request is a HEALTH. A reply that
    breaks off, does not come or cannot be read ends the conversation: it is kept as it came, and the rest is empty.

    Raises:
        TargetUnavailable: nobody listens there.
    """
    profile = lm_profile(release)
    asked = [*requests, Request("HEALTH", requests[0].key, b"", 1 << 20)]
    found: list[bytes] = []
    with _connected(server) as connection, contextlib.suppress(ConnectionError, TimeoutError):
        for request in asked:
            payload = request.payload if request.command == "PUT" else b""
            _send(connection, request_frame(release, request.command, request.key, payload), request.piece)
            if request.command in {"PUT", "LIST"}:
                found.append(b"")
                continue
            header = _exactly(connection, profile.header.reply_size)
            found.append(header)
            try:
                length = decode_reply(profile, header).about.length
            except DecodeError:
                break
            found[-1] += _exactly(connection, length if request.command == "GET" else 0)
    return found + [b""] * (len(asked) - len(found))


@dataclass(frozen=True)
class Act:
    """Bytes on one of several connections: a header, what follows it, whether a reply is due, and whether the sender ends."""

    connection: int
    header: bytes
    payload: bytes = b""
    answered: bool = True
    end: bool = False
    piece: int = 1 << 20


def reactions(release: Release, server: Server, key: str, acts: Sequence[Act]) -> list[bytes]:
    """What a server does after each act: the bytes that come, or those and the word ``closed``.

    After an act that is not the end of its connection comes a HEALTH with a good ``key``, so that silence shows, and so that the
    act is over before the next one on another connection begins.

    Raises:
        TargetUnavailable: nobody listens there.
    """
    profile = lm_profile(release)
    health = encode_request(profile, Frame("HEALTH", key))
    found: list[bytes] = []
    with contextlib.ExitStack() as stack:
        connections: dict[int, socket.socket] = {}
        for act in acts:
            if act.connection not in connections:
                connections[act.connection] = stack.enter_context(_connected(server))
            connection = connections[act.connection]
            with contextlib.suppress(OSError):
                _send(connection, act.header + act.payload + (b"" if act.end else health), act.piece)
                if act.end:
                    connection.shutdown(socket.SHUT_WR)
            came, closed = _reaction(connection, profile, act)
            found.append(came + (b"closed" if closed else b""))
            if closed:
                connections.pop(act.connection).close()
    return found


def _reaction(connection: socket.socket, profile: LmProfile, act: Act) -> tuple[bytes, bool]:
    """The bytes that came, and whether the connection ended; whether in order or by a reset is a matter of timing."""
    size = profile.header.reply_size
    came = b""
    try:
        if act.end:
            while piece := connection.recv(1 << 16):
                came += piece
            return came, True
        for body in (True, False) if act.answered else (False,):
            header = _exactly(connection, size)
            came += header
            if len(header) < size:
                return came, True
            numbers = header_numbers(profile.header.reply, header)
            due = numbers["length"] if body and numbers["code"] == CODES["SUCCESS"] else 0
            payload = _exactly(connection, due)
            came += payload
            if len(payload) < due:
                return came, True
    except TimeoutError:
        return came + b"silence, ", True
    except OSError:
        return came, True
    return came, False


def _connected(server: Server) -> socket.socket:
    try:
        connection = TapedSocket.of(socket.create_connection((server.host, server.port), timeout=PATIENCE), TAPES.ours)
    except OSError as error:
        raise TargetUnavailable(f"the server at {server.host}:{server.port} is gone: {error.strerror or error}") from None
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _send(connection: socket.socket, data: bytes, piece: int) -> None:
    for start in range(0, len(data), piece):
        connection.sendall(data[start : start + piece])


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            return data
        data += piece
    return data
