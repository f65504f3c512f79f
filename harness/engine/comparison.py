"""Compares the answer of an engine that loaded chunks with that of one that computed everything, and says what it had loaded."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from harness.engine.elements import WORDS, numbers, rounded
from harness.engine.memory import LAYERS, CacheFormat, leftovers
from harness.engine.offload import CITED, Chunk, Engine
from harness.engine.prompts import Cold
from reports.diagnosis import ValueDifference
from reports.difference import frame_difference

Elements = NDArray[Any]

SOURCE: Final = "the same model without a cache, computed by this case"
_AXES: Final = ("K or V", "layer", "token", "hidden")


def same_answer(
    engine: Engine, answer: Sequence[int], expected: Cold, *, found: int, others: Mapping[str, Cold] | None = None
) -> None:
    """The answer is the one of a cold prefill, and ``found`` chunks were loaded for it.

    ``others`` are prompts whose chunks a client could have mixed up with those of this one, by what they are called.
    """
    wrong = next((place for place, pair in enumerate(zip(expected.answer, answer, strict=True)) if pair[0] != pair[1]), None)
    loaded = len(engine.loaded)
    if wrong is None:
        engine.judge.holds(
            loaded == found,
            f"{loaded} chunks of the prompt were found, {found} are stored; the model had to compute what it could have loaded",
            cite=CITED,
            source=SOURCE,
        )
        return
    what = [f"{chunk.name}: {_words(engine, chunk, expected, others or {}, stored=found)}" for chunk in _wrong(engine, expected)]
    more = [f"{loaded} chunks were loaded, of the prompt {found} are stored"] if loaded != found else []
    engine.judge.fail(
        f"token {wrong} of the answer is {answer[wrong]}, and {expected.answer[wrong]} where nothing is loaded; {_loaded(loaded)}",
        cite=CITED,
        source=SOURCE,
        values=(ValueDifference(f"answer[{wrong}]", expected.answer[wrong], answer[wrong]),),
        frames=_frames(engine, expected),
        client_answered="; ".join([*more, *what]) or None,
        conformant_answer="the K/V that was stored of each of these tokens, bit by bit",
    )


def _loaded(count: int) -> str:
    return f"{count} {'chunk was' if count == 1 else 'chunks were'} loaded"


def _wrong(engine: Engine, expected: Cold) -> list[Chunk]:
    """The loaded chunks that are not what a cold prefill computes; the last token of a prompt is computed in any case."""
    return [
        chunk
        for chunk in engine.loaded
        if engine.memory.chunk(chunk.start, chunk.end) != expected.memory.chunk(chunk.start, chunk.end)
    ]


def _frames(engine: Engine, expected: Cold) -> tuple[Any, ...]:
    """The bytes of the first wrong chunk, as they should be and as they are in memory."""
    for chunk in _wrong(engine, expected)[:1]:
        one, other = (memory.chunk(chunk.start, chunk.end) for memory in (expected.memory, engine.memory))
        return frame_difference(one, other, titles=(f"{chunk.name} as computed", f"{chunk.name} as loaded")).frames
    return ()


def _words(engine: Engine, chunk: Chunk, expected: Cold, others: Mapping[str, Cold], *, stored: int) -> str:
    """What a wrong chunk holds, if that can be told."""
    if chunk in engine.holes:
        return "exist says that it is stored and get misses it, so that its slots hold what was there before"
    cache = engine.deployment.cache
    got = engine.memory.chunk(chunk.start, chunk.end)
    for name, other in others.items():
        if other.memory.chunk(chunk.start, chunk.end) == got:
            return name
    for start in range(0, engine.loaded[-1].end, chunk.end - chunk.start):
        end = start + chunk.end - chunk.start
        if start != chunk.start and expected.memory.chunk(start, end) == got:
            return f"it holds tokens {start} to {end - 1}"
    right, came = (_array(cache, memory.chunk(chunk.start, chunk.end)) for memory in (expected.memory, engine.memory))
    for name, candidate in _mistakes(cache, right):
        if candidate.tobytes() == came.tobytes():
            return name
    missing = "" if chunk.number < stored else "it was never stored under this key, and "
    return missing + _where(engine, chunk, right, came)


def _array(cache: CacheFormat, chunk: bytes) -> Elements:
    """A chunk as ``[K or V, layer, token, hidden]``."""
    return np.frombuffer(chunk, WORDS[cache.dtype]).reshape(len(cache.vectors), LAYERS, -1, cache.width)


def _mistakes(cache: CacheFormat, right: Elements) -> Iterator[tuple[str, Elements]]:
    """What common mistakes make of a chunk."""
    if len(cache.vectors) == 2:
        yield "keys and values are exchanged", right[::-1]
    yield "the layers are exchanged", right[:, ::-1]
    yield "its tokens are in reverse order", right[:, :, ::-1]
    for order in itertools.permutations(range(4)):
        if order != (0, 1, 2, 3):
            axes = ", ".join(_AXES[axis] for axis in order)
            yield f"its axes are packed as {axes}", right.transpose(order).reshape(right.shape)
            back = [order.index(axis) for axis in range(4)]
            moved = right.reshape([right.shape[axis] for axis in order])
            yield f"its axes are unpacked as {axes}", moved.transpose(back)
    for dtype in WORDS:
        if dtype != cache.dtype:
            through = numbers(dtype, rounded(dtype, numbers(cache.dtype, right)))
            yield f"its elements were rounded to {dtype}", rounded(cache.dtype, through)


def _where(engine: Engine, chunk: Chunk, right: Elements, came: Elements) -> str:
    """Which tokens differ, and what is in their place."""
    cache = engine.deployment.cache
    wrong = [place for place in range(right.shape[2]) if right[:, :, place].tobytes() != came[:, :, place].tobytes()]
    tokens = f"token {chunk.start + wrong[0]}" if len(wrong) == 1 else f"{len(wrong)} tokens from {chunk.start + wrong[0]} on"
    if all(not came[:, :, place].any() for place in wrong):
        return f"{tokens}: nothing but zeros"
    flat = leftovers(cache).reshape(LAYERS, len(cache.vectors), -1, cache.width).transpose(1, 0, 2, 3)
    slots = engine.memory.slots(chunk.start, chunk.end)
    if all(flat[:, :, slots[place]].tobytes() == came[:, :, place].tobytes() for place in wrong):
        return f"{tokens}: still what was in these slots before"
    if len(wrong) > 1 and all(right[:, :, place - 1].tobytes() == came[:, :, place].tobytes() for place in wrong if place):
        return f"{tokens}: one slot too late"
    if len(wrong) > 1 and all(right[:, :, place + 1].tobytes() == came[:, :, place].tobytes() for place in wrong[:-1]):
        return f"{tokens}: one slot too early"
    differs = (right != came)[:, :, wrong[0]]
    vector, layer = (int(axis[0]) for axis in np.nonzero(differs.any(axis=-1)))
    return f"{tokens}: other numbers, the first in {cache.vectors[vector]} of layer {layer}"
