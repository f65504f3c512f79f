"""The group tap in small."""

from __future__ import annotations

from benchmarks import tap
from benchmarks.measure import measured


def test_each_comparison_gives_figures_directly_and_through_the_tap(monkeypatch):
    monkeypatch.setattr(tap, "SIZES", {"EXIST": None, "PUT and GET, 4 KiB": 4096})
    with tap.opened() as comparisons:
        found = [measured(comparison, 1, 0.01) for comparison in comparisons]
    assert [outcome.comparison.name for outcome in found] == ["EXIST", "PUT and GET, 4 KiB"]
    assert all(outcome.figure(way) > 0 for outcome in found for way in ("direct", "tap"))
