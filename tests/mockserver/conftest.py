"""A raw client for the tests of the mock server, and servers that are stopped when a test ends."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from accepted_keys import KEYS
from stored_body import BODY

from mockserver.faults import parse_plan
from mockserver.lm import LmServer
from mockserver.records import Exchange
from wire.lm.frames import Description, Reply, Request, decode_reply, encode_request
from wire.lm.profile import KEY_FIELD_SIZE, LmProfile, lm_profile
from wire.release import Release


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "shows(fault): a test in which the fault does what it says, by the bytes and by the journal"
    )


class RawClient:
    """Sends bytes and reports what comes back; never judges."""

    def __init__(self, server: LmServer, timeout: float = 10) -> None:
        self.profile: LmProfile = server.profile
        self.key = KEYS.get(str(server.release), "model@1@0@ab@half")
        self.socket = socket.create_connection(server.address, timeout)

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

    def silent(self) -> bool:
        """Whether nothing more comes, as far as a short wait can tell."""
        self.socket.settimeout(0.05)
        try:
            self.socket.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return True
        else:
            return False
        finally:
            self.socket.settimeout(10)

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

        def dial_one(server: LmServer, **options: Any) -> RawClient:
            client = RawClient(server, **options)
            stack.callback(client.close)
            return client

        yield dial_one


@pytest.fixture(params=list(KEYS))
def server(request: pytest.FixtureRequest, start: Callable[..., LmServer]) -> LmServer:
    """A server without faults, once for every generation of the wire."""
    return start(request.param)


@pytest.fixture(params=["0.3.1", "0.5.6"])
def stocked(request: pytest.FixtureRequest, start: Callable[..., LmServer]) -> LmServer:
    """A server of an old release (no location) or of the newest, with a value under the key that clients use."""
    server = start(request.param)
    server.preload(KEYS[request.param], Description(len(BODY), "KV_2LTD", "uint8", (1, 1, 1, len(BODY))), BODY)
    return server


@pytest.fixture
def misbehave(stocked: LmServer) -> Callable[..., None]:
    """Gives the stocked server faults, written as for ``--fault``."""
    return lambda *texts: stocked.set_faults(parse_plan(texts))


@pytest.fixture
def honest(stocked: LmServer, dial: Callable[[LmServer], RawClient]) -> dict[str, bytes]:
    """The bytes that the stocked server answers without faults: a hit, a miss, and an EXIST that says yes."""
    client, size = dial(stocked), stocked.profile.header.reply_size
    client.request("GET")
    hit = client.read(size + len(BODY))
    client.request("GET", client.key.replace("model", "other"))
    miss = client.read(size)
    client.request("EXIST")
    return {"hit": hit, "miss": miss, "yes": client.read(size)}


@pytest.fixture
def caller(stocked: LmServer, honest: dict[str, bytes], dial: Callable[[LmServer], RawClient]) -> RawClient:
    """A client of the stocked server, on its second connection."""
    return dial(stocked)


@pytest.fixture
def finished(stocked: LmServer) -> Callable[..., Exchange]:
    """Waits for the last exchange of the second connection to be done."""

    def wait(command: str | None = None, connection: int = 2) -> Exchange:
        return stocked.journal.wait_for(
            lambda journal: (last := journal.last_exchange(command, connection)) and last.done and last
        )

    return wait


@pytest.fixture
def client(server: LmServer, dial: Callable[[LmServer], RawClient]) -> RawClient:
    """A client of that server."""
    return dial(server)


@pytest.fixture(params=[release for release in KEYS if lm_profile(Release.parse(release)).has_location])
def located(request: pytest.FixtureRequest, start: Callable[..., LmServer], dial: Callable[[LmServer], RawClient]) -> RawClient:
    """A client of a server whose wire has a location, once for every generation of it."""
    return dial(start(request.param))
