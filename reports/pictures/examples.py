"""Captured frames that show what stands in the fields of a layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fixturegen.corpus import load_corpus
from fixturegen.vector import Vector, raw
from reports.pictures.frames import History, Layout
from wire.release import Release

_OPERATIONS: Final = {"request": "encode_request", "reply": "encode_reply", "metadata": "encode_metadata"}


@dataclass(frozen=True)
class Example:
    """One captured frame."""

    release: str
    vector: str
    """The id of the vector."""
    data: bytes


def captured(history: History) -> tuple[Example | None, ...]:
    """A captured frame for each generation: of the same input in all of them if there is one, of an own one otherwise.

    Of several the one is taken that tells its fields apart best: with the most different values.

    Raises:
        CorpusError: a capture is damaged.
    """
    found = [_frames(history.kind, generation.releases[-1], generation.layout) for generation in history.generations]
    shared = set.intersection(*(set(one) for one in found)) if found else set()
    made: list[Example | None] = []
    for generation, frames in zip(history.generations, found, strict=True):
        best = max(sorted(shared or frames), key=lambda name: _told(frames[name], generation.layout), default=None)
        made.append(None if best is None else Example(generation.releases[-1], best, frames[best]))
    return tuple(made)


def _frames(kind: str, release: str, layout: Layout) -> Mapping[str, bytes]:
    vectors = load_corpus(Release.parse(release)).vectors[_OPERATIONS[kind]]
    frames = {vector.id: data for vector in vectors if (data := _bytes(vector)) is not None}
    return {name: data for name, data in frames.items() if len(data) == layout.size}


def _bytes(vector: Vector) -> bytes | None:
    return None if vector.ok is None else raw(vector.ok["bytes"])


def _told(data: bytes, layout: Layout) -> int:
    return len({data[field.offset : field.end] for field in layout.fields} - {bytes(4)})
