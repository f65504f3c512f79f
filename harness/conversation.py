"""Raw conversations with a server, for cases in which two servers are compared: no client takes part."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from harness.failure import TargetUnavailable
from harness.reference.values import key_from_json
from harness.targets import Server
from wire.errors import DecodeError
from wire.keys import format_key
from wire.lm.frames import NOTHING, Description, decode_reply, encode_request
from wire.lm.frames import Request as Frame
from wire.lm.profile import lm_profile
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
            about = Description(len(payload), "BINARY", "uint8", (len(payload), 0, 0, 0)) if payload else NOTHING
            data = (
                encode_request(profile, Frame(request.command, format_key(release, key_from_json(request.key)), about)) + payload
            )
            for start in range(0, len(data), request.piece):
                connection.sendall(data[start : start + request.piece])
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


def _connected(server: Server) -> socket.socket:
    try:
        connection = socket.create_connection((server.host, server.port), timeout=PATIENCE)
    except OSError as error:
        raise TargetUnavailable(f"the server at {server.host}:{server.port} is gone: {error.strerror or error}") from None
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            return data
        data += piece
    return data
