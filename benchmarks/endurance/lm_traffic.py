"""Mixed traffic on the lm mock: values put, replaced and read, reconnects, slow readers, with faults of the mock switched on.

The faults break connections, delay and stall; none of them lies, so that every reply that comes whole must be right. lm has no
operation that deletes: a value goes when another takes its place.
"""

from __future__ import annotations

import inspect
import random
from collections import Counter
from typing import Final

from benchmarks.endurance.lm import LmPeer, PeerEndedError, request
from benchmarks.endurance.values import Ledger, digest, value
from benchmarks.servers import StartedServer
from mockserver.journal import Journal

FAULTS: Final = (
    "segments:sizes=10+26+1000,command=GET,probability=0.05",
    "delay:seconds=0.02,command=EXIST,probability=0.02",
    "close-after:bytes=10,command=GET,probability=0.01",
    "close-after:bytes=body+5,reset=true,command=GET,probability=0.005",
    "close-between:command=EXIST,probability=0.01",
    "half-close:command=GET,bytes=body+8,probability=0.005",
    "drop-reply:command=EXIST,probability=0.002",
    "stall:bytes=body+3,command=GET,probability=0.002",
)
_PATIENCE: Final = 1.0
"""Seconds after which a peer gives a stalled reply up."""
_AGAIN: Final = 20
"""Times that a value is asked for while faults break what should bring it."""
_NAMES: Final = 240
_ABSENT: Final = 1 << 40
_SIZES: Final = (0, 1, 36, 1000, 4096, 30_000, 65_536, 200_000, 500_000)
_PEERS: Final = 6
_SLOW: Final = 3
_PIECE: Final = 16 << 10
_LIMITS: Final = inspect.signature(Journal).parameters
_REMEMBERED: Final[int] = _LIMITS["max_exchanges"].default
"""Exchanges, and as many closed connections, that the journal of the mock remembers."""
_KEPT_BYTES: Final[int] = _LIMITS["retain_bytes"].default
_BURST: Final = 500
_VISITORS: Final = 100


class LmTraffic:
    """Several connections, one operation after another, and readers that take a piece with each of them."""

    def __init__(self, server: StartedServer, seed: int) -> None:
        self.lost: list[str] = []
        self.counts: Counter[str] = Counter()
        self._address = (server.host, server.port)
        self._random = random.Random(seed)  # noqa: S311  # the same traffic every time
        self._ledger = Ledger()
        self._versions: Counter[int] = Counter()
        self._peers: list[LmPeer | None] = [None] * _PEERS
        self._slow: list[_SlowReader] = []
        self._exchanges = self._closed = self._bytes = 0
        for number in range(_NAMES):  # from here on the store does not grow: each name has a size of its own
            self._put(number)

    def step(self) -> None:
        """One operation, and a piece of what each slow reader reads."""
        for reader in list(self._slow):
            self._read_on(reader)
        number = self._random.randrange(_NAMES)
        draw = self._random.random()
        if draw < 0.3:
            self._put(number)
        elif draw < 0.7:
            self._look(number)
        elif draw < 0.85:
            self._ask(number)
        elif draw < 0.95:
            self._ask(_ABSENT + number)
        elif draw < 0.98 and len(self._slow) < _SLOW:
            self._read_slowly(number)
        else:
            self._leave()

    def full(self) -> bool:
        """Whether the journal forgets as much as it notes: exchanges, connections, bytes of payloads."""
        return min(self._exchanges, self._closed) >= _REMEMBERED and self._bytes >= _KEPT_BYTES

    def fill(self) -> None:
        """Operations as they come, of the same mix as later: what the journal remembers of each takes a different room.

        Where it has room for more connections, some that end at once.
        """
        if self._exchanges < _REMEMBERED or self._bytes < _KEPT_BYTES:
            for _ in range(_BURST):
                self.step()
        if self._closed < _REMEMBERED:
            self._visits()

    def finish(self) -> None:
        """Everything once more, then close."""
        while self._slow:
            self._read_on(self._slow[0])
        for number in range(_NAMES):
            self._look(number)
        for index in range(_PEERS):
            self._end(index)

    def _peer(self, index: int) -> LmPeer:
        found = self._peers[index]
        if found is None:
            found = self._peers[index] = LmPeer(self._address, patience=_PATIENCE)
        return found

    def _end(self, index: int, *, abruptly: bool = False) -> None:
        found, self._peers[index] = self._peers[index], None
        if found is not None:
            self._closed += 1
            (found.reset if abruptly else found.close)()

    def _broken(self, index: int, ended: PeerEndedError) -> None:
        self.counts[f"broken: {'stalled' if 'timed out' in str(ended) else 'connection ended'}"] += 1
        self._end(index)

    def _any(self) -> int:
        return self._random.randrange(_PEERS)

    def _put(self, number: int) -> None:
        """Replace a value. No reply confirms a PUT; the EXIST behind it on the same connection does."""
        self._versions[number] += 1
        data = value(number, self._versions[number], _SIZES[number % len(_SIZES)])
        self.counts["PUT"] += 1
        for _ in range(_AGAIN):
            index = self._any()
            try:
                peer = self._peer(index)
                self._exchanges += 2
                self._bytes += len(data)
                peer.put(number, data)
                there = peer.exist(number)
            except PeerEndedError as ended:
                self._ledger.attempt(number, data)
                self._broken(index, ended)
                continue
            if not there:
                self.lost.append(f"value {number}, version {self._versions[number]}: EXIST says no right behind the PUT")
            self._ledger.store(number, data)
            return
        self.lost.append(f"value {number}, version {self._versions[number]}: {_AGAIN} connections broke in a row")

    def _look(self, number: int) -> None:
        """Read a value and compare it with what was put."""
        self.counts["GET"] += 1
        for _ in range(_AGAIN):
            index = self._any()
            try:
                self._exchanges += 1
                found = self._peer(index).get(number)
            except PeerEndedError as ended:
                self._broken(index, ended)
                continue
            self._judge(number, found)
            return
        self.lost.append(f"value {number}: {_AGAIN} connections broke in a row")

    def _judge(self, number: int, found: bytearray | None) -> None:
        if not self._ledger.agrees(number, found):
            self.lost.append(
                f"value {number}, version {self._versions[number]}: GET brought {'nothing' if found is None else 'another value'}"
            )

    def _ask(self, number: int) -> None:
        """Ask whether a value is there; twice where a fault took the answer."""
        self.counts["EXIST"] += 1
        for _ in range(_AGAIN):
            index = self._any()
            try:
                self._exchanges += 1
                there = self._peer(index).exist(number)
            except PeerEndedError as ended:
                self._broken(index, ended)
                continue
            if there != self._ledger.holds(number):
                self.lost.append(f"value {number}: EXIST says {'yes' if there else 'no'}")
            return
        self.lost.append(f"value {number}: {_AGAIN} connections broke in a row")

    def _leave(self) -> None:
        self.counts["reconnects"] += 1
        self._end(self._any(), abruptly=self._random.random() < 0.5)

    def _visits(self) -> None:
        """Connections that end at once, half of them with a reset."""
        visitors = []
        try:
            visitors = [LmPeer(self._address) for _ in range(_VISITORS)]
        except PeerEndedError as ended:
            self.lost.append(f"a connection that would have ended at once: {ended}")
        for number, visitor in enumerate(visitors):
            self._closed += 1
            (visitor.reset if number % 2 else visitor.close)()

    def _read_slowly(self, number: int) -> None:
        """Begin to read a value on a connection of its own; it must be the one that is there now, whatever comes meanwhile."""
        self.counts["slow GET"] += 1
        self._exchanges += 1
        try:
            self._slow.append(_SlowReader(self._address, number, self._versions[number]))
        except PeerEndedError:
            self.counts["broken: slow reader"] += 1

    def _read_on(self, reader: _SlowReader) -> None:
        try:
            done = reader.read_on()
        except PeerEndedError:
            self.counts["broken: slow reader"] += 1
            done = True
        else:
            if done and not reader.is_right():
                self.lost.append(f"value {reader.number}, version {reader.version}: a slow GET brought another value")
        if done:
            self._closed += 1
            self._slow.remove(reader)
            reader.close()


class _SlowReader:
    """A GET whose reply is read in small pieces."""

    def __init__(self, address: tuple[str, int], number: int, version: int) -> None:
        self.number = number
        self.version = version
        self._peer = LmPeer(address, patience=_PATIENCE, receive_buffer=_PIECE)
        try:
            self._peer.send(request("GET", number))
            reply = self._peer.reply()
        except PeerEndedError:
            self._peer.close()
            raise
        self._found = bytearray(reply.about.length if reply.code == "SUCCESS" else 0)
        self._got = 0

    def read_on(self) -> bool:
        """Read a piece; whether that was the last."""
        if self._got < len(self._found):
            self._got += self._peer.read_some(memoryview(self._found)[self._got : self._got + _PIECE])
        return self._got == len(self._found)

    def is_right(self) -> bool:
        """Whether it read the value that was there when it asked."""
        return digest(self._found) == digest(value(self.number, self.version, _SIZES[self.number % len(_SIZES)]))

    def close(self) -> None:
        """End the connection."""
        self._peer.close()
