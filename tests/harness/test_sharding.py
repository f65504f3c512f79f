"""Which executions each of several machines makes."""

import os
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.case import Cell, Variant
from harness.costs import Costs, measured_costs
from harness.runner import collect_cases
from harness.sharding import Placed, parse_shard, partition
from harness.usage import UsageError
from reports.parts import Shard
from wire.release import Release

RELEASES = [Release.parse(f"0.5.{patch}") for patch in range(7)]


ALIKE = Costs({})
"""Every execution costs the same, and a server starts at once."""
SOME = Costs({"dear": {"mock": 1.0, "mock-1": 5.0}, "cheap": {"mock": 0.01}, "served": {"live": 0.5}}, live_start=8.0)


def executions(name, count, target="mock", releases=RELEASES[:1]):
    return [Placed(name, Cell(release, target, Variant(str(number), number))) for release in releases for number in range(count)]


def test_a_shard_is_written_as_its_number_and_how_many_there_are():
    assert parse_shard("2/4") == Shard(2, 4)
    assert str(Shard(2, 4)) == "2/4"


@pytest.mark.parametrize(
    "text", ["0/4", "5/4", "x", "", "1", "1/", "/4", "-1/4", "1/-4", "1/0", "1.0/4", "1/4/4", "١/٤", "1/257", "9" * 99]
)
def test_what_is_no_shard_is_refused_with_what_to_write(text):
    with pytest.raises(UsageError, match="--shard"):
        parse_shard(text)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 200])
def test_every_execution_is_in_one_shard_and_shards_are_of_one_size(count):
    cases = [*executions("a", 50, releases=RELEASES), *executions("b", 31, "fixtures")]
    shards = partition(cases, count)
    assert sorted(place for places in shards for place in places) == list(range(len(cases)))
    assert max(map(len, shards)) - min(map(len, shards)) <= 1
    assert all(places == sorted(places) for places in shards)


def test_more_shards_than_executions_leave_some_empty():
    assert partition(executions("a", 2), 4) == [[0], [1], [], []]


def test_what_costs_the_same_is_dealt_out_evenly():
    one_heavy_variant = executions("heavy", 2, releases=RELEASES[:4])
    heavy = {place for place, one in enumerate(one_heavy_variant) if one.cell.variant.id == "0"}
    assert [len(heavy & set(places)) for places in partition(one_heavy_variant, 4)] == [1, 1, 1, 1]


def test_one_server_of_each_release_is_started_on_one_machine():
    cases = [*executions("a", 40, "live", RELEASES[:4]), *executions("b", 400)]
    shards = partition(cases, 4)
    where = {
        (cases[place].cell.release, number)
        for number, places in enumerate(shards)
        for place in places
        if cases[place].cell.target == "live"
    }
    assert sorted(number for _, number in where) == [0, 1, 2, 3]
    assert {len(places) for places in shards} == {140}


def test_live_cases_are_cut_where_they_alone_are_more_than_a_fair_share():
    assert Counter(map(len, partition(executions("a", 40, "live"), 4, ALIKE))) == {10: 4}


def test_the_pieces_of_a_release_are_about_equal():
    """Eleven of 0.5 s on shards of 2.5 s: three pieces, of which none is a rest that pays for a server of its own."""
    cases = [*executions("served", 11, "live"), *executions("cheap", 200)]
    costs = Costs(SOME.seconds, live_start=1.0)
    sizes = [sum(cases[place].cell.target == "live" for place in places) for places in partition(cases, 3, costs)]
    assert sorted(sizes) == [3, 4, 4]


def test_no_server_is_started_for_less_work_than_its_start():
    assert Counter(map(len, partition(executions("served", 40, "live"), 8, SOME))) == {20: 2, 0: 6}


def test_the_partition_is_that_of_yesterday():
    """Machines may have different versions of Python, never of this rule: a change of it needs a line in the changelog."""
    cases = [*executions("b", 3, "live"), *executions("a", 3, "fixtures"), *executions("a", 3)]
    assert partition(cases, 2, ALIKE) == [[0, 1, 2, 6, 8], [3, 4, 5, 7]]
    dear = [*executions("cheap", 3), *executions("dear", 3), *executions("served", 2, "live")]
    assert partition(dear, 2, SOME) == [[6, 7], [0, 1, 2, 3, 4, 5]]


def cell_written(text):
    release, target, *variant = text.split("-", 2)
    return Cell(Release.parse(release), target, Variant(variant[0], None) if variant else None)


@given(
    cases=st.lists(
        st.builds(
            lambda name, target, release, variant: Placed(name, Cell(RELEASES[release], target, Variant(str(variant), variant))),
            st.sampled_from(["dear", "cheap", "served", "never measured"]),
            st.sampled_from(["mock", "fixtures"]),
            st.integers(0, 6),
            st.integers(0, 2),
        ),
        max_size=60,
    ),
    count=st.integers(1, 12),
)
def test_every_execution_is_in_one_shard_and_no_shard_is_longer_than_the_shortest_by_more_than_one_execution(cases, count):
    shards = partition(cases, count, SOME)
    assert sorted(place for places in shards for place in places) == list(range(len(cases)))
    cost = [SOME.of(one.name, one.cell) for one in cases]
    long = [sum(cost[place] for place in places) for places in shards]
    assert max(long) - min(long) <= max(cost, default=0)
    assert shards == partition(cases, count, SOME)


def test_a_variant_that_takes_longer_has_a_cost_of_its_own_and_what_was_never_measured_costs_the_median():
    slow, usual = (Cell(RELEASES[0], "mock", Variant(name, 0)) for name in "10")
    assert (SOME.of("dear", slow), SOME.of("dear", usual)) == (50_000, 10_000)
    assert SOME.of("never measured", usual) == SOME.of("served", Cell(RELEASES[0], "live", None)) == 5_000
    assert ALIKE.of("dear", slow) == ALIKE.of("dear", usual)


def test_shards_of_the_whole_matrix_take_equally_long_by_the_costs_that_come_with_the_tool():
    costs = measured_costs()
    listed = collect_cases(lmcache="0.3.1,0.4.3,0.5.6", target="fixtures,mock", only=())
    matrix = [Placed(one.name, cell_written(one.id.removeprefix(one.name)[1:-1])) for one in listed]
    known = [one for one in matrix if one.cell.target in costs.seconds.get(one.name, {})]
    assert len(known) >= 0.95 * len(matrix), "too many cases without a cost: run python -m benchmarks.case_costs"
    long = [sum(costs.of(matrix[place].name, matrix[place].cell) for place in places) for places in partition(matrix, 4)]
    assert max(long) <= 1.05 * sum(long) / 4


def test_the_partition_does_not_depend_on_how_python_hashes():
    program = (
        "from harness.case import Cell, Variant\nfrom harness.sharding import Placed, partition\n"
        "from wire.release import Release\n"
        "cells = [Cell(Release.parse('0.5.6'), target, Variant(text, text)) for target in ('mock', 'live') for text in 'abc']\n"
        "print(partition([Placed(name, cell) for name in ('lm.roundtrip.miss', 'lm.broken.late-reply') for cell in cells], 3))"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(told) == 1
