"""Runs with several processes and in shards are measured: every round makes the shards once."""

from benchmarks.measure import measured
from benchmarks.scale import SHARDS, _Lap, opened


def test_all_figures_of_a_round_are_of_the_same_shards():
    made = []

    def shards():
        made.append(len(made) + 1.0)
        return [made[-1], 0.0]

    lap = _Lap(shards)
    longest, mean = lap.told(max), lap.told(lambda long: sum(long) / len(long))
    assert [longest(1), mean(1)] == [1.0, 0.5]
    assert [mean(1), longest(1)] == [1.0, 2.0]


def test_a_small_selection_is_measured():
    with opened(
        ("--client", "reference", "--lmcache", "0.5.6", "--target", "mock", "--only", "lm.roundtrip.miss")
    ) as comparisons:
        shards = comparisons[-1]
        outcome = measured(shards, rounds=1, seconds=0.01)
    assert shards.name == f"cases of {SHARDS} shards"
    assert outcome.figure("longest") >= outcome.figure("mean") > 0
