"""What a hostile act is: what it does, and what must and should be as it was, while it is under way and when it is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Literal

from harness.failure import PeerFailed
from harness.hostile.attack import Attack
from harness.peers import Peer

WHILE: Final = "while"
AFTER: Final = "after"
When = Literal["while", "after"]

ENDED_WITHIN: Final = 5.0
"""Seconds within which a server ends a connection on which no good request can come any more."""
SETTLED: Final = 0.2
"""Seconds after which a server has seen a reset: nobody is told when."""

Perform = Callable[[Attack], AbstractContextManager[None]]
Look = Callable[[Attack], str | None]
"""What is not as it should be, in words."""


@dataclass(frozen=True)
class Consequence:
    """Something that a requirement says of an act."""

    requirement: str
    look: Look
    when: When = AFTER


@dataclass(frozen=True)
class Act:
    """A row of the table. Every act must leave all other connections as they were; that needs no consequence."""

    name: str
    what: str
    """Behind *while* and *after*: ``half a header and then silence``."""
    perform: Perform
    """The block begins when the act is done as far as it goes; what it holds open ends with the block."""
    must: tuple[Consequence, ...] = ()
    should: tuple[Consequence, ...] = ()
    about_locations: bool = False
    """It says nothing of a release whose headers have none."""


def nothing_stored(requirement: str, when: When = AFTER) -> Consequence:
    """The older value is what it was, and the key without a value has none."""

    def look(attack: Attack) -> str | None:
        try:
            with Peer(attack.release, attack.server) as peer:
                if peer.get(attack.older) != attack.older_value:
                    return "the older value of the key is not what a GET brings any more"
                if peer.exist(attack.fresh):
                    return "a key exists whose only PUT was not a good one"
                if peer.get(attack.fresh) is not None:
                    return "a GET brings a value for a key whose only PUT was not a good one"
        except PeerFailed as failed:
            return f"reading the key afterwards: {failed}"
        return None

    return Consequence(requirement, look, when)


def nothing_stored_later(requirement: str) -> Consequence:
    """The same, at once and when a reset has surely been seen."""
    now = nothing_stored(requirement)

    def look(attack: Attack) -> str | None:
        found = now.look(attack)
        if found is None:
            time.sleep(SETTLED)
            found = now.look(attack)
        return found

    return Consequence(requirement, look)


def ended(requirement: str) -> Consequence:
    """Every connection that sent something senseless was ended, without a reply."""

    def look(attack: Attack) -> str | None:
        until = time.monotonic() + ENDED_WITHIN
        for problem in _of_each(attack, until):
            return problem
        return None

    return Consequence(requirement, look, WHILE)


def _of_each(attack: Attack, until: float) -> Iterator[str]:
    for peer in attack.suspects:
        came, is_over = peer.rest(within=max(0.01, until - time.monotonic()))
        if came:
            yield f"{len(came)} bytes came in reply to it: {came[:36].hex()}"
        elif not is_over:
            yield f"the connection was still open after {ENDED_WITHIN:g} s"
