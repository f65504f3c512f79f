"""Elements of K/V memory: what the model computes with, rounded to what is stored.

The model computes with integers, in units of 1 / :data:`UNIT`. Memory holds them divided by that, as float16, bfloat16
(the upper half of a float32, carried as an unsigned word) or float32, little-endian.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

UNIT: Final = 1 << 20
LARGEST: Final = 16 * UNIT
"""Beyond what the model computes; memory that a client filled may hold anything, and the model stays with it in range."""
WORDS: Final[Mapping[str, np.dtype[Any]]] = {"float16": np.dtype("<f2"), "bfloat16": np.dtype("<u2"), "float32": np.dtype("<f4")}
"""What carries an element of each dtype."""


def rounded(dtype: str, numbers: Numbers) -> NDArray[Any]:
    """Numbers of the model as the elements of a dtype, rounded to the nearest, halves to even."""
    values = numbers / UNIT
    if dtype != "bfloat16":
        return values.astype(WORDS[dtype])
    bits = values.astype("<f4").view("<u4")
    upper: NDArray[Any] = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return upper.astype(WORDS[dtype])


def numbers(dtype: str, elements: NDArray[Any]) -> Numbers:
    """The inverse of :func:`rounded`; what is no number is 0, what is too large is cut."""
    if dtype == "bfloat16":
        elements = (elements.astype("<u4") << 16).view("<f4")
    values = np.rint(elements.astype(np.float64) * UNIT)
    inside: Numbers = np.minimum(np.maximum(values, -LARGEST), LARGEST)
    inside[np.isnan(inside)] = 0.0
    return inside
