"""Mixed traffic on the multiprocess mock: texts stored, loaded and deleted, reconnects, slow readers, with faults switched on.

The faults lose, delay, double and swap replies of operations that can be asked for again; none of them lies. This wire has no
operation that replaces an object, and one that deletes: CLEAR, which deletes all.
"""

from __future__ import annotations

import inspect
import random
from collections import Counter, deque
from contextlib import ExitStack
from typing import Final

from benchmarks.endurance.mp import Text, load, peer, sockets, store
from benchmarks.endurance.values import digest
from benchmarks.servers import StartedServer
from harness.mp.exchanges import MpPeerFailed
from harness.mp.peer import Engine, MpPeer
from mockserver.mp.journal import MpJournal

FAULTS: Final = (
    "late-reply:seconds=0.05,operation=PREPARE_RETRIEVE,probability=0.02",
    "late-reply:seconds=0.02,operation=LOOKUP,probability=0.02",
    "duplicate-reply:operation=NOOP,probability=0.05",
    "drop-reply:operation=NOOP,probability=0.01",
    "lose-request:operation=NOOP,probability=0.01",
    "swap-replies:operation=PING,probability=0.2",
)
_PATIENCE: Final = 10.0
_NOOP_PATIENCE: Final = 0.5
"""Seconds after which a NOOP is asked for again."""
_AGAIN: Final = 20
_TEXTS: Final = 60
_PEERS: Final = 4
_SLOW: Final = 2
_UNREAD: Final = 50
_CLEARED_EVERY: Final = 1500
"""Steps between two times that everything is deleted."""
_BURST: Final = 100
_REMEMBERED: Final[int] = inspect.signature(MpJournal).parameters["max_exchanges"].default
_MESSAGES: Final = {"store": 3, "load": 6, "NOOP": 1}
"""Requests of each operation, at least."""


class MpTraffic:
    """Several engines, one operation after another, and peers that leave their replies unread for a while."""

    def __init__(self, server: StartedServer, seed: int) -> None:
        self.lost: list[str] = []
        self.counts: Counter[str] = Counter()
        self._server = server
        self._random = random.Random(seed)  # noqa: S311  # the same traffic every time
        self._stack = ExitStack()
        self._context = self._stack.enter_context(sockets())
        self._stored: dict[int, Text] = {}
        self._versions: Counter[int] = Counter()
        self._instances = 100
        self._steps = 0
        self._engines = [self._engine() for _ in range(_PEERS)]
        self._slow: deque[tuple[MpPeer, list[bytes], int]] = deque()

    def step(self) -> None:
        """One operation."""
        self._steps += 1
        if self._steps % _CLEARED_EVERY == 0:
            self._clear()
        while self._slow and self._slow[0][2] <= self._steps:
            self._read_at_last(*self._slow.popleft()[:2])
        number = self._random.randrange(_TEXTS)
        draw = self._random.random()
        if draw < 0.25:
            self._store(number)
        elif draw < 0.65:
            self._load(number)
        elif draw < 0.93:
            self._noop()
        elif draw < 0.97 and len(self._slow) < _SLOW:
            self._leave_unread()
        elif draw < 0.99:
            self._ping()
        else:
            self._reconnect()

    def full(self) -> bool:
        """Whether the journal forgets as much as it notes."""
        return sum(count * self.counts[name] for name, count in _MESSAGES.items()) >= _REMEMBERED

    def fill(self) -> None:
        """Operations as they come."""
        for _ in range(_BURST):
            self.step()

    def finish(self) -> None:
        """Everything once more, then close."""
        while self._slow:
            self._read_at_last(*self._slow.popleft()[:2])
        for number in list(self._stored):
            self._load(number)
        for one, engine in self._engines:
            one.unregister(engine)
            one.close()
        self._stack.close()

    def _engine(self) -> tuple[MpPeer, Engine]:
        one = peer(self._server, self._context, patience=_PATIENCE)
        self._instances += 1
        return one, one.register(self._instances, "endurance")

    def _store(self, number: int) -> None:
        """Store a text that is not there; one that is there already is not written again."""
        self.counts["store"] += 1
        text = self._stored.get(number)
        if text is None:
            self._versions[number] += 1
            text = Text(number, self._versions[number], 1 + number % 6)
        try:
            taken = store(*self._random.choice(self._engines), text)
        except MpPeerFailed as failed:
            self.lost.append(f"storing text {number}, version {text.version}: {failed}")
            return
        if taken:
            self._stored[number] = text
        else:
            self.lost.append(f"text {number}, version {text.version}: it was not taken")

    def _load(self, number: int) -> None:
        """Load a text; one that was deleted, or never was, must not be found."""
        self.counts["load"] += 1
        text = self._stored.get(number)
        one, engine = self._random.choice(self._engines)
        try:
            found = load(one, engine, text or Text(number, self._versions[number], 1 + number % 6))
        except MpPeerFailed as failed:
            self.lost.append(f"loading text {number}: {failed}")
            return
        if text is None:
            if found is not None:
                self.lost.append(f"text {number}: it was found after it was deleted")
        elif found is None:
            self.lost.append(f"text {number}, version {text.version}: it is not there")
        elif [digest(chunk) for chunk in found] != [digest(chunk) for chunk in text.contents(engine.chunk_bytes)]:
            self.lost.append(f"text {number}, version {text.version}: other bytes came")

    def _noop(self) -> None:
        self.counts["NOOP"] += 1
        one, _ = self._random.choice(self._engines)
        for _ in range(_AGAIN):
            try:
                one.noop(_NOOP_PATIENCE)
            except MpPeerFailed:
                self.counts["lost by a fault: NOOP"] += 1
                continue
            while one.surplus(0.0) is not None:
                self.counts["doubled by a fault: NOOP"] += 1
            return
        self.lost.append(f"a NOOP: {_AGAIN} of them were not answered")

    def _ping(self) -> None:
        """A request whose reply may wait until another one has left."""
        self.counts["PING"] += 1
        (one, _), (other, _) = self._random.sample(self._engines, 2)
        try:
            uid = one.send("PING", None)
            for _ in range(_AGAIN):  # the other reply may leave before this one is held
                other.ask("GET_CHUNK_SIZE")
                if one.reply(uid, patience=_NOOP_PATIENCE) is not None:
                    return
            self.lost.append(f"a PING: it was not answered although {_AGAIN} other replies left")
        except MpPeerFailed as failed:
            self.lost.append(f"a PING: {failed}")

    def _clear(self) -> None:
        self.counts["CLEAR"] += 1
        one, _ = self._random.choice(self._engines)
        try:
            one.clear()
        except MpPeerFailed as failed:
            self.lost.append(f"CLEAR: {failed}")
        self._stored.clear()

    def _reconnect(self) -> None:
        """An engine leaves, half of the time without a word, and another one comes."""
        self.counts["reconnects"] += 1
        index = self._random.randrange(_PEERS)
        one, engine = self._engines[index]
        try:
            one.unregister(engine)
            if self._random.random() < 0.5:
                one.send("NOOP")
            one.close()
            self._engines[index] = self._engine()
        except MpPeerFailed as failed:
            self.lost.append(f"a new connection: {failed}")

    def _leave_unread(self) -> None:
        """A peer that asks a lot and reads nothing for some steps."""
        self.counts["slow peers"] += 1
        try:
            one = peer(self._server, self._context, patience=_PATIENCE)
            uids = [one.send("GET_CHUNK_SIZE") for _ in range(_UNREAD)]
        except MpPeerFailed as failed:
            self.lost.append(f"a slow peer: {failed}")
            return
        self._slow.append((one, uids, self._steps + 40))

    def _read_at_last(self, one: MpPeer, uids: list[bytes]) -> None:
        try:
            for uid in uids:
                one.result("GET_CHUNK_SIZE", uid)
        except MpPeerFailed as failed:
            self.lost.append(f"a reply that was left unread for a while: {failed}")
        one.close()
