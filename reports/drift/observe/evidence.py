"""One capture as evidence: its vectors by id and by operation, its transcripts by id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fixturegen.corpus import Corpus
from fixturegen.vector import Transcript, Vector


@dataclass(frozen=True, eq=False)
class Evidence:
    """The captures of one release, for look-ups."""

    corpus: Corpus

    @property
    def release(self) -> str:
        """The release that was captured."""
        return self.corpus.manifest.release

    @cached_property
    def vectors(self) -> Mapping[str, Vector]:
        """Every vector by its id."""
        return {vector.id: vector for vectors in self.corpus.vectors.values() for vector in vectors}

    @cached_property
    def transcripts(self) -> Mapping[str, Transcript]:
        """Every transcript by its id."""
        return {transcript.id: transcript for transcript in self.corpus.transcripts}

    def of(self, op: str) -> Sequence[Vector]:
        """The vectors of an operation; none if the capture has none."""
        return self.corpus.vectors.get(op, ())

    def answered(self, op: str) -> Iterator[tuple[Vector, Mapping[str, Any]]]:
        """The vectors of an operation that were answered, with their answers."""
        for vector in self.of(op):
            if vector.ok is not None:
                yield vector, vector.ok


def shared(old: Evidence, new: Evidence, op: str) -> Iterator[tuple[Vector, Vector]]:
    """The vectors of an operation that both captures have, in the order of the newer one."""
    for vector in new.of(op):
        before = old.vectors.get(vector.id)
        if before is not None and before.op == op:
            yield before, vector


def refusal(vector: Vector) -> str | None:
    """What the real code raised, in short; None if it answered."""
    error = vector.outcome.get("error")
    return None if error is None else f"refused ({error['type']})"
