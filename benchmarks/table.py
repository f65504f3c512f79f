"""Outcomes as tables in Markdown, and their place in a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.measure import Judged, Outcome

BEGIN: Final = "<!-- benchmarks -->"
END: Final = "<!-- /benchmarks -->"
_STEPS: Final = ((1e6, 1e6, " M"), (1e4, 1e3, " k"))


def number(value: float, unit: str) -> str:
    """A figure with three significant digits and its unit; large counts per second in thousands and millions."""
    if unit.endswith("/s") and unit != "GB/s":
        for least, scale, suffix in _STEPS:
            if value >= least:
                return f"{_digits(value / scale)}{suffix}{'' if unit == '1/s' else ' '}{'/s' if unit == '1/s' else unit}"
        return f"{_digits(value)} /s" if unit == "1/s" else f"{_digits(value)} {unit}"
    return f"{_digits(value)} {unit}"


def _digits(value: float) -> str:
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}" if value < 0.01 else f"{value:.{2 if value < 10 else 1}f}"


def markdown(title: str, outcomes: Sequence[Outcome]) -> str:
    """The table of one group: a row for each comparison, its figures, and each target with what was measured for it.

    A missed target stands in bold.
    """
    lines = [f"**{title}**", "", "| | measured | targets |", "|---|---|---|"]
    for outcome in outcomes:
        comparison = outcome.comparison
        figures = ", ".join(f"{one.name} {number(outcome.figure(one.name), comparison.unit)}" for one in comparison.contenders)
        targets = "; ".join(_target(judged, comparison.unit) for judged in outcome.judged)
        lines.append(f"| {comparison.name} | {figures} | {targets} |")
    lines += [f"\n{note}" for note in dict.fromkeys(one.comparison.note for one in outcomes) if note]
    return "\n".join(lines) + "\n"


def _target(judged: Judged, unit: str) -> str:
    target = judged.target
    value = f"{judged.value:.2f} x" if target.over is not None else number(judged.value, unit)
    said = f"{target.text(unit)}: {value}"
    return said if judged.met else f"**{said}, missed**"


def put(page: Path, text: str) -> None:
    """Put tables between the marks of a page, in place of what stands there.

    Raises:
        ValueError: the page has not exactly one pair of marks, in order.
    """
    before, after = around(page)
    page.write_text(f"{before}{BEGIN}\n\n{text.strip()}\n\n{END}{after}", encoding="utf-8")


def around(page: Path) -> tuple[str, str]:
    """What stands before and after the marks of a page; one that is not there yet would have nothing but the marks.

    Raises:
        ValueError: the page has not exactly one pair of marks, in order, or cannot be read, or its folder is not there.
    """
    if not page.parent.is_dir():
        raise ValueError(f"{page}: there is no folder {page.parent}; make it first")
    try:
        said = page.read_text(encoding="utf-8") if page.exists() else f"{BEGIN}\n{END}\n"
    except OSError as error:
        raise ValueError(f"{page}: cannot be read: {error.strerror}") from None
    before, begin, rest = said.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in after:
        raise ValueError(f"{page} needs one line '{BEGIN}' and after it one line '{END}', between which the tables go")
    return before, after
