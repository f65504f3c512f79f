"""What the real lmcache is asked about the multiprocess protocol: in steps, as later questions are made of earlier answers.

The first step asks for the operation table, the records and the registration blobs, the second for frames of every operation and
for objects, the third for what becomes of these frames, whole and damaged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from fixturegen.inputs import Question
from fixturegen.inputs.mp import objects, registration, replies, requests
from fixturegen.inputs.mp.samples import Schema
from wire.release import Release

Outcomes = Mapping[str, Mapping[str, Any]]
"""Id of a question to its outcome."""

OPERATIONS: Final = Question("mp.operations", "mp_operations", {})
RECORDS: Final = Question("mp.records", "mp_records", {})


def _first(release: Release, outcomes: Outcomes) -> Iterator[Question]:
    del outcomes
    yield OPERATIONS
    yield RECORDS
    yield from registration.encoding(release)


def _second(release: Release, outcomes: Outcomes) -> Iterator[Question]:
    schema = Schema.of(outcomes)
    yield from requests.encoding(schema)
    yield from replies.encoding(schema)
    yield from objects.questions(schema)
    yield from registration.decoding(release, outcomes)


def _third(release: Release, outcomes: Outcomes) -> Iterator[Question]:
    del release
    schema = Schema.of(outcomes)
    yield from requests.decoding(schema, outcomes)
    yield from replies.decoding(schema, outcomes)


STEPS: Final[Sequence[Callable[[Release, Outcomes], Iterator[Question]]]] = (_first, _second, _third)


def step(number: int, release: Release, outcomes: Outcomes) -> list[Question]:
    """The questions of a step, made of the outcomes of those before it.

    Raises:
        ValueError: two questions share an id (a fault of this package).
    """
    found = list(STEPS[number](release, outcomes))
    ids = [question.id for question in found]
    if len(set(ids)) != len(ids):
        twice = sorted({name for name in ids if ids.count(name) > 1})
        raise ValueError(f"questions share an id: {', '.join(twice)}")
    return found
