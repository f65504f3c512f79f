"""The table of known causes: independent dimensions, likely ones first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from harness.mismatch import mistakes, settings
from harness.mismatch.hypothesis import Hypothesis
from harness.mismatch.request import Request

DIMENSIONS: Final[tuple[Callable[[Request], Iterator[Hypothesis]], ...]] = (
    settings.seeds,
    mistakes.starting_hashes,
    settings.chunk_sizes,
    mistakes.third_elements,
    settings.vllm_versions,
    mistakes.digests,
    settings.algorithms,
    mistakes.tokens,
    mistakes.links,
    settings.releases,
    mistakes.families,
    mistakes.words,
    mistakes.text_links,
    settings.pythons,
)
"""Each gives the hypotheses about a request; nothing is one that leaves the request as it is."""

COOKING_ORDER: Final = (
    "third element",
    "digest",
    "NONE_HASH",
    "chunk size",
    "tokens",
    "link",
    "family",
    "words",
    "text link",
)
"""Dimensions that change a recipe, in the order in which they do: what comes later may depend on what came before."""


def hypotheses(request: Request) -> tuple[Hypothesis, ...]:
    """Every hypothesis about a request, in order of plausibility."""
    return tuple(hypothesis for dimension in DIMENSIONS for hypothesis in dimension(request))
