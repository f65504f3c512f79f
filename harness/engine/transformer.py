"""A decoder-only transformer whose answer does not depend on the machine, and does depend on every element it has read.

Two layers of attention with two heads and a feed-forward part, positions that are learned and a bias for the distance of two
tokens. Weights are drawn by SHAKE-128. All numbers are integers in units of 2 to the power of -20, small enough that every sum
is exact in float64 in whatever order it is taken; the only roundings are those of IEEE 754 division and square root, and to the
nearest integer. So a prefix that was loaded and one that was computed give the same bits, on any machine and with any numpy.

Two parts are not those of a trained model. Scores weigh values as they are, without an exponential, which no two libraries round
alike. And the feed-forward part is a wave with a great many periods: it makes an error of one unit in one element a large one in
all of them, where a trained model would smooth it out.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from harness.engine.elements import UNIT, Numbers
from harness.engine.memory import BLOCK_SIZE, BLOCKS, HEAD_SIZE, HEADS, LAYERS, RANK, Memory

VOCABULARY: Final = 97
WIDTH: Final = 32
INNER: Final = 64
LONGEST: Final = BLOCKS * BLOCK_SIZE
_SHRINK: Final = 512.0
"""What a product with a matrix is divided by, so that numbers keep their size."""
_FINEST: Final = 4.0
"""What scores are divided by, so that sums of weighted values stay exact."""
_PERIOD: Final = 1024
"""Of the wave, in units: one usual weight times one unit is a tenth of it."""


@dataclass(frozen=True)
class Layer:
    """The weights of one layer."""

    query: Numbers
    stored: tuple[Numbers, ...]
    """What the vectors of a token in memory are made with."""
    from_latent: tuple[Numbers, Numbers] | None
    """What makes keys and values of the latent vectors."""
    mixed: Numbers
    up: Numbers
    down: Numbers
    distance: Numbers
    """``[heads, tokens]``: what is added to a score, by how far back the other token is."""


@dataclass(frozen=True)
class Transformer:
    """All weights, and the one thing it does."""

    embedding: Numbers
    position: Numbers
    layers: tuple[Layer, ...]
    head: Numbers

    def step(self, memory: Memory, place: int, token: int) -> Numbers:
        """Compute the token at a place, after all before it: its K/V goes into memory; the logits of the next token come back."""
        x = self.embedding[token] + self.position[place]
        for number, layer in enumerate(self.layers):
            h = _normal(x)
            for vector, weights in enumerate(layer.stored):
                memory.write(number, vector, place, _times(weights, h))
            x = x + _times(layer.mixed, _attend(layer, memory, number, place, _times(layer.query, h)))
            x = x + _times(layer.down, _wave(layer.up @ _normal(x)))
        logits: Numbers = self.head @ _normal(x)
        return logits


def prefill(memory: Memory, tokens: Sequence[int], *, computed: int = 0) -> Numbers:
    """Compute a prompt whose first ``computed`` tokens are in memory; the logits of the token behind it.

    The last token is computed in any case: no cache holds logits.
    """
    model = transformer(latent=memory.cache.latent)
    logits = np.zeros(VOCABULARY)
    for place in range(min(computed, len(tokens) - 1), len(tokens)):
        logits = model.step(memory, place, tokens[place])
    return logits


def decode(memory: Memory, tokens: Sequence[int], logits: Numbers, count: int) -> list[int]:
    """The ``count`` tokens behind a prompt, each the likeliest."""
    model = transformer(latent=memory.cache.latent)
    answer: list[int] = []
    while True:
        answer.append(int(np.argmax(logits)))
        if len(answer) == count:
            return answer
        logits = model.step(memory, len(tokens) + len(answer) - 1, answer[-1])


@functools.cache
def transformer(*, latent: bool) -> Transformer:
    """The model, with keys and values in memory or with latent vectors."""
    kind = "latent" if latent else "keys and values"
    hidden = HEADS * HEAD_SIZE

    def draw(name: str, *shape: int) -> Numbers:
        text = f"{kind}: {name}".encode()
        return np.frombuffer(hashlib.shake_128(text).digest(math.prod(shape)), np.int8).reshape(shape).astype(np.float64)

    def layer(number: int) -> Layer:
        def of_layer(name: str, *shape: int) -> Numbers:
            return draw(f"layer {number} {name}", *shape)

        stored = [of_layer("latent", RANK, WIDTH)] if latent else [of_layer(name, hidden, WIDTH) for name in ("key", "value")]
        return Layer(
            query=of_layer("query", hidden, WIDTH),
            stored=tuple(stored),
            from_latent=(of_layer("key", hidden, RANK), of_layer("value", hidden, RANK)) if latent else None,
            mixed=of_layer("mixed", WIDTH, hidden),
            up=of_layer("up", INNER, WIDTH),
            down=of_layer("down", WIDTH, INNER),
            distance=of_layer("distance", HEADS, LONGEST),
        )

    return Transformer(
        embedding=draw("embedding", VOCABULARY, WIDTH) * (UNIT / 64),
        position=draw("position", LONGEST, WIDTH) * (UNIT / 128),
        layers=tuple(layer(number) for number in range(LAYERS)),
        head=draw("head", VOCABULARY, WIDTH),
    )


def _attend(layer: Layer, memory: Memory, number: int, place: int, query: Numbers) -> Numbers:
    """The values of all tokens so far, by how well their keys fit; ``[heads * head size]``."""
    end = place + 1
    read = [memory.read(number, vector, end) for vector in range(len(memory.cache.vectors))]
    if layer.from_latent is not None:
        read = [np.rint(read[0] @ weights.T / (_SHRINK / 2)) for weights in layer.from_latent]
    keys, values = (found.reshape(end, HEADS, HEAD_SIZE).transpose(1, 0, 2) for found in read)
    scores = (keys @ query.reshape(HEADS, HEAD_SIZE, 1))[:, :, 0] / (UNIT * math.sqrt(HEAD_SIZE))
    scores += layer.distance[:, place::-1] * (UNIT / 128)
    weights = np.rint(np.minimum(np.maximum(scores + 4 * UNIT, 0), 8 * UNIT) / _FINEST) + 1
    mixed: Numbers = (weights[:, None, :] @ values)[:, 0] * 4 / weights.sum(axis=1)[:, None]
    return np.rint(mixed).reshape(-1)


def _normal(x: Numbers) -> Numbers:
    """The same direction, with elements of the usual size."""
    return np.rint(x * (UNIT / math.sqrt(max(float(x @ x) / x.size, 1.0))))


def _times(weights: Numbers, x: Numbers) -> Numbers:
    return np.rint(weights @ x / _SHRINK)


def _wave(x: Numbers) -> Numbers:
    """A sine made of parabolas, exact, between -1 and 1."""
    half = _PERIOD // 2
    turned = x % _PERIOD - half
    wave: Numbers = turned * (half - np.abs(turned)) * (UNIT * 4 / half**2)
    return wave
