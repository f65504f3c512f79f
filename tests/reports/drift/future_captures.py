"""Captures of a release that does not exist: a captured one, changed as its successor might be."""

import functools
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from fixturegen.corpus import Corpus, load_corpus
from fixturegen.vector import Step, Transcript, Vector
from reports.drift.compare import compare
from reports.drift.observe.observed import Observed, observe
from wire.release import Release

BASE = "0.5.6"
FUTURE = "9.9.9"
REFUSED = {"error": {"type": "ValueError", "message": "refused"}}


def captured(release: str = BASE) -> Corpus:
    return load_corpus(Release.parse(release))


@functools.lru_cache(maxsize=64)
def observed(release: str = BASE) -> Observed:
    return observe(captured(release))


@dataclass(frozen=True)
class Future:
    """A corpus to be; every method gives a changed one."""

    corpus: Corpus

    def rewritten(self, op: str, outcome: Callable[[Vector], dict[str, Any] | None]) -> "Future":
        """Other outcomes for the vectors of an operation; None keeps one as it is."""
        vectors = [replace(vector, outcome=found) if (found := outcome(vector)) else vector for vector in self.corpus.vectors[op]]
        return self.with_vectors(op, vectors)

    def with_vectors(self, op: str, vectors: list[Vector]) -> "Future":
        return Future(replace(self.corpus, vectors={**self.corpus.vectors, op: vectors}))

    def without(self, op: str, reason: str) -> "Future":
        left = {name: vectors for name, vectors in self.corpus.vectors.items() if name != op}
        manifest = replace(self.corpus.manifest, unavailable={**self.corpus.manifest.unavailable, op: reason})
        return Future(replace(self.corpus, vectors=left, manifest=manifest))

    def retold(self, got: "Retelling") -> "Future":
        """Other answers of the server; None keeps one as it is."""
        return Future(replace(self.corpus, transcripts=[_retold(transcript, got) for transcript in self.corpus.transcripts]))

    def drift(self, base: str = BASE):
        """What changed since the base."""
        manifest = replace(self.corpus.manifest, release=FUTURE)
        return compare(observed(base), observe(replace(self.corpus, manifest=manifest)))


Retelling = Callable[[Transcript, int, dict[str, Any]], dict[str, Any] | None]
"""Transcript, index of a step, and what came there: what comes instead."""


def _retold(transcript: Transcript, got: Retelling) -> Transcript:
    steps = []
    for index, step in enumerate(transcript.steps):
        changed = got(transcript, index, step.values["got"]) if step.do == "receive" else None
        steps.append(Step(step.do, step.connection, {"got": changed}) if changed else step)
    return replace(transcript, steps=steps)


def heard(transcript: Transcript, index: int) -> list[bytes]:
    """Request headers of 186 bytes that were sent on the connection of a step before it."""
    data = b"".join(
        step.payload()
        for step in transcript.steps[:index]
        if step.do == "send" and step.connection == transcript.steps[index].connection
    )
    found = []
    while len(data) >= 186:
        found.append(data[:186])
        command, length = struct.unpack_from("<ii", data)
        data = data[186 + (max(0, length) if command == 1 else 0) :]
    return found


def hex_outcome(data: bytes) -> dict[str, Any]:
    return {"ok": {"bytes": {"hex": data.hex()}}}


def encoded(vector: Vector) -> bytes:
    return bytes.fromhex(vector.answer["bytes"]["hex"])
