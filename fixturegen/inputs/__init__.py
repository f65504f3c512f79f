"""What the real lmcache is asked: inputs of every pure operation, the same for all releases as far as they have the concept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fixturegen.inputs import chunks, deployments, frames, keys, remote_metadata
from wire.release import Release


@dataclass(frozen=True)
class Question:
    """One input: a vector without its outcome."""

    id: str
    op: str
    args: dict[str, Any]


def questions(release: Release) -> list[Question]:
    """Every question for a release, in the order of the corpus files.

    Raises:
        ValueError: two questions share an id (a fault of this package).
    """
    found = list(_all(release))
    ids = [question.id for question in found]
    if len(set(ids)) != len(ids):
        twice = sorted({name for name in ids if ids.count(name) > 1})
        raise ValueError(f"questions share an id: {', '.join(twice)}")
    return found


def _all(release: Release) -> Iterator[Question]:
    for topic in (frames, remote_metadata, keys, chunks, deployments):
        for name, op, args in topic.questions(release):
            yield Question(name, op, args)
