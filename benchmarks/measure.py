"""Measuring: contenders take turns, so that what else the machine does meets all of them alike."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.comparison import Comparison, Target

WARM_UP = 0.2
"""The share of the time of a measurement for which each contender runs before the first round."""


@dataclass(frozen=True)
class Judged:
    """A target, the figure or ratio that was measured for it, and whether it is met."""

    target: Target
    value: float
    met: bool


@dataclass(frozen=True)
class Outcome:
    """What was measured for one comparison.

    Attributes:
        comparison: what was compared.
        samples: the figures of each contender, one a round, in the order of the rounds.
    """

    comparison: Comparison
    samples: dict[str, tuple[float, ...]]

    def figure(self, name: str) -> float:
        """The median figure of a contender, in the unit of the comparison."""
        return statistics.median(self.samples[name])

    def ratio(self, name: str, over: str) -> float:
        """The median over the rounds of one contender's figure divided by that of another one in the same round."""
        pairs = zip(self.samples[name], self.samples[over], strict=True)
        return statistics.median(one / other if other else float("inf") for one, other in pairs)

    @property
    def judged(self) -> tuple[Judged, ...]:
        """Each target with what was measured for it."""
        return tuple(self._judge(target) for target in self.comparison.targets)

    def _judge(self, target: Target) -> Judged:
        value = self.figure(target.of) if target.over is None else self.ratio(target.of, target.over)
        return Judged(target, value, target.met(value))


def measured(comparison: Comparison, rounds: int, seconds: float, tell: Callable[[str], None] = lambda _: None) -> Outcome:
    """The outcome of some rounds, in each of which every contender runs once; who begins moves on from round to round.

    Args:
        comparison: what to measure.
        rounds: how many; at most the comparison's own limit.
        seconds: how long one measurement of one contender takes, about.
        tell: is told of each round.
    """
    contenders = comparison.contenders
    if comparison.rounds is None:
        for contender in contenders:
            contender.measure(seconds * WARM_UP)
    samples: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    limited = rounds if comparison.rounds is None else min(rounds, comparison.rounds)
    for number in range(limited):
        tell(f"{comparison.name}: round {number + 1} of {limited}")
        first = number % len(contenders)
        for contender in contenders[first:] + contenders[:first]:
            samples[contender.name].append(contender.measure(seconds))
    return Outcome(comparison, {name: tuple(figures) for name, figures in samples.items()})
