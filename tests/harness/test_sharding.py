"""Which executions each of several machines makes."""

from collections import Counter

import pytest

from harness.case import Cell, Variant
from harness.sharding import Placed, parse_shard, partition
from harness.usage import UsageError
from reports.parts import Shard
from wire.release import Release

RELEASES = [Release.parse(f"0.5.{patch}") for patch in range(7)]


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
    assert Counter(map(len, partition(executions("a", 40, "live"), 4))) == {10: 4}


def test_the_partition_is_that_of_yesterday():
    """Machines may have different versions of Python, never of this rule: a change of it needs a line in the changelog."""
    cases = [*executions("b", 3, "live"), *executions("a", 3, "fixtures"), *executions("a", 3)]
    assert partition(cases, 2) == [[0, 1, 2, 6, 8], [3, 4, 5, 7]]
