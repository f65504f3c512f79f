"""Figures as people read them."""

from __future__ import annotations

from typing import Final

from reports.bench.model import Unit

UNKNOWN: Final = "-"


def rate(value: float, unit: Unit) -> str:
    """``1.25 GB/s`` or ``12,300/s``."""
    if unit == "GB/s":
        return f"{_digits(value)} GB/s"
    return f"{_digits(value)} {unit}"


def duration(microseconds: float) -> str:
    """``85 us``, ``1.2 ms`` or ``3.4 s``."""
    for limit, divisor, unit in ((1000, 1, "us"), (1_000_000, 1000, "ms")):
        if microseconds < limit:
            return f"{_digits(microseconds / divisor)} {unit}"
    return f"{_digits(microseconds / 1_000_000)} s"


def memory(size: int | None) -> str:
    """``31 MiB``."""
    return UNKNOWN if size is None else f"{size / (1 << 20):.0f} MiB"


def ratio(value: float | None) -> str:
    """``0.42``."""
    return UNKNOWN if value is None else f"{_digits(value)}"


def size(value: int) -> str:
    """``8 MiB``."""
    for shift, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if value % (1 << shift) == 0:
            return f"{value >> shift} {unit}"
    return f"{value} B"


def _digits(value: float) -> str:
    """Three digits that count, with commas between thousands and no exponent."""
    if value >= 100:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"
