"""Which exchanges a fault concerns."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Final

from wire.lm.enums import COMMANDS
from wire.numerals import read_integer

_SPELLING: Final = re.compile(r"(?P<first>[0-9]+)\.\.(?P<last>[0-9]*)")


@dataclass(frozen=True, slots=True)
class Span:
    """Several numbers in a row: ``2..5``, or ``3..`` without an end."""

    first: int
    last: int | None = None

    def __post_init__(self) -> None:
        if self.last is not None and self.last <= self.first:
            raise ValueError(f"a span rises, such as {self.first}..{self.first + 1}; {self} does not")

    def __contains__(self, number: int) -> bool:
        return self.first <= number and (self.last is None or number <= self.last)

    def __str__(self) -> str:
        return f"{self.first}..{'' if self.last is None else self.last}"


Ordinals = int | Span
"""A number that counts from 1, or several in a row."""


def read_ordinals(text: str) -> Ordinals:
    """A number or a span as ``--fault`` spells it.

    Raises:
        ValueError: it is neither, or a span that does not rise.
    """
    found = _SPELLING.fullmatch(text)
    if found is None:
        return read_integer(text, hexadecimal=True)
    return Span(read_integer(found["first"]), read_integer(found["last"]) if found["last"] else None)


@dataclass(frozen=True, slots=True)
class Match:
    """Which exchanges a rule concerns; what is None does not matter.

    ``nth`` counts, from 1, the exchanges that agree with the rest of the match, since the plan was set: those of the whole
    server or, where ``connection`` is given, those of each of these connections. ``connection`` counts the connections in the
    order of their acceptance. ``probability`` draws among those that are left. What is drawn follows from ``seed``, the fault
    and the numbers of connection and exchange alone, so it does not depend on the timing of threads. ``key`` is the text of
    the key field without its padding.
    """

    command: str | None = None
    nth: Ordinals | None = None
    connection: Ordinals | None = None
    probability: float | None = None
    seed: int | None = None
    key: str | None = None

    def __post_init__(self) -> None:
        if self.command is not None and self.command not in COMMANDS:
            raise ValueError(f"no command is called {self.command!r}; there are {', '.join(COMMANDS)}")
        require_ordinals(nth=self.nth, connection=self.connection)
        require_lot(self.probability, self.seed)
        if self.key is not None and self.key != self.key.strip():
            raise ValueError(f"key {self.key!r} begins or ends with white space, which no key has")

    def agrees(self, command: str, connection: int, key: str) -> bool:
        """Whether an exchange fits, ``nth`` and ``probability`` aside."""
        return self.command in {None, command} and self.key in {None, key} and includes(self.connection, connection)

    def draws(self, fault: str, connection: int, exchange: int) -> bool:
        """Whether the lot falls on an exchange, given by its number on its connection."""
        return drawn(self.probability, self.seed, fault, connection, exchange)


def require_ordinals(**given: Ordinals | None) -> None:
    """Nothing, if what counts from 1 begins with 1 or later.

    Raises:
        ValueError: one of them, given by its name, begins before.
    """
    for name, ordinals in given.items():
        first = ordinals.first if isinstance(ordinals, Span) else ordinals
        if first is not None and first < 1:
            raise ValueError(f"{name} counts from 1, not from {first}")


def require_lot(probability: float | None, seed: int | None) -> None:
    """Nothing, if a lot can be drawn.

    Raises:
        ValueError: the probability is none, or there is a seed without one.
    """
    if probability is not None and not 0 <= probability <= 1:
        raise ValueError(f"probability is a number from 0 to 1, not {probability}")
    if seed is not None and probability is None:
        raise ValueError("seed means nothing without probability=")


def drawn(probability: float | None, seed: int | None, fault: str, *numbers: int) -> bool:
    """Whether the lot of a fault falls on a request, given by its numbers; always where there is no probability."""
    if probability is None:
        return True
    lot = random.Random(" ".join(map(str, (seed or 0, fault, *numbers))))  # noqa: S311  # a test plan, no secret
    return lot.random() < probability


def includes(ordinals: Ordinals | None, number: int) -> bool:
    """Whether a number is meant; None means all."""
    return ordinals is None or (number in ordinals if isinstance(ordinals, Span) else number == ordinals)
