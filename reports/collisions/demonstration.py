"""A collision that was played: what was sent to a running server, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Target = Literal["live", "mock"]


@dataclass(frozen=True)
class Act:
    """One step of a demonstration."""

    did: str
    """What was done, in words."""
    came: str
    """What came back, or what was seen."""
    sent: tuple[bytes, ...] = ()
    """The frames behind the uid, where a message was sent."""


@dataclass(frozen=True)
class Demonstration:
    """One collision against one server."""

    title: str
    client: str
    """The release whose message was sent; empty where it is nobody's."""
    server: str
    target: Target
    acts: Sequence[Act]
    shown: bool
    """Whether what was derived happened."""
    verdict: str
    """One sentence."""
    problem: str | None = None
    """Why it could not be played to its end; no verdict then."""
