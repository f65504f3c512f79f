"""Compares the answer of an engine that loaded chunks with that of one that computed everything, and says what it had loaded."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from harness.engine.elements import WORDS, numbers, rounded
from harness.engine.memory import BLOCK_SIZE, LAYERS, CacheFormat, Memory
from harness.engine.offload import CITED, Chunk, Engine
from harness.engine.prompts import CHUNK, Cold
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
            f"{_found(loaded, found)}; the model had to compute what it could have loaded",
            cite=CITED,
            source=SOURCE,
        )
        return
    what = [(chunk, _words(engine, chunk, expected, others or {}, stored=found)) for chunk in _wrong(engine, expected)]
    differs = f"token {wrong} of the answer is {answer[wrong]}, not {expected.answer[wrong]} as without a cache"
    engine.judge.fail(
        f"{differs}; {_found(loaded, found)}",
        cite=CITED,
        source=SOURCE,
        values=(ValueDifference(f"answer[{wrong}]", expected.answer[wrong], answer[wrong]),),
        frames=_frames(engine, expected),
        client_answered="; ".join(_together(what)) or None,
        conformant_answer="the K/V that was stored of each of these tokens, bit by bit",
    )


def _found(loaded: int, stored: int) -> str:
    """What the client found of the prompt."""
    found = f"the client found {loaded} {'chunk' if loaded == 1 else 'chunks'} of the prompt"
    return found if loaded == stored else f"{found}, and {stored} {'is' if stored == 1 else 'are'} stored"


def _together(what: Sequence[tuple[Chunk, str]]) -> Iterator[str]:
    """What is wrong with each chunk; what is true of all of several neighbours is said once."""
    for (_, words), same in itertools.groupby(enumerate(what), lambda found: (found[1][0].number - found[0], found[1][1])):
        chunks = [chunk for _, (chunk, _) in same]
        first, last = chunks[0], chunks[-1]
        several = f"chunks {first.number} to {last.number} (tokens {first.start} to {last.end - 1})"
        yield f"{several if len(chunks) > 1 else first.name}: {words}"


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
    held = _held(chunk, got, expected)
    if held is not None:
        return f"it holds tokens {held[0]} to {held[1] - 1}"
    for name, other in others.items():
        if other.memory.chunk(chunk.start, chunk.end) == got:
            return name
        held = _held(chunk, got, other)
        if held is not None:
            return f"{name}, and of tokens {held[0]} to {held[1] - 1}"
    right, came = (_array(cache, memory.chunk(chunk.start, chunk.end)) for memory in (expected.memory, engine.memory))
    for name, candidate in _mistakes(cache, right):
        if candidate.tobytes() == came.tobytes():
            return name
    missing = "" if chunk.number < stored else "it was never stored under this key, and "
    return missing + _where(engine, chunk, right, came)


def _held(chunk: Chunk, got: bytes, computed: Cold) -> tuple[int, int] | None:
    """The other tokens of a prompt whose K/V these bytes are."""
    size = chunk.end - chunk.start
    starts = range(0, len(computed.prompt) - size + 1, CHUNK)
    places = ((start, start + size) for start in starts if start != chunk.start)
    return next((place for place in places if computed.memory.chunk(*place) == got), None)


def _array(cache: CacheFormat, chunk: bytes) -> Elements:
    """A chunk as ``[K or V, layer, token, hidden]``."""
    elements: Elements = np.frombuffer(chunk, WORDS[cache.dtype])
    return elements.reshape(len(cache.vectors), LAYERS, -1, cache.width)


def _mistakes(cache: CacheFormat, right: Elements) -> Iterator[tuple[str, Elements]]:
    """What common mistakes make of a chunk."""
    if len(cache.vectors) == 2:
        yield "keys and values are exchanged", right[::-1]
    yield "the layers are exchanged", right[:, ::-1]
    yield "the tokens are in reverse order", right[:, :, ::-1]
    for order in itertools.permutations(range(4)):
        if order != (0, 1, 2, 3):
            axes = ", ".join(_AXES[axis] for axis in order)
            yield f"the axes are packed as {axes}", right.transpose(order).reshape(right.shape)
            back = [order.index(axis) for axis in range(4)]
            moved = right.reshape([right.shape[axis] for axis in order])
            yield f"the axes are unpacked as {axes}", moved.transpose(back)
    if cache.latent:
        half = cache.width // 2
        yield "each latent vector is split in two, as if it were K and V", _of_halves(right, half)


def _of_halves(right: Elements, half: int) -> Elements:
    """The first halves of all vectors, then the second ones."""
    return np.concatenate([right[..., :half].reshape(-1), right[..., half:].reshape(-1)]).reshape(right.shape)


def _where(engine: Engine, chunk: Chunk, right: Elements, came: Elements) -> str:
    """Which tokens differ, and what is in their place."""
    cache, count = engine.deployment.cache, right.shape[2]
    one, other = (_by_token(elements) for elements in (right, came))
    wrong = [place for place in range(count) if one[place] != other[place]]
    tokens = _tokens(chunk, wrong, count)
    before = _by_token(_before(engine, chunk))
    if all(not any(other[place]) for place in wrong):
        return f"{tokens}: nothing but zeros"
    if all(other[place] == before[place] for place in wrong):
        return f"{tokens}: still what was in these slots before"
    for step, words in ((-1, "late"), (1, "early")):
        inside = [place for place in range(count) if (place + step) // BLOCK_SIZE == place // BLOCK_SIZE]
        if all(other[place] == one[place + step] for place in inside):
            return f"{tokens}: one slot too {words}"
    if sorted(one) == sorted(other):
        return f"{tokens}: in another order"
    for dtype in WORDS:
        if dtype != cache.dtype and _has_precision_of(dtype, cache, right, came):
            return f"{tokens}: elements with the precision of {dtype}"
    vector, layer = (int(axis[0]) for axis in np.nonzero((right != came)[:, :, wrong[0]].any(axis=-1)))
    return f"{tokens}: other numbers, the first in the {cache.vectors[vector]} vector of layer {layer}"


def _tokens(chunk: Chunk, wrong: Sequence[int], count: int) -> str:
    if len(wrong) == count:
        return "every token"
    if len(wrong) == 1:
        return "the last token" if wrong[0] == count - 1 else f"token {chunk.start + wrong[0]}"
    return f"{len(wrong)} tokens, the first is {chunk.start + wrong[0]}"


def _by_token(elements: Elements) -> list[bytes]:
    return [elements[:, :, place].tobytes() for place in range(elements.shape[2])]


def _before(engine: Engine, chunk: Chunk) -> Elements:
    """What was in the slots of a chunk before anything was loaded."""
    cache = engine.deployment.cache
    return _array(cache, Memory(cache, engine.memory.blocks).chunk(chunk.start, chunk.end))


def _has_precision_of(dtype: str, cache: CacheFormat, right: Elements, came: Elements) -> bool:
    """The elements are near the right ones, and another dtype would hold them as they are."""
    wanted, got = numbers(cache.dtype, right), numbers(cache.dtype, came)
    near = np.abs(wanted - got) <= np.abs(wanted) / 64
    return bool(near.all()) and rounded(cache.dtype, numbers(dtype, rounded(dtype, got))).tobytes() == came.tobytes()
