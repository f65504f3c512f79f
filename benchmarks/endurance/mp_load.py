"""The parts of a load on the multiprocess mock: a crowd, churn, volume, and slow peers beside fast ones."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import zmq

from benchmarks.endurance.lm_load import HELD_UP
from benchmarks.endurance.mp import RELEASE, Text, load, peer, sockets, store
from benchmarks.endurance.part import Part, milliseconds
from benchmarks.endurance.values import digest
from benchmarks.servers import StartedServer
from harness.mp.exchanges import MpPeerFailed
from harness.mp.peer import Engine, MpPeer
from harness.mp.vandals import greeting, message, ready
from wire.mp.operations import operation_table
from wire.mp.values import pack

POOL: Final = 256 << 20
"""Bytes of the pool of the mock."""
_LARGE: Final = {"num_layers": 16, "hidden_dim_size": 1024}
"""A layout whose chunks are of a megabyte."""
_ROUND: Final = 16
"""Texts that are stored before the cache is cleared: well below what the pool takes without eviction."""
_CHUNKS: Final = 8
_UNREAD: Final = 200
"""Replies that a slow reader leaves where they are: fewer than a ROUTER socket holds for one peer, as beyond that the mock waits,
which the real server does as well."""
_NOOP: Final = pack(operation_table(RELEASE).named("NOOP").number)

Context = zmq.Context[zmq.Socket[bytes]]


def crowd(server: StartedServer, connections: int, rounds: int) -> Part:
    """All peers at once: each has NOOPs under way before any reply is read, and stores, finds and loads a text of its own."""
    lost: list[str] = []
    began = time.monotonic()
    with sockets() as context, contextlib.ExitStack() as stack:
        peers = [stack.enter_context(peer(server, context)) for _ in range(connections)]
        stood = time.monotonic() - began
        held = server.figures()
        engines = [each.register(1000 + number, "endurance") for number, each in enumerate(peers)]
        for version in range(rounds):
            asked = [each.send("NOOP") for each in peers]
            for number, (each, uid) in enumerate(zip(peers, asked, strict=True)):
                with _noting(lost, f"NOOP of peer {number}, round {version}"):
                    each.result("NOOP", uid)
            for number, (each, engine) in enumerate(zip(peers, engines, strict=True)):
                with _noting(lost, f"the text of peer {number}, round {version}"):
                    _carry(each, engine, Text(number, version, 2))
        for each, engine in zip(peers, engines, strict=True):
            each.unregister(engine)
        peers[0].clear()
    took = time.monotonic() - began
    told = f"{connections} peers at once stood after {stood:.1f} s ({held}); {rounds} NOOPs and texts of each in {took:.1f} s"
    return Part("crowd", told, tuple(lost))


class _noting:  # noqa: N801  # reads as a statement
    """What a peer does not get is lost, by this name."""

    def __init__(self, lost: list[str], name: str) -> None:
        self._lost = lost
        self._name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, MpPeerFailed):
            self._lost.append(f"{self._name}: {error}")
            return True
        return False


def _carry(by: MpPeer, engine: Engine, text: Text) -> None:
    if not store(by, engine, text):
        raise MpPeerFailed("SRV-MP-006", "it was not taken")
    _require(load(by, engine, text), text, engine)


def _require(found: list[bytes] | None, text: Text, engine: Engine) -> None:
    due = [digest(chunk) for chunk in text.contents(engine.chunk_bytes)]
    if found is None or [digest(chunk) for chunk in found] != due:
        raise MpPeerFailed("SRV-MP-014", "it is not there" if found is None else "other bytes came")


def _leave(server: StartedServer, context: Context) -> None:
    peer(server, context).close()


def _deaf(server: StartedServer, context: Context) -> None:
    """Ask and leave without the reply."""
    with peer(server, context) as one:
        for _ in range(5):
            one.send("NOOP")


def _whole(server: StartedServer, context: Context) -> None:
    with peer(server, context) as one:
        one.noop()


def _raw(data: bytes) -> Callable[[StartedServer, Context], None]:
    def visit(server: StartedServer, _: Context) -> None:
        with socket.create_connection((server.host, server.port)) as one:
            one.sendall(data)

    return visit


_VISITS: Final[dict[str, Callable[[StartedServer, Context], None]]] = {
    "that leaves": _leave,
    "that does not wait": _deaf,
    "with half a greeting": _raw(greeting()[:30]),
    "with half a message": _raw(greeting() + ready() + message([b"\x01", _NOOP])[:3]),
    "with a NOOP": _whole,
}


def churn(server: StartedServer, connections: int) -> Part:
    """Peers that leave soon, most of them badly; what was stored before must be there afterwards."""
    lost: list[str] = []
    kept = Text(1, 1000, 4)
    before = server.figures()
    began = time.monotonic()
    with sockets() as context, peer(server, context) as steady:
        engine = steady.register(7, kept.model)
        store(steady, engine, kept)
        for number in range(connections):
            name = list(_VISITS)[number % len(_VISITS)]
            with _noting(lost, f"peer {number} of the churn, one {name}"):
                _VISITS[name](server, context)
        took = time.monotonic() - began
        with _noting(lost, "the text that was stored before the churn"):
            _require(load(steady, engine, kept), kept, engine)
        steady.unregister(engine)
        steady.clear()
    after = server.settled(before, HELD_UP * 10)
    return Part("churn", f"{connections} peers in {took:.1f} s; {before} before, {after} after", tuple(lost))


def volume(server: StartedServer, total: int) -> Part:
    """So many bytes into the pool and out of it again, every chunk checksummed, the cache cleared now and then."""
    lost: list[str] = []
    began = time.monotonic()
    with sockets() as context, peer(server, context) as one:
        engine = one.register(8, "endurance", **_LARGE)
        count = max(1, total // (engine.chunk_bytes * _CHUNKS))
        for number in range(count):
            with _noting(lost, f"text {number} of the volume"):
                _carry(one, engine, Text(number, 2000, _CHUNKS))
            if number % _ROUND == _ROUND - 1:
                one.clear()
        one.clear()
        one.unregister(engine)
    took = time.monotonic() - began
    moved = count * engine.chunk_bytes * _CHUNKS / 1e9
    told = f"{moved:.2f} GB stored and {moved:.2f} GB loaded in chunks of {engine.chunk_bytes >> 10} KiB in {took:.1f} s"
    return Part("volume", f"{told}, checksums included", tuple(lost))


def slow(server: StartedServer, peers: int, exchanges: int) -> Part:
    """Peers that do not read their replies, and peers that send a message byte by byte, beside a fast one."""
    lost: list[str] = []
    with sockets() as context, peer(server, context) as fast:
        alone = _exchanges(fast, exchanges, lost)
        over = threading.Event()
        with contextlib.ExitStack() as stack, ThreadPoolExecutor(peers) as pool:
            readers = [stack.enter_context(peer(server, context)) for _ in range(peers)]
            unread = [[one.send("NOOP") for _ in range(_UNREAD)] for one in readers]
            writers = [pool.submit(_write_slowly, server, over) for _ in range(peers)]
            try:
                beside = _exchanges(fast, exchanges, lost)
            finally:
                over.set()
            for number, (one, uids) in enumerate(zip(readers, unread, strict=True)):
                with _noting(lost, f"slow reader {number}"):
                    for uid in uids:
                        one.result("NOOP", uid)
            lost += [f"slow writer {number}: {words}" for number, one in enumerate(writers) if (words := one.result())]
    if max(beside) > HELD_UP:
        lost.append(f"the time of a fast exchange beside slow peers: {max(beside):.2f} s, at most {HELD_UP:g} s are due")
    told = f"{exchanges} NOOPs alone: {milliseconds(alone)}"
    return Part(
        "slow peers", f"{told}; beside {peers} slow readers and {peers} slow writers: {milliseconds(beside)}", tuple(lost)
    )


def _exchanges(by: MpPeer, count: int, lost: list[str]) -> list[float]:
    took = []
    for index in range(count):
        began = time.monotonic()
        with _noting(lost, f"fast NOOP {index}"):
            by.noop()
        took.append(time.monotonic() - began)
    return took


def _write_slowly(server: StartedServer, over: threading.Event) -> str:
    """Send a NOOP byte by byte while the fast peer works, and wait for its reply; what was wrong."""
    try:
        with socket.create_connection((server.host, server.port), timeout=30) as one:
            # A peer that speaks before the server said READY is one that ZeroMQ hangs up on.
            for data, due in ((greeting() + ready(), b"READY"), (message([b"\x01", _NOOP]), pack("OK"))):
                for byte in data:
                    one.sendall(bytes([byte]))
                    over.wait(0.02)
                got = b""
                while due not in got:
                    piece = one.recv(4096)
                    if not piece:
                        return "the server ended the connection"
                    got += piece
    except OSError as error:
        return str(error)
    return ""
