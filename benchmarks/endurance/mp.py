"""Peers of the multiprocess mock: DEALER sockets of one context, so that many of them need few threads."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import zmq

from benchmarks.endurance.values import value
from benchmarks.servers import StartedServer
from harness.mp.peer import Engine, MpPeer, Prompt
from wire.release import KNOWN_RELEASES, Release

RELEASE: Final = Release.parse(KNOWN_RELEASES[-1])
PATIENCE: Final = 30.0
"""Seconds that a server may take for a reply, on a busy machine as well."""
MOST_PEERS: Final = 4096
_CHUNK: Final = 16
_STRIDE: Final = 1 << 12
_requests: Final = itertools.count(1)


@contextlib.contextmanager
def sockets() -> Iterator[zmq.Context[zmq.Socket[bytes]]]:
    """A context for many peers; whatever is left in it is closed at the end."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    context.set(zmq.MAX_SOCKETS, MOST_PEERS)
    try:
        yield context
    finally:
        context.destroy(linger=0)


def peer(server: StartedServer, context: zmq.Context[zmq.Socket[bytes]], *, patience: float = PATIENCE) -> MpPeer:
    """A connection that stands.

    Raises:
        MpPeerFailed: it does not.
    """
    return MpPeer(RELEASE, server, patience, shared=context)


@dataclass(frozen=True)
class Text:
    """What an engine stores: a prompt of its own for each number, whose chunks are new with each version."""

    number: int
    version: int
    chunks: int

    @property
    def model(self) -> str:
        """The model that it is of."""
        return "endurance"

    def prompt(self) -> Prompt:
        """It, as another request of an engine."""
        first = self.number * _STRIDE + self.version * 17
        tokens = [(first + 31 * index) % (1 << 31) for index in range(self.chunks * _CHUNK)]
        return Prompt(self.model, tokens, f"endurance-{next(_requests)}", salt=f"{self.number}-{self.version}")

    def contents(self, size: int) -> list[bytes]:
        """The bytes of its chunks."""
        return [value(self.number * 64 + index, self.version, size) for index in range(self.chunks)]


def store(by: MpPeer, engine: Engine, text: Text) -> bool:
    """Store a text, and end the request; whether the server took it."""
    prompt = text.prompt()
    taken = by.store(engine, prompt, text.contents(engine.chunk_bytes))
    by.end(prompt)
    return taken


def load(by: MpPeer, engine: Engine, text: Text) -> list[bytes] | None:
    """Look a text up and load what is there of it; None where not all of it is."""
    prompt = text.prompt()
    found = by.lookup(prompt)
    got = by.retrieve(engine, prompt) if found == text.chunks else None
    if found and got is None:
        by.free(prompt)
    by.end(prompt)
    return got
