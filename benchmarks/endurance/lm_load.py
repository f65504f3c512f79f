"""The parts of a load on the lm mock: a crowd, churn, volume, and slow peers beside fast ones."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from benchmarks.endurance.lm import LmPeer, PeerEndedError, request
from benchmarks.endurance.part import Part, milliseconds
from benchmarks.endurance.values import LARGEST, digest, value
from benchmarks.servers import StartedServer

HELD_UP: Final = 1.0
"""Seconds beyond which a fast exchange counts as held up by slow peers."""
_CROWD_SIZE: Final = 16 << 10
_KEPT: Final = 64
"""Names that the volume goes round in, so that the store stays small."""
_PIECE: Final = 64 << 10
_ABSENT: Final = 1 << 40
"""A name that nobody stores anything under."""


def crowd(server: StartedServer, connections: int, rounds: int) -> Part:
    """All connections at once: each has a PUT, a GET, an EXIST and an EXIST of nothing under way before any reply is read."""
    lost: list[str] = []
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        peers: list[LmPeer] = []
        for number in range(connections):
            try:
                peers.append(stack.enter_context(LmPeer((server.host, server.port))))
            except PeerEndedError as ended:
                lost.append(f"connection {number} of the crowd: {ended}")
        stood = time.monotonic() - began
        held = server.figures()
        for version in range(rounds):
            sent = [(number, peer) for number, peer in enumerate(peers) if _asked(lost, number, peer, version)]
            for number, peer in sent:
                _answered(lost, number, peer, version)
    took = time.monotonic() - began
    exchanges = 4 * rounds * connections
    return Part(
        "crowd",
        f"{connections} connections at once stood after {stood:.1f} s ({held}); {exchanges} exchanges in {took:.1f} s",
        tuple(lost),
    )


def _asked(lost: list[str], number: int, peer: LmPeer, version: int) -> bool:
    data = value(number, version, _CROWD_SIZE + number)
    others = (request("GET", number), request("EXIST", number), request("EXIST", _ABSENT + number))
    try:
        peer.send(b"".join((request("PUT", number, len(data)), data, *others)))
    except PeerEndedError as ended:
        lost.append(f"connection {number} of the crowd, round {version}: {ended}")
        return False
    return True


def _answered(lost: list[str], number: int, peer: LmPeer, version: int) -> None:
    name = f"connection {number} of the crowd, round {version}"
    due = digest(value(number, version, _CROWD_SIZE + number))
    try:
        found, there, absent = peer.value(), peer.reply().code, peer.reply().code
    except PeerEndedError as ended:
        lost.append(f"{name}: {ended}")
        return
    if found is None or digest(found) != due:
        lost.append(f"{name}: GET brought {'nothing' if found is None else 'another value'}")
    if (there, absent) != ("SUCCESS", "FAIL"):
        lost.append(f"{name}: EXIST said {there} of a value that is there and {absent} of one that is not")


def _leave(peer: LmPeer, _: int) -> None:
    peer.close()


def _reset(peer: LmPeer, _: int) -> None:
    peer.reset()


def _half_a_header(peer: LmPeer, number: int) -> None:
    peer.send(request("GET", number)[:50])
    peer.close()


def _half_a_payload(peer: LmPeer, number: int) -> None:
    peer.send(request("PUT", _ABSENT + number, 5000) + bytes(2500))
    peer.reset()


def _deaf(peer: LmPeer, number: int) -> None:
    peer.send(request("GET", number))
    peer.reset()


def _whole(peer: LmPeer, number: int) -> None:
    data = value(number, 1, 2000)
    peer.put(number, data)
    found = peer.get(number)
    peer.close()
    if found is None or digest(found) != digest(data):
        raise PeerEndedError("GET did not bring what was put")


_VISITS: Final[tuple[Callable[[LmPeer, int], None], ...]] = (_leave, _reset, _half_a_header, _half_a_payload, _deaf, _whole)
"""What a connection that soon ends does: nothing, a reset, half a request, no reading, or one PUT with its GET."""


def churn(server: StartedServer, connections: int) -> Part:
    """Connections that end soon, most of them badly; a value that was stored before must be there afterwards."""
    lost: list[str] = []
    before, kept = server.figures(), value(_KEPT, 7, 300_000)
    began = time.monotonic()
    with LmPeer((server.host, server.port)) as steady:
        steady.put(_ABSENT - 1, kept)
        for number in range(connections):
            visit = _VISITS[number % len(_VISITS)]
            try:
                visit(LmPeer((server.host, server.port)), number % _KEPT)
            except PeerEndedError as ended:
                lost.append(f"connection {number} of the churn ({visit.__name__.strip('_').replace('_', ' ')}): {ended}")
        took = time.monotonic() - began
        found = steady.get(_ABSENT - 1)
        if found is None or digest(found) != digest(kept):
            lost.append("the value that was stored before the churn")
    after = server.settled(before, HELD_UP * 10)
    return Part("churn", f"{connections} connections in {took:.1f} s; {before} before, {after} after", tuple(lost))


def volume(server: StartedServer, total: int, peers: int, size: int) -> Part:
    """So many bytes into the mock and out of it again, over several connections at once, every value checksummed."""
    share = max(1, total // size // peers)
    lost: list[str] = []
    began = time.monotonic()
    with ThreadPoolExecutor(peers) as pool:
        for names in pool.map(lambda number: _carry(server, number, share, size), range(peers)):
            lost.extend(names)
    took = time.monotonic() - began
    moved = share * peers * size
    return Part(
        "volume",
        f"{moved / 1e9:.2f} GB put and {moved / 1e9:.2f} GB got in values of {size >> 10} KiB over {peers} connections "
        f"in {took:.1f} s, checksums included",
        tuple(lost),
    )


def _carry(server: StartedServer, peer_number: int, count: int, size: int) -> list[str]:
    lost = []
    names = max(1, _KEPT * (1 << 20) // size)
    try:
        with LmPeer((server.host, server.port)) as peer:
            for index in range(count):
                number, data = 10_000 * (peer_number + 1) + index % names, value(peer_number, index, size)
                peer.put(number, data)
                found = peer.get(number)
                if found is None or digest(found) != digest(data):
                    lost.append(f"value {index} of connection {peer_number}: {'nothing' if found is None else 'another value'}")
    except PeerEndedError as ended:
        lost.append(f"connection {peer_number} of the volume: {ended}")
    return lost


def slow(server: StartedServer, peers: int, exchanges: int) -> Part:
    """Slow readers and slow writers beside a fast peer, which must not be held up; the slow ones get their values as well."""
    lost: list[str] = []
    with LmPeer((server.host, server.port)) as fast:
        large = value(1, 1, LARGEST)
        fast.put(_ABSENT - 2, large)
        alone = _exchanges(fast, exchanges, lost)
        over = threading.Event()
        with ThreadPoolExecutor(2 * peers) as pool:
            readers = [pool.submit(_read_slowly, server, over, large) for _ in range(peers)]
            writers = [pool.submit(_write_slowly, server, over, number) for number in range(peers)]
            try:
                beside = _exchanges(fast, exchanges, lost)
            finally:
                over.set()
            for kind, each in (("reader", readers), ("writer", writers)):
                lost += [f"slow {kind} {number}: {words}" for number, one in enumerate(each) if (words := one.result())]
    if max(beside) > HELD_UP:
        lost.append(f"the time of a fast exchange beside slow peers: {max(beside):.2f} s, at most {HELD_UP:g} s are due")
    return Part(
        "slow peers",
        f"{exchanges} fast exchanges alone: {milliseconds(alone)}; beside {peers} slow readers and {peers} slow writers: "
        f"{milliseconds(beside)}",
        tuple(lost),
    )


def _exchanges(peer: LmPeer, count: int, lost: list[str]) -> list[float]:
    took = []
    for index in range(count):
        data = value(2, index, 20_000)
        began = time.monotonic()
        peer.put(_ABSENT - 3, data)
        found = peer.get(_ABSENT - 3)
        took.append(time.monotonic() - began)
        if found is None or digest(found) != digest(data):
            lost.append(f"fast value {index}")
    return took


def _read_slowly(server: StartedServer, over: threading.Event, large: bytes) -> str:
    """Read a large value in small pieces while the fast peer works, the rest at once; what was wrong."""
    try:
        with LmPeer((server.host, server.port), receive_buffer=_PIECE) as peer:
            peer.send(request("GET", _ABSENT - 2))
            found = memoryview(bytearray(peer.reply().about.length))
            got = 0
            while got < len(found):
                got += peer.read_some(found[got : got + _PIECE])
                over.wait(0.05)
    except PeerEndedError as ended:
        return str(ended)
    return "" if digest(found) == digest(large) else "another value"


def _write_slowly(server: StartedServer, over: threading.Event, number: int) -> str:
    """Put a large value in small pieces, then get it back."""
    data = memoryview(value(number, 3, LARGEST))
    name = _ABSENT - 10 - number
    try:
        with LmPeer((server.host, server.port)) as peer:
            peer.send(request("PUT", name, len(data)))
            for begin in range(0, len(data), _PIECE):
                peer.send(data[begin : begin + _PIECE])
                over.wait(0.05)
            found = peer.get(name)
    except PeerEndedError as ended:
        return str(ended)
    return "" if found is not None and digest(found) == digest(data) else "another value"
