"""What is compared with what, and which bounds hold: values only, nothing measures here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

Better = Literal["more", "less"]

UNITS: Final = ("GB/s", "1/s", "keys/s", "us", "ms", "s", "MiB")
"""Units of figures; GB/s are 10^9 bytes a second, MiB are 2^20 bytes."""


@dataclass(frozen=True)
class Contender:
    """One of the things that a comparison measures.

    Attributes:
        name: as the table names it, such as "mock", "real", "floor".
        measure: runs for about so many seconds and returns one figure in the unit of the comparison.
    """

    name: str
    measure: Callable[[float], float]


@dataclass(frozen=True)
class Target:
    """A bound for the figure of one contender or, with `over`, for its ratio to that of another one.

    Exactly one of `at_least` and `at_most` is given.
    """

    of: str
    at_least: float | None = None
    at_most: float | None = None
    over: str | None = None

    def __post_init__(self) -> None:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError(f"the target for {self.of} needs at_least or at_most, and not both")

    def met(self, value: float) -> bool:
        """Whether a figure or ratio keeps the bound."""
        if self.at_least is not None:
            return value >= self.at_least
        return self.at_most is not None and value <= self.at_most

    def text(self, unit: str) -> str:
        """The bound in words, such as "mock >= 2 x real" or "once < 10 s"."""
        sign, bound = ("≥", self.at_least) if self.at_least is not None else ("≤", self.at_most)
        return f"{self.of} {sign} {bound:g} x {self.over}" if self.over is not None else f"{self.of} {sign} {bound:g} {unit}"


@dataclass(frozen=True)
class Comparison:
    """Contenders that do the same work, in turns.

    Attributes:
        name: what is done, unique in its group, such as "PUT 4 KiB".
        unit: one of `UNITS`.
        better: whether more or less of the unit is better.
        contenders: in the order of the table.
        targets: the bounds that shall hold.
        note: what a reader must know to read the figures, in one sentence.
        rounds: how many rounds at most, where one takes long; None as asked for.
    """

    name: str
    unit: str
    better: Better
    contenders: tuple[Contender, ...]
    targets: tuple[Target, ...] = ()
    note: str = ""
    rounds: int | None = None

    def __post_init__(self) -> None:
        names = [contender.name for contender in self.contenders]
        if len(set(names)) != len(names) or not names:
            raise ValueError(f"the contenders of {self.name!r} need names of their own, and are {names}")
        if self.unit not in UNITS:
            raise ValueError(f"the unit of {self.name!r} is {self.unit!r}, and is one of {', '.join(UNITS)}")
        for target in self.targets:
            for name in filter(None, (target.of, target.over)):
                if name not in names:
                    raise ValueError(f"a target of {self.name!r} speaks of {name!r}, and the contenders are {names}")
