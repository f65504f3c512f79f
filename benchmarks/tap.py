"""What the tap costs: EXIST, and PUT with GET of small and large values, to a mock server directly and through a tap, in turns.

Each figure is the median of all exchanges, so that what else the machine does counts little.

.venv/bin/python -m benchmarks.tap
"""

from __future__ import annotations

import contextlib
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Final

from wire.keys import any_key
from wire.lm.frames import Description, Request, encode_request
from wire.lm.profile import lm_profile
from wire.release import KNOWN_RELEASES, Release

_RELEASE: Final = Release.parse(KNOWN_RELEASES[-1])
_PROFILE: Final = lm_profile(_RELEASE)
_KEY: Final = any_key(_RELEASE)
_ROUNDS: Final = 7
_SIZES: Final = {"EXIST": (None, 400), "PUT and GET, 4 KiB": (4 << 10, 300), "PUT and GET, 8 MiB": (8 << 20, 8)}


class _Client:
    """A plain connection."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
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

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def _read(self, size: int) -> None:
        while size:
            size -= self._socket.recv_into(self._buffer, size)


def _work(client: _Client, size: int | None) -> Callable[[], None]:
    if size is None:
        return client.exist
    value = bytes(range(256)) * (size // 256)
    return lambda: client.put_and_get(value)


def _seconds(work: Callable[[], None], times: int) -> list[float]:
    took = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        took.append(time.perf_counter() - begin)
    return took


def main() -> None:
    """Measure, and print a table."""
    print("| | direct | through the tap | ratio |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as ends:
        server = ends.enter_context(_running("serve"))
        to = f"127.0.0.1:{server}"
        tap = ends.enter_context(_running("tap", "--listen", "127.0.0.1:0", "--to", to, "--out", f"{folder}/tap.jsonl"))
        for name, (size, times) in _SIZES.items():
            clients = [_Client(server), _Client(tap)]
            works = [_work(client, size) for client in clients]
            for work in works:
                work()
            took: list[list[float]] = [[], []]
            for _ in range(_ROUNDS):
                for work, mine in zip(works, took, strict=True):
                    mine.extend(_seconds(work, times))
            direct, tapped = (statistics.median(each) for each in took)
            print(f"| {name} | {direct * 1000:.3f} ms | {tapped * 1000:.3f} ms | {tapped / direct:.1f} |", flush=True)
            for client in clients:
                client.close()


@contextlib.contextmanager
def _running(*words: str) -> Iterator[int]:
    """A command that prints where it listens, in a process of its own; the port."""
    with subprocess.Popen([sys.executable, "-m", "harness.cli.main", *words], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            found = re.search(r"listens on (?:lm://)?127\.0\.0\.1:(\d+)", process.stdout.readline())
            assert found is not None
            yield int(found[1])
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
