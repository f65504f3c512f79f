"""Shapes: how many dimensions an encoder takes, and what a decoder makes of trailing zeros."""

from __future__ import annotations

from collections.abc import Iterator

from fixturegen.vector import Vector, raw
from reports.drift.aspects.headers import frame_side
from reports.drift.model import Aspect, Change, Example, Findings, Level, Levels
from reports.drift.observe.evidence import shared
from reports.drift.observe.frames import Frames
from reports.drift.observe.observed import Observed, frame_pairs
from reports.drift.words import name, outcome, ranges
from reports.words import listing


def compare(old: Observed, new: Observed) -> Findings:
    """Ranks that are taken, and zeros that are dropped, in headers and in metadata."""
    found = Findings()
    pairs = frame_pairs(old, new)
    found.add(list(_ranks(old, new, pairs)))
    found.add(list(_zeros(old, new, pairs)))
    return found


def _ranks(old: Observed, new: Observed, pairs: list[tuple[Frames, Frames]]) -> Iterator[Change]:
    more = sorted(
        {rank for one, other in pairs for rank, taken in other.ranks.items() if taken and not one.ranks.get(rank, False)}
    )
    fewer = sorted(
        {rank for one, other in pairs for rank, taken in one.ranks.items() if taken and other.ranks.get(rank) is False}
    )
    dims = max((other.dims for _, other in pairs), default=0)
    if more:
        yield Change(
            Aspect.SHAPES,
            f"Shapes of {ranges(more)} dimensions can be written: they are padded with zeros to {dims}",
            Levels(Level.ADDITIVE, Level.ADDITIVE, Level.NONE),
            f"Nothing to keep storing {dims} dimensions; write zeros behind a shorter shape, and expect them on loading.",
            _rank_examples(old, new, more),
            evidence=sum(1 for _ in _of_rank(new, more)),
        )
    if fewer:
        yield Change(
            Aspect.SHAPES,
            f"Shapes of {ranges(fewer)} dimensions are refused by encoders",
            Levels(Level.BREAKING, Level.NONE, Level.NONE),
            f"Do not store values with shapes of {ranges(fewer)} dimensions.",
            _rank_examples(old, new, fewer),
            evidence=sum(1 for _ in _of_rank(new, fewer)),
        )


def _of_rank(observed: Observed, ranks: list[int]) -> Iterator[tuple[Frames, Vector]]:
    for frames in observed.frames:
        for vector in observed.evidence.of(frames.kind.encode):
            shapes = [vector.args["shape"]] if "shape" in vector.args else [group["shape"] for group in vector.args["groups"]]
            if frames.kind.asked(vector) and any(len(shape) in ranks for shape in shapes):
                yield frames, vector


def _rank_examples(old: Observed, new: Observed, ranks: list[int]) -> tuple[Example, ...]:
    """A shape of such a rank that both releases were asked to write; else one that only the newer was."""
    found = []
    for frames, vector in _of_rank(new, ranks):
        before = old.evidence.vectors.get(vector.id)
        same = before if before is not None and before.args == vector.args else None
        after = outcome(vector) if vector.ok is None else frame_side(frames, raw(vector.ok["bytes"]))
        found.append(Example(vector.id, None if same is None else outcome(same), after))
    return tuple(sorted(found, key=lambda example: example.before is None)[:1])


def _zeros(old: Observed, new: Observed, pairs: list[tuple[Frames, Frames]]) -> Iterator[Change]:
    dropped = sorted({name(f) for one, other in pairs for f in other.stripping.stripped & one.stripping.kept})
    again = sorted({name(f) for one, other in pairs for f in one.stripping.stripped & other.stripping.kept})
    kept = sorted({name(f) for _, other in pairs for f in other.stripping.kept})
    if dropped:
        exempt = f"; {listing(kept)} keep them" if kept else ""
        yield Change(
            Aspect.SHAPES,
            f"Decoders drop trailing zeros of a shape, all but the first dimension (seen for {listing(dropped)}{exempt})",
            Levels(Level.NONE, Level.BEHAVIOURAL, Level.NONE),
            "Drop trailing zeros of a shape that is read, but keep one dimension"
            + (f", and leave the shapes of {listing(kept)} as they are." if kept else "."),
            tuple(_zero_examples(old, new)),
            evidence=sum(1 for _ in _zero_examples(old, new, limit=1000)),
        )
    if again:
        yield Change(
            Aspect.SHAPES,
            f"Decoders keep trailing zeros of a shape that they dropped (seen for {listing(again)})",
            Levels(Level.NONE, Level.BEHAVIOURAL, Level.NONE),
            "Keep the trailing zeros of a shape that is read.",
            tuple(_zero_examples(old, new)),
            evidence=sum(1 for _ in _zero_examples(old, new, limit=1000)),
        )


def _zero_examples(old: Observed, new: Observed, limit: int = 1) -> Iterator[Example]:
    for op in ("decode_reply", "decode_request", "decode_metadata"):
        for before, after in shared(old.evidence, new.evidence, op):
            if before.args == after.args and before.ok is not None and after.ok is not None and before.ok != after.ok and limit:
                limit -= 1
                yield Example(after.id, outcome(before), outcome(after))
