"""Values and token lists that are measured with."""

from __future__ import annotations

import math
import random
from typing import Final

from harness.values import Value

TOKENS: Final = 16_384
CHUNK: Final = 256
VOCABULARY: Final = 128_000
_WIDEST: Final = 1024
_ELEMENT: Final = 2
"""Bytes of a float16."""


def value(size: int, seed: int) -> Value:
    """A chunk of one layer with K and V of so many bytes, as an engine stores it; another seed gives other bytes."""
    elements = size // (2 * _ELEMENT)
    width = math.gcd(elements, _WIDEST)
    payload = random.Random(seed).randbytes(size)  # noqa: S311  # bytes that differ, not secrets
    return Value(payload, "KV_2LTD", "float16", (2, 1, elements // width, width))


def tokens() -> list[int]:
    """A prompt."""
    drawn = random.Random(TOKENS)  # noqa: S311  # numbers that differ, not secrets
    return [drawn.randrange(VOCABULARY) for _ in range(TOKENS)]
