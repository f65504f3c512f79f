"""Prompts, and what the model answers to them when nothing was stored."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from harness.engine.memory import BLOCKS, CacheFormat, Memory
from harness.engine.transformer import VOCABULARY, decode, prefill

CHUNK: Final = 8
ANSWER: Final = 12
"""Tokens that the model goes on with; so many agree by accident once in 10 to the power of 23."""
IN_ORDER: Final = tuple(range(BLOCKS))
SCATTERED: Final = tuple((7 * number + 5) % BLOCKS for number in range(BLOCKS))
"""Blocks as another engine hands them out: nothing is where it was."""

Prompt = tuple[int, ...]


def words(seed: str, count: int) -> Prompt:
    """So many tokens, the same ones every time."""
    return tuple(byte % VOCABULARY for byte in hashlib.shake_128(seed.encode()).digest(count))


TURN: Final = words("a turn of a conversation", 4 * CHUNK + 5)
"""Four chunks and five tokens."""
FORK: Final = TURN[: 3 * CHUNK] + words("another question about the same text", 6)
"""The first three chunks of :data:`TURN`, and another end."""
OTHER: Final = words("another beginning", CHUNK) + TURN[CHUNK:]
"""All chunks of :data:`TURN` but the first."""
NEXT_TURN: Final = TURN + words("the next turn", CHUNK)
"""Goes on in the middle of the last chunk of :data:`TURN`."""


@dataclass(frozen=True)
class Cold:
    """What an engine computed that had nothing stored; its memory is full of the prompt and is not to be changed."""

    prompt: Prompt
    memory: Memory
    answer: Sequence[int]


@functools.cache
def cold(cache: CacheFormat, prompt: Prompt) -> Cold:
    """Prefill and decode without a cache."""
    memory = Memory(cache, IN_ORDER)
    return Cold(prompt, memory, decode(memory, prompt, prefill(memory, prompt), ANSWER))
