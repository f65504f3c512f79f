"""Phrases that several reports use: lists, and numbers with their nouns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

LONGEST_LIST: Final = 8


def listing(items: Iterable[object], limit: int = LONGEST_LIST) -> str:
    """``a``, ``a and b``, ``a, b and c``; of a long list the first ones and how many more there are."""
    words = [str(item) for item in items]
    if len(words) > limit:
        return f"{', '.join(words[:limit])} and {len(words) - limit} more"
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else "nothing"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """``1 byte``, ``4 bytes``."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def span(releases: Sequence[str]) -> str:
    """Up to three releases, which may lie far apart; of more the first, the last and how many there are."""
    return ", ".join(releases) if len(releases) <= 3 else f"{releases[0]} to {releases[-1]} ({len(releases)})"


def verb(number: int, one: str, many: str) -> str:
    """The form of a verb for so many things."""
    return one if number == 1 else many
