"""Peers of a server that have nothing to do with what another peer does to it, and must not come to harm by it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from harness.failure import PeerFailed
from harness.judge import Judge
from harness.leaks import blame
from harness.peers import Key, Peer
from harness.stamped import Stamp
from harness.targets import Server
from harness.values import Keys
from wire.release import Release

REQUIREMENT: Final = "SRV-LM-021"
BOUND: Final = 10.0
"""Seconds that a server may take for a request of a bystander."""
SIZE: Final = 4000
"""Bytes of their values."""


@dataclass
class Bystanders:
    """A connection that was open before, a value that was stored before, and a new connection each time one looks."""

    judge: Judge
    server: Server
    release: Release
    keys: Keys
    by: str
    """What the other peer does, for reports: ``half a header and then silence``."""
    old: Peer
    kept: Key
    value: bytes
    _looks: int = field(default=0)

    def look(self, when: str) -> None:
        """Both connections are served, and the old value is there; ``when`` is *while* or *after*.

        Raises:
            CaseFailure: they are not, or not in time.
        """
        self._looks += 1
        connections: dict[str, Callable[[], contextlib.AbstractContextManager[Peer]]] = {
            "a connection that was open before": lambda: contextlib.nullcontext(self.old),
            "a new connection": lambda: Peer(self.release, self.server, patience=BOUND),
        }
        for name, connection in connections.items():
            began = time.monotonic()
            try:
                with connection() as peer:
                    self._is_served(peer)
            except PeerFailed as failed:
                seconds = time.monotonic() - began
                self._fail(f"{when} {self.by}, {name} is not served: {failed}", waited=seconds)
            except _WrongAnswer as wrong:
                self._fail(f"{when} {self.by}, {name} is not served as before: {wrong}")

    def _is_served(self, peer: Peer) -> None:
        fresh, missing = self.keys(hash=0xF00 + self._looks), self.keys(hash=0xE00 + self._looks)
        if not peer.exist(self.kept):
            raise _WrongAnswer("a value that was stored before is gone, EXIST says")
        if peer.get(self.kept) != self.value:
            raise _WrongAnswer("a value that was stored before is not what a GET brings")
        payload = Stamp(3, 3, self._looks).payload(SIZE + self._looks)
        peer.put(fresh, payload)
        if peer.get(fresh) != payload:
            raise _WrongAnswer("a value that was stored just now is not what a GET brings")
        if peer.exist(missing) or not peer.health(missing):
            raise _WrongAnswer("EXIST of a key without a value, or HEALTH, got the answer of another request")

    def _fail(self, summary: str, *, waited: float = 0.0) -> None:
        words = f"{summary} (after {waited:.1f} s)" if waited > 1 else summary
        self.judge.fail(words, cite=REQUIREMENT, kind=blame(self.server))


class _WrongAnswer(Exception):
    """A server answered something else."""


@contextlib.contextmanager
def bystanders(judge: Judge, server: Server, release: Release, keys: Keys, *, by: str) -> Iterator[Bystanders]:
    """Peers that are served before, and again when the block has ended; between the two whoever wants may look.

    ``by`` is what is done to the server in the block. ``look("while")`` is for a block that holds its connections open.

    Raises:
        PeerFailed: they are not even served before.
        CaseFailure: they are not served any more.
    """
    with Peer(release, server, patience=BOUND) as old:
        kept, value = keys(hash=0xD00), Stamp(2, 2, 2).payload(SIZE)
        old.put(kept, value)
        found = Bystanders(judge, server, release, keys, by, old, kept, value)
        if old.get(kept) != value:
            raise PeerFailed("a value that was stored before anything was done is not what a GET brings")
        yield found
        found.look("after")
