"""The words under which a plugin counts what became of objects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

WORDS: Final = (
    "stored",
    "deduplicated",
    "skipped",
    "dropped",
    "rejected",
    "loaded",
    "missed",
    "damaged",
    "unavailable",
)
"""As docs/spec/plugins.md has them."""
_APART: Final = re.compile(r"[^a-z0-9]+")


def counts(statistics: Mapping[str, Any]) -> dict[str, int]:
    """The number of each word that is a member at any depth, or a part of the name of one; more than one of a word are added up.

    A member that does not count objects (``stored_now``, ``bytes_stored``) is left out: one that has a part ``bytes``, ``now``,
    ``seconds`` or ``limit``.
    """
    found: dict[str, int] = {}
    for name, number in _numbers(statistics):
        parts = _APART.split(name.lower())
        if {"bytes", "now", "seconds", "limit"} & set(parts):
            continue
        for word in WORDS:
            if word in parts:
                found[word] = found.get(word, 0) + number
    return found


def _numbers(members: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for name, value in members.items():
        if isinstance(value, Mapping):
            yield from _numbers(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            yield name, value
