"""Patterns over the ids of cases, as ``--only`` and lists of known failures use them."""

from __future__ import annotations

import fnmatch
import functools
import re


def matches(pattern: str, identity: str) -> bool:
    """Shell patterns over ids; brackets are literal, and a pattern without them means every cell of the case."""
    return identity == pattern or _compiled(pattern).match(identity) is not None


def literal_start(pattern: str) -> str:
    """What every id that the pattern matches begins with."""
    return re.split(r"[*?]", pattern, maxsplit=1)[0]


@functools.lru_cache(maxsize=8192)
def _compiled(pattern: str) -> re.Pattern[str]:
    literal = pattern.replace("[", "[[]")
    return re.compile("|".join(fnmatch.translate(text) for text in (literal, f"{literal}[[]*")))
