"""Whether a client has become slow: its ratios to the floor against a bound, or against those of another bench."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reports.bench.model import Bench
from reports.bench.numbers import ratio


@dataclass(frozen=True)
class Shortfall:
    """A measure whose ratio is below its bound, in words."""

    name: str
    words: str


def shortfalls(bench: Bench, bound: float, baseline: Bench | None = None) -> Iterator[Shortfall]:
    """The measures whose ratio is below the bound, or below that part of the ratio in the baseline.

    What has no ratio here and had one in the baseline is below every bound; what has none in the baseline is not compared.
    """
    if baseline is None:
        for one in bench.measures:
            if one.ratio is not None and one.ratio < bound:
                yield Shortfall(one.name, f"the ratio to the floor is {ratio(one.ratio)}, below {bound:g}")
        return
    before = {one.name: one.ratio for one in baseline.measures}
    for one in bench.measures:
        old = before.get(one.name)
        if old is None:
            continue
        if one.ratio is None:
            yield Shortfall(one.name, f"it is {one.state} now; the baseline has a ratio to the floor of {ratio(old)}")
        elif one.ratio < bound * old:
            now = f"the ratio to the floor is {ratio(one.ratio)}, that of the baseline {ratio(old)}"
            yield Shortfall(one.name, f"{now}: {one.ratio / old:.2f} of it, below {bound:g}")
