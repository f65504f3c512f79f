"""Plots of a bench as panels with computed coordinates: rates and times of calls, client beside floor, on logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from reports.bench.model import Bench, Figures, Measure, Unit
from reports.bench.numbers import duration, rate, size

WIDTH: Final = 400.0
HEIGHT: Final = 240.0
LEFT: Final = 70.0
RIGHT: Final = 14.0
TOP: Final = 12.0
BOTTOM: Final = 30.0
_APART: Final = 9.0
"""Between client and floor at one place of the axis."""
_STEPS: Final = (1, 2, 5)
_SMALL: Final = 0.1
"""GB/s below which a label would be too long."""
_MOST_LINES: Final = 6
"""Of the grid."""

Who = Literal["client", "floor"]
_SIDES: Final[tuple[tuple[Who, float], ...]] = (("client", -_APART), ("floor", _APART))


@dataclass(frozen=True)
class Tick:
    """A line of the grid, or a place below it."""

    at: float
    label: str


@dataclass(frozen=True)
class Mark:
    """A point of one side; ``kind`` is the percentile, or ``rate``."""

    who: Who
    kind: str
    x: float
    y: float
    tip: str


@dataclass(frozen=True)
class Stroke:
    """A line of one side through these points, as SVG writes them."""

    who: Who
    points: str


@dataclass(frozen=True)
class Panel:
    """One plot."""

    name: str
    title: str
    about: str
    """What it shows, in words, for those who do not see it."""
    across: Sequence[Tick]
    up: Sequence[Tick]
    strokes: Sequence[Stroke]
    marks: Sequence[Mark]


def panels(bench: Bench) -> list[Panel]:
    """All plots of a bench, of what has figures."""
    made = []
    measured = bench.of("measured")
    for operation in ("put", "get"):
        found = [one for one in measured if one.operation == operation]
        if found:
            word = operation.upper()
            made.append(_rates(f"{operation}-rate", f"{word}: GB/s by size of the value", found))
            made.append(_times(f"{operation}-time", f"{word}: time of a call by size of the value", found))
    rest = [one for one in measured if one.operation not in {"put", "get"}]
    if rest:
        made.append(_times("calls-time", "EXIST and chunk keys: time of a call", rest))
    return made


def _rates(name: str, title: str, measures: Sequence[Measure]) -> Panel:
    axis = _Axis([figures.rate for one in measures for figures in _both(one)], _round_rate)
    places = _places(measures)
    strokes, marks = [], []
    for who, _ in _SIDES:
        points = [(place.at, axis.at(_side(one, who).rate)) for place, one in zip(places, measures, strict=True)]
        strokes.append(Stroke(who, " ".join(f"{x:.1f},{y:.1f}" for x, y in points)))
        for one, (x, y) in zip(measures, points, strict=True):
            marks.append(Mark(who, "rate", x, y, f"{who}, {_label(one)}: {rate(_side(one, who).rate, one.unit)}"))
    return Panel(
        name, title, _told(title, measures, lambda figures, unit: rate(figures.rate, unit)), places, axis.ticks, strokes, marks
    )


def _times(name: str, title: str, measures: Sequence[Measure]) -> Panel:
    axis = _Axis([value for one in measures for figures in _both(one) for _, value in _percentiles(figures)], _round_time)
    places = _places(measures)
    strokes, marks = [], []
    for place, one in zip(places, measures, strict=True):
        for who, shift in _SIDES:
            figures, x = _side(one, who), place.at + shift
            strokes.append(Stroke(who, f"{x:.1f},{axis.at(figures.p50):.1f} {x:.1f},{axis.at(figures.longest):.1f}"))
            for kind, value in _percentiles(figures):
                marks.append(Mark(who, kind, x, axis.at(value), f"{who}, {_label(one)}, {kind}: {duration(value)}"))
    return Panel(
        name, title, _told(title, measures, lambda figures, _: duration(figures.p50)), places, axis.ticks, strokes, marks
    )


class _Axis:
    """A logarithmic axis that goes up, over all values."""

    def __init__(self, values: Iterable[float], label: Callable[[float], str]) -> None:
        positive = [value for value in values if value > 0] or [1.0]
        steps = [step * 10.0**power for power in range(-9, 13) for step in _STEPS]
        low = max((step for step in steps if step <= min(positive)), default=steps[0])
        high = min((step for step in steps if step >= max(positive) and step > low), default=steps[-1])
        self._low, self._span = math.log10(low), math.log10(high) - math.log10(low)
        inside = [step for step in steps if low <= step <= high]
        decades = [step for step in inside if math.isclose(math.log10(step) % 1, 0, abs_tol=1e-9)]
        shown = inside if len(inside) <= _MOST_LINES else sorted({low, *decades})
        self.ticks = [Tick(self.at(value), label(value)) for value in shown]

    def at(self, value: float) -> float:
        """Where a value stands; what is nothing stands at the bottom."""
        part = (math.log10(value) - self._low) / self._span if value > 0 else 0.0
        return HEIGHT - BOTTOM - min(1.0, max(0.0, part)) * (HEIGHT - TOP - BOTTOM)


def _round_rate(gigabytes: float) -> str:
    return f"{gigabytes:g} GB/s" if gigabytes >= _SMALL else f"{gigabytes * 1000:g} MB/s"


def _round_time(microseconds: float) -> str:
    for factor, unit in ((1_000_000, "s"), (1000, "ms")):
        if microseconds >= factor:
            return f"{microseconds / factor:g} {unit}"
    return f"{microseconds:g} us"


def _places(measures: Sequence[Measure]) -> list[Tick]:
    step = (WIDTH - LEFT - RIGHT) / len(measures)
    return [Tick(LEFT + step * (number + 0.5), _label(one)) for number, one in enumerate(measures)]


def _label(one: Measure) -> str:
    return size(one.size) if one.size is not None else one.algorithm or one.operation.upper()


def _percentiles(figures: Figures) -> tuple[tuple[str, float], ...]:
    return (("p50", figures.p50), ("p90", figures.p90), ("p99", figures.p99), ("max", figures.longest))


def _side(one: Measure, who: Who) -> Figures:
    found = one.client if who == "client" else one.floor
    assert found is not None, "only what was measured is drawn"
    return found


def _both(one: Measure) -> tuple[Figures, Figures]:
    return _side(one, "client"), _side(one, "floor")


def _told(title: str, measures: Sequence[Measure], word: Callable[[Figures, Unit], str]) -> str:
    parts = [
        f"{_label(one)} {word(_side(one, 'client'), one.unit)}, floor {word(_side(one, 'floor'), one.unit)}" for one in measures
    ]
    return f"{title}. {'; '.join(parts)}."
