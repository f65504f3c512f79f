"""A raw client for the tests of the mock server, and servers that are stopped when a test ends."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from accepted_keys import KEYS

from mockserver.lm import LmServer
from wire.lm.frames import Description, Reply, Request, decode_reply, encode_request
from wire.lm.profile import KEY_FIELD_SIZE, LmProfile, lm_profile
from wire.release import Release


class RawClient:
    """Sends bytes and reports what comes back; never judges."""

    def __init__(self, server: LmServer) -> None:
        self.profile: LmProfile = server.profile
        self.key = KEYS.get(str(server.release), "model@1@0@ab@half")
        self.socket = socket.create_connection(server.address)
        self.socket.settimeout(10)

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def request(self, command: str, key: str | None = None, about: Description | None = None, payload: bytes = b"") -> None:
        request = Request(command, self.key if key is None else key, about or Description(0, "KV_2LTD", "float16", (0, 0, 0, 0)))
        self.send(encode_request(self.profile, request) + payload)

    def put(self, payload: bytes, key: str | None = None) -> None:
        self.request("PUT", key, Description(len(payload), "KV_2LTD", "bfloat16", (2, 3, 4, 5)), payload)

    def raw(self, key: bytes | None = None, **numbers: int) -> bytes:
        values = {"command": 5, "length": 0, "format": 1, "dtype": 2, **numbers}
        fields = self.profile.header.request
        field = self.key.encode() if key is None else key
        return struct.pack(f"<{len(fields)}i", *(values.get(name, 0) for name in fields)) + field.ljust(KEY_FIELD_SIZE)

    def read(self, size: int) -> bytes:
        data = b""
        while len(data) < size and (more := self.socket.recv(size - len(data))):
            data += more
        return data

    def reply(self) -> Reply:
        return decode_reply(self.profile, self.read(self.profile.header.reply_size))

    def rest(self) -> tuple[bytes, str]:
        """Everything until the end, and whether that is a ``fin`` or a ``rst``."""
        data = b""
        while True:
            try:
                more = self.socket.recv(1 << 16)
            except ConnectionResetError:
                return data, "rst"
            if not more:
                return data, "fin"
            data += more

    def finish(self) -> None:
        """Close our half: the server sees the end of our requests and can still answer."""
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self) -> None:
        self.socket.close()


@pytest.fixture
def start() -> Iterator[Callable[..., LmServer]]:
    """Starts servers that are stopped when the test ends."""
    with contextlib.ExitStack() as stack:

        def start_one(release: str = "0.5.6", **options: Any) -> LmServer:
            return stack.enter_context(LmServer(release, **options))

        yield start_one


@pytest.fixture
def dial() -> Iterator[Callable[[LmServer], RawClient]]:
    """Opens raw clients that are closed when the test ends."""
    with contextlib.ExitStack() as stack:

        def dial_one(server: LmServer) -> RawClient:
            client = RawClient(server)
            stack.callback(client.close)
            return client

        yield dial_one


@pytest.fixture(params=list(KEYS))
def server(request: pytest.FixtureRequest, start: Callable[..., LmServer]) -> LmServer:
    """A server without faults, once for every generation of the wire."""
    return start(request.param)


@pytest.fixture
def client(server: LmServer, dial: Callable[[LmServer], RawClient]) -> RawClient:
    """A client of that server."""
    return dial(server)


@pytest.fixture(params=[release for release in KEYS if lm_profile(Release.parse(release)).has_location])
def located(request: pytest.FixtureRequest, start: Callable[..., LmServer], dial: Callable[[LmServer], RawClient]) -> RawClient:
    """A client of a server whose wire has a location, once for every generation of it."""
    return dial(start(request.param))
