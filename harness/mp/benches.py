"""Engines at work for cases about a multiprocess server under test: connections, registered instances, prompts and bytes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

from harness.failure import UnsupportedByClient
from harness.judge import Judge
from harness.mp.exchanges import PATIENCE, Place
from harness.mp.peer import Engine, MpPeer, Prompt
from harness.mp.witness import contents, judged, new_instance, new_model, new_request, some_tokens
from wire.release import Release

UNFOUND: Final = "SRV-MP-007"
BYTES: Final = "SRV-MP-008"
STORED: Final = "SRV-MP-006"


@dataclass
class Bench:
    """A connection with one registered instance of one model; use it in a ``with`` statement.

    Every method fails the case by the requirement that speaks of it, where the server does not do what it must.
    """

    judge: Judge
    release: Release
    place: Place
    model: str = dataclasses.field(default_factory=new_model)
    rank: int = 0
    world: int = 1
    layout: dict[str, Any] = dataclasses.field(default_factory=dict)
    patience: float = PATIENCE

    def __post_init__(self) -> None:
        with judged(self.judge):
            self.peer = MpPeer(self.release, self.place, self.patience)
        try:
            self.engine = self.register()
        except BaseException:
            self.peer.close()
            raise

    def register(self, instance: int | None = None, **changes: Any) -> Engine:
        """Register an instance of the model."""
        with judged(self.judge):
            about = {"rank": self.rank, "world": self.world, **self.layout, **changes}
            return self.peer.register(new_instance() if instance is None else instance, about.pop("model", self.model), **about)

    @property
    def chunk(self) -> int:
        """Tokens of a chunk."""
        return self.engine.chunk_size

    def prompt(self, chunks: int = 2, **changes: Any) -> Prompt:
        """A request for a new prompt of so many whole chunks."""
        about = {
            "model": self.model,
            "tokens": some_tokens(chunks, self.chunk),
            "request": new_request(),
            "world": self.world,
            **changes,
        }
        return Prompt(**about)

    def again(self, prompt: Prompt, **changes: Any) -> Prompt:
        """Another request for the same but for some changes."""
        return dataclasses.replace(prompt, **{"request": new_request(), **changes})

    def part(self, prompt: Prompt, first: int, last: int) -> Prompt:
        """The same request for some of its chunks."""
        return dataclasses.replace(prompt, start=first * self.chunk, end=last * self.chunk)

    def contents(self, count: int, seed: int = 1) -> list[bytes]:
        """Bytes for so many chunks."""
        return contents(count, self.engine.chunk_bytes, seed=seed)

    def stored(self, prompt: Prompt, chunks: Sequence[bytes]) -> None:
        """Store chunks, which must succeed."""
        with judged(self.judge):
            said = self.peer.store(self.engine, prompt, chunks)
        self.judge.holds(said, f"a store of {len(chunks)} chunks into a server with room was answered false", cite=STORED)

    def store(self, prompt: Prompt, chunks: Sequence[bytes]) -> bool:
        """Store chunks, if there is room."""
        with judged(self.judge):
            return self.peer.store(self.engine, prompt, chunks)

    def lookup(self, prompt: Prompt) -> int:
        """The hits of a prompt, which are locked."""
        with judged(self.judge):
            return self.peer.lookup(prompt)

    def finds(self, prompt: Prompt, expected: int, because: str, cite: str = UNFOUND) -> None:
        """A lookup finds so many chunks; their locks are given back."""
        self.locks(prompt, expected, because, cite)
        if expected:
            self.free(prompt)

    def locks(self, prompt: Prompt, expected: int, because: str, cite: str = UNFOUND) -> None:
        """A lookup finds so many chunks."""
        found = self.lookup(prompt)
        self.judge.holds(found == expected, f"a lookup found {found} chunks, {expected} was right: {because}", cite=cite)

    def free(self, prompt: Prompt) -> None:
        """Give back the locks of a lookup."""
        with judged(self.judge):
            self.peer.free(prompt)

    def end(self, prompt: Prompt) -> None:
        """End a request."""
        with judged(self.judge):
            self.peer.end(prompt)

    def retrieve(self, prompt: Prompt) -> list[bytes] | None:
        """The chunks of a prompt, if the server says that it has them."""
        with judged(self.judge):
            return self.peer.retrieve(self.engine, prompt)

    def gives(self, prompt: Prompt, expected: Sequence[bytes], cite: str = BYTES, when: str = "") -> None:
        """A retrieve of what was looked up gives these chunks."""
        self.same(self.retrieve(prompt), expected, cite, when)

    def same(self, found: Sequence[bytes] | None, expected: Sequence[bytes], cite: str = BYTES, when: str = "") -> None:
        """A retrieve gave these chunks."""
        after = f" {when}" if when else ""
        if found is None:
            self.judge.fail(f"a retrieve of chunks that a lookup found was answered with success false{after}", cite=cite)
        for index, (one, other) in enumerate(zip(expected, found, strict=True)):
            self.judge.same_bytes(
                one, other, what=f"chunk {index} of {len(expected)}{after}", source="what this case stored", cite=cite
            )

    def loads(self, prompt: Prompt, expected: Sequence[bytes], because: str = "it was stored") -> None:
        """A lookup finds all of a prompt, and a retrieve gives its bytes."""
        self.locks(prompt, len(expected), because)
        self.gives(prompt, expected)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.peer.close()


def require_shared(bench: Bench) -> None:
    """Leave the case where the server has no shared memory.

    Raises:
        UnsupportedByClient: it has none.
    """
    if not bench.engine.pool.name:
        raise UnsupportedByClient(None, "the server has no shared memory")


def require_pickles(bench: Bench) -> None:
    """Leave the case where the server has shared memory: its chunks do not travel inside messages.

    Raises:
        UnsupportedByClient: it has.
    """
    if bench.engine.pool.name:
        raise UnsupportedByClient(None, "the server has shared memory; its chunks do not travel as pickles")
