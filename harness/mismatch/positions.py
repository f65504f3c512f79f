"""Causes that lie in which chunk an expected key names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.mismatch.recipe import Recipe, Value
from harness.mismatch.request import Request
from reports.keys.record import Cause


@dataclass(frozen=True)
class Placed:
    """One chunk for each expected key, and what is odd about them."""

    values: tuple[Value, ...]
    causes: tuple[Cause, ...]


def placed(request: Request, recipe: Recipe, found: Sequence[Sequence[Value]]) -> Placed | None:
    """Where the expected keys stand; ``found`` holds the chunks that each may name. None: one names none.

    One expected key alone may name any chunk; several are those of the first chunks, in order.
    """
    if not all(found):
        return None
    return min(_placements(request, recipe, found), key=lambda placement: len(placement.causes))


def _placements(request: Request, recipe: Recipe, found: Sequence[Sequence[Value]]) -> Iterator[Placed]:
    # Where the skipped tokens are not hashed, what follows them is the first chunk.
    skipped = 0 if recipe.dropped >= request.skip else request.skip // recipe.chunk_size
    several = len(found) > 1
    for first in found[0]:
        run = _run(found, first.index)
        if run is not None:
            shift = first.index - skipped if several else min(0, first.index - skipped)
            yield Placed(run, (*_shifted(request, shift, first.index), *_partial(request, run)))
    chosen = tuple(values[0] for values in found)
    order = Cause(
        "chunk-order",
        f"The expected keys name the chunks {', '.join(str(value.index) for value in chosen)}, which do not follow each other.",
        "Give --expect in the order of the chunks.",
    )
    yield Placed(chosen, (order, *_partial(request, chosen)))


def _run(found: Sequence[Sequence[Value]], first: int) -> tuple[Value, ...] | None:
    chosen = []
    for offset, values in enumerate(found):
        here = [value for value in values if value.index == first + offset]
        if not here:
            return None
        chosen += here[:1]
    return tuple(chosen)


def _shifted(request: Request, shift: int, first: int) -> Iterator[Cause]:
    if shift == 0:
        return
    if shift < 0:
        yield Cause(
            "skip-ignored",
            f"The expected key names chunk {first}, of tokens that are skipped here ({request.skip}).",
            "Leave out the keys of chunks that begin before the skipped tokens end, or leave --skip out.",
            str(request.skip),
        )
    else:
        yield Cause(
            "chunk-index",
            f"The first expected key names chunk {first}, which is {shift} later than the first that has a key here.",
            "Give the keys from the first chunk on, or count chunks from 0.",
            str(first),
        )


def _partial(request: Request, values: Sequence[Value]) -> Iterator[Cause]:
    if not request.keeps_partial and any(not value.full for value in values):
        yield Cause(
            "partial-chunk-hashed",
            "An expected key names the last chunk, which is not full; here such a chunk has no key.",
            "Make keys of full chunks only (save_unfull_chunk is false by default from 0.3.11 on).",
        )


def partial_missing(request: Request, values: Sequence[Value]) -> Iterator[Cause]:
    """All full chunks of several are expected, and the partial one behind them, which has a key here, is not."""
    full, rest = divmod(len(request.tokens), request.chunk_size)
    indexes = [value.index for value in values]
    if len(indexes) > 1 and rest and request.keeps_partial and indexes == list(range(request.skip // request.chunk_size, full)):
        yield Cause(
            "partial-chunk-missing",
            f"There is no key of the last chunk of {rest} tokens there; here it has one.",
            "Set save_unfull_chunk alike: true by default until 0.3.10.post2, false from 0.3.11 on.",
        )
