"""Somebody who did nothing: a connection that stood before a hostile client came, and a new one, must be served as before."""

from __future__ import annotations

import contextlib
import itertools
import os
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from fixturegen.mp.launch import NO_DATA_PATH
from fixturegen.vector import patterned
from harness.judge import Judge
from harness.mp.exchanges import MpPeerFailed, Place
from harness.mp.peer import Engine, MpPeer, Prompt
from harness.per_process import PerProcess
from wire.mp.objects import TOKEN_MODE
from wire.release import Release

SERVED_WITHIN: Final = 10.0
"""Seconds in which a bystander must be answered: far more than a working server takes, also on a busy machine."""
CHUNKS: Final = 2

_numbers: Final = itertools.count(1)
_run: Final = uuid.uuid4().hex[:8]
_instances: Final = PerProcess(lambda: itertools.count((uuid.uuid4().int & 0x0FFFFFFF) << 8))


def new_model() -> str:
    """A model that no other test and no other run uses."""
    return f"lmconform/{_run}/{os.getpid()}/{next(_numbers)}"


def new_request() -> str:
    """A request id that nobody else has."""
    return f"lmconform-{_run}-{os.getpid()}-{next(_numbers)}"


def new_instance() -> int:
    """An instance id that nobody else has."""
    return next(_instances.value)


def some_tokens(chunks: int, chunk_size: int, *, first: int | None = None) -> list[int]:
    """Tokens of so many whole chunks; every ``first`` begins another prompt."""
    begin = next(_numbers) * 7919 if first is None else first
    return [(begin + 31 * index) % (1 << 31) for index in range(chunks * chunk_size)]


def contents(count: int, length: int, *, seed: int = 1) -> list[bytes]:
    """The bytes of so many chunks, each different from the others."""
    return [patterned(1000 * seed + index, length) for index in range(count)]


def moves_data(release: Release) -> bool:
    """Whether bytes can be stored in a server of a release without a GPU."""
    return NO_DATA_PATH[release] is None


@contextlib.contextmanager
def judged(judge: Judge, cite: str | None = None, doing: str = "") -> Iterator[None]:
    """A server that does not do what a peer asks of it fails the case: the cited requirement, or the one that speaks of it."""
    try:
        yield
    except MpPeerFailed as failed:
        judge.fail(f"{doing}: {failed}" if doing else str(failed), cite=cite or failed.requirement)


@dataclass
class Witness:
    """The old connection: what it stored before must be found and loaded afterwards, by itself and by a new one."""

    judge: Judge
    release: Release
    place: Place

    def __post_init__(self) -> None:
        self._model = new_model()
        self._instance = new_instance()
        self._engine: Engine | None = None
        self._tokens: Sequence[int] = ()
        self._chunks: list[bytes] = []
        with judged(self.judge):
            self.peer = MpPeer(self.release, self.place, SERVED_WITHIN)
        try:
            with judged(self.judge):
                self._settle_in()
        except BaseException:
            self.peer.close()
            raise

    def _settle_in(self) -> None:
        self.peer.noop()
        if not moves_data(self.release):
            return
        self._engine = self.peer.register(self._instance, self._model)
        self._tokens = some_tokens(CHUNKS, self._engine.chunk_size)
        self._chunks = contents(CHUNKS, self._engine.chunk_bytes, seed=next(_numbers))
        prompt = self._prompt()
        stored = self.peer.store(self._engine, prompt, self._chunks)
        self.judge.holds(stored, "a store on a server with room was not taken", cite="SRV-MP-006")
        self.peer.end(prompt)

    def _prompt(self) -> Prompt:
        return Prompt(self._model, self._tokens, new_request())

    def served(self, after: str, cite: str) -> None:
        """Both connections are served, as the requirement demands."""
        with judged(self.judge, cite, f"after {after} a connection that stood before"):
            self._use(self.peer, cite, f"after {after} a connection that stood before")
        with (
            judged(self.judge, cite, f"after {after} a new connection"),
            MpPeer(self.release, self.place, SERVED_WITHIN) as fresh,
        ):
            self._use(fresh, cite, f"after {after} a new connection")

    def _use(self, peer: MpPeer, cite: str, who: str) -> None:
        peer.noop()
        if self._engine is None:
            if TOKEN_MODE[self.release]:
                peer.lookup(Prompt(self._model, some_tokens(1, 16), new_request()))
            return
        prompt = self._prompt()
        found = peer.lookup(prompt)
        self.judge.holds(found == CHUNKS, f"{who} found {found} of {CHUNKS} stored chunks", cite=cite)
        got = peer.retrieve(self._engine, prompt)
        self.judge.holds(got == self._chunks, f"{who} did not get the bytes that were stored", cite=cite)
        peer.end(prompt)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.peer.close()
