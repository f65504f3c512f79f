"""What the tap costs: EXIST, and PUT with GET of small and large values, to a mock server directly and through a tap, in turns.

Each figure is the median of all exchanges of a round, so that what else the machine does counts little.
"""

from __future__ import annotations

import contextlib
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from benchmarks.comparison import Comparison, Contender
from benchmarks.servers import started
from wire.keys import any_key
from wire.lm.frames import Description, Request, encode_request
from wire.lm.profile import lm_profile
from wire.release import KNOWN_RELEASES, Release

_RELEASE: Final = Release.parse(KNOWN_RELEASES[-1])
_PROFILE: Final = lm_profile(_RELEASE)
_KEY: Final = any_key(_RELEASE)
SIZES: Final = {"EXIST": None, "PUT and GET, 4 KiB": 4 << 10, "PUT and GET, 8 MiB": 8 << 20}
"""Bytes of the value, by the name of the comparison; None for an EXIST."""
_NOTE: Final = "A tap between client and mock, each a process of its own; figures are medians of single exchanges."


@contextlib.contextmanager
def opened() -> Iterator[Sequence[Comparison]]:
    """The comparisons, while a mock and a tap before it run."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as ends:
        server = ends.enter_context(started("harness.cli.main", "serve")).port
        words = ("tap", "--listen", "127.0.0.1:0", "--to", f"127.0.0.1:{server}", "--out", f"{folder}/tap.jsonl")
        tap = ends.enter_context(started("harness.cli.main", *words)).port
        clients = {name: ends.enter_context(_connected(port)) for name, port in (("direct", server), ("tap", tap))}
        yield [_comparison(name, size, clients) for name, size in SIZES.items()]


def _comparison(name: str, size: int | None, clients: Mapping[str, _Client]) -> Comparison:
    contenders = tuple(Contender(way, _median(client, size)) for way, client in clients.items())
    return Comparison(name, "us", "less", contenders, note=_NOTE)


def _median(client: _Client, size: int | None) -> Callable[[float], float]:
    value = b"" if size is None else bytes(range(256)) * (size // 256)

    def measure(seconds: float) -> float:
        took: list[float] = []
        until = time.perf_counter() + seconds
        while not took or time.perf_counter() < until:
            began = time.perf_counter()
            if size is None:
                client.exist()
            else:
                client.put_and_get(value)
            took.append(time.perf_counter() - began)
        return statistics.median(took) * 1e6

    return measure


class _Client:
    """A plain connection."""

    def __init__(self, link: socket.socket) -> None:
        self._socket = link
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = memoryview(bytearray(16 << 20))

    def exist(self) -> None:
        """One EXIST."""
        self._socket.sendall(encode_request(_PROFILE, Request("EXIST", _KEY)))
        self._read(_PROFILE.header.reply_size)

    def put_and_get(self, value: bytes) -> None:
        """One PUT and one GET."""
        about = Description(len(value), "BINARY", "uint8", (len(value), 0, 0, 0))
        self._socket.sendall(encode_request(_PROFILE, Request("PUT", _KEY, about)))
        self._socket.sendall(value)
        self._socket.sendall(encode_request(_PROFILE, Request("GET", _KEY)))
        self._read(_PROFILE.header.reply_size + len(value))

    def _read(self, size: int) -> None:
        while size:
            count = self._socket.recv_into(self._buffer, size)
            if not count:
                raise ConnectionError(f"the connection ended, and {size} bytes were still to come")
            size -= count


@contextlib.contextmanager
def _connected(port: int) -> Iterator[_Client]:
    with socket.create_connection(("127.0.0.1", port)) as link:
        yield _Client(link)
