"""The load: a plain fast client in a process of its own, the same for every server.

It is asked through :class:`benchmarks.loads.Load`. PUT has no answer, so a row of PUTs ends with an EXIST, whose answer shows
that the server took them all; GET and EXIST wait for each answer. On several connections each has one request under way.
"""

from __future__ import annotations

import itertools
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.loads import Done, serve
from wire.keys import any_key
from wire.lm.frames import Description, Request, encode_request
from wire.lm.profile import LmProfile, lm_profile
from wire.release import Release

_ROOM: Final = 65 << 20
"""Bytes of the largest reply."""
_SMALL: Final = 1 << 16
_BATCH: Final = 16
"""Requests between two looks at the clock, where they are small."""


@dataclass(frozen=True)
class Job:
    """What to do, to whom, and for how long.

    Attributes:
        do: ``put``, ``get`` or ``exist``.
        port: of the server, on the loopback address.
        seconds: for about so long; at least one request is made.
        size: bytes of the value, for PUT and GET.
        connections: how many, for EXIST.
        keys: so many different ones in turn; half of those that EXIST asks for were stored.
        count: exactly so many requests instead of the time.
    """

    do: str
    port: int
    seconds: float
    size: int = 0
    connections: int = 1
    keys: int = 1
    count: int = 0


class Worker:
    """Does jobs over connections that stay open from job to job."""

    def __init__(self, profile: LmProfile) -> None:
        self._profile = profile
        self._links: dict[int, list[socket.socket]] = {}
        self._stored: set[tuple[int, int]] = set()
        """Servers, by their port, that have every second of so many keys."""
        self._asked: dict[int, list[bytes]] = {}
        """Requests to EXIST, by how many keys they are about."""
        self._room = memoryview(bytearray(_ROOM))

    def work(self, job: Job) -> Done:
        """Do a job; what is stored for it before is not counted."""
        work = {"put": self._put, "get": self._get, "exist": self._exist}[job.do]
        return work(job, self._connected(job.port, job.connections))

    def close(self) -> None:
        """End all connections."""
        for link in itertools.chain.from_iterable(self._links.values()):
            link.close()

    def _connected(self, port: int, count: int) -> list[socket.socket]:
        links = self._links.setdefault(port, [])
        while len(links) < count:
            link = socket.create_connection(("127.0.0.1", port))
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            links.append(link)
        return links[:count]

    def _request(self, command: str, number: int, size: int = 0, model: str = "value") -> bytes:
        key = any_key(self._profile.release, model=f"{model}{number}")
        about = Description(size, "KV_2LTD", "uint8", (2, 1, 1, max(size // 2, 1)))
        return encode_request(self._profile, Request(command, key, about) if command == "PUT" else Request(command, key))

    def _put(self, job: Job, links: Sequence[socket.socket]) -> Done:
        link = links[0]
        turns = itertools.cycle([self._request("PUT", number, job.size) for number in range(job.keys)])
        value = _value(job.size)
        once = self._putting(link, value)
        asks = self._request("EXIST", 0)

        def end() -> None:
            link.sendall(asks)
            self._read(link, self._profile.header.reply_size)

        return self._timed(job, lambda: once(next(turns)), end)

    @staticmethod
    def _putting(link: socket.socket, value: bytes) -> Callable[[bytes], object]:
        """Sends a header with the value behind it, which is copied where it is small."""
        if len(value) <= _SMALL:
            return lambda header: link.sendall(header + value)

        def in_two(header: bytes) -> None:
            link.send(header, socket.MSG_MORE)
            link.sendall(value)

        return in_two

    def _get(self, job: Job, links: Sequence[socket.socket]) -> Done:
        link = links[0]
        put = self._putting(link, _value(job.size))
        for number in range(job.keys):
            put(self._request("PUT", number, job.size))
        turns = itertools.cycle([self._request("GET", number) for number in range(job.keys)])
        size = self._profile.header.reply_size + job.size

        def once() -> None:
            link.sendall(next(turns))
            self._read(link, size)

        once()  # all that was put before has arrived then
        return self._timed(job, once)

    def _exist(self, job: Job, links: Sequence[socket.socket]) -> Done:
        if (job.port, job.keys) not in self._stored:
            self._stored.add((job.port, job.keys))
            for number in range(0, job.keys, 2):
                links[0].sendall(self._request("PUT", number, model=f"of{job.keys}-"))
        if job.keys not in self._asked:
            self._asked[job.keys] = [self._request("EXIST", number, model=f"of{job.keys}-") for number in range(job.keys)]
        turns = itertools.cycle(self._asked[job.keys])
        size = self._profile.header.reply_size

        def once() -> None:
            for link in links:
                link.send(next(turns))
            for link in links:
                self._read(link, size)

        once()
        done = self._timed(job, once)
        return Done(done.requests * len(links), 0, done.seconds)

    def _timed(self, job: Job, once: Callable[[], object], end: Callable[[], object] = lambda: None) -> Done:
        batch = 1 if job.size > _SMALL or job.connections > 1 else _BATCH
        requests = 0
        began = time.perf_counter()
        until = began + job.seconds
        while True:
            for _ in range(job.count or batch):
                once()
            requests += job.count or batch
            if job.count or time.perf_counter() >= until:
                break
        end()
        return Done(requests, requests * job.size, time.perf_counter() - began)

    def _read(self, link: socket.socket, size: int) -> None:
        got = 0
        while got < size:
            count = link.recv_into(self._room[got:], size - got, socket.MSG_WAITALL)
            if not count:
                raise ConnectionError(f"the server closed the connection after {got} of {size} bytes")
            got += count


def _value(size: int) -> bytes:
    return (bytes(range(256)) * (size // 256 + 1))[:size]


def main() -> None:
    """Do the jobs of standard input until it ends."""
    worker = Worker(lm_profile(Release.parse(sys.argv[1])))
    serve(worker.work, Job)
    worker.close()


if __name__ == "__main__":
    main()
