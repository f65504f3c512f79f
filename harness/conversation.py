"""Raw conversations with a server, for cases in which two servers are compared: no client takes part."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from harness.reference.values import key_from_json
from harness.targets import Server
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

    Whether a server stays silent where it should shows in the reply that follows; the last request is a HEALTH.
    """
    profile = lm_profile(release)
    found = []
    with socket.create_connection((server.host, server.port), timeout=PATIENCE) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for request in [*requests, Request("HEALTH", requests[0].key, b"", 1 << 20)]:
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
            length = decode_reply(profile, header).about.length
            found.append(header + _exactly(connection, length if request.command == "GET" else 0))
    return found


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            return data
        data += piece
    return data
