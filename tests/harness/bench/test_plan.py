"""What is measured: names, sizes, algorithms."""

import pytest

from harness.bench.plan import LARGEST, Effort, parse_sizes, planned, require_effort
from harness.bench.values import value
from harness.usage import UsageError
from wire.lm.shapes import payload_size
from wire.release import KNOWN_RELEASES, Release

NOW = Release.parse(KNOWN_RELEASES[-1])


def names(release, *only):
    return [one.name for one in planned(Release.parse(release), [4096, 8 << 20], only)]


def test_measures_are_named_by_operation_and_detail():
    expected = ["put-4KiB", "put-8MiB", "get-4KiB", "get-8MiB", "exist", "chunk-keys-builtin", "chunk-keys-sha256_cbor"]
    assert names("0.5.6") == expected


def test_algorithms_are_those_whose_keys_the_release_defines():
    assert names("0.3.2", "chunk-*") == ["chunk-keys-sha256_hex"]
    assert names("0.3.3", "chunk-*") == ["chunk-keys-builtin", "chunk-keys-sha256_cbor"]
    assert names("0.3.9", "chunk-*") == ["chunk-keys-sha256_cbor"]


def test_patterns_select_and_one_that_matches_nothing_is_refused():
    assert names("0.5.6", "get-*", "exist") == ["get-4KiB", "get-8MiB", "exist"]
    with pytest.raises(UsageError, match="--only 'got' matches no measure; measures are put-4KiB, "):
        names("0.5.6", "got")


def test_sizes_are_read_once_each_smallest_first():
    assert parse_sizes("8MiB, 4096,4KiB,1000") == [1000, 4096, 8 << 20]


@pytest.mark.parametrize("text", ["", "0", "7", "4097", "four", "1TiB", "-4", f"{LARGEST + 4}"])
def test_what_is_no_size_of_a_value_is_refused(text):
    with pytest.raises(UsageError, match="--sizes"):
        parse_sizes(text)


@pytest.mark.parametrize("effort", [Effort(seconds=0), Effort(seconds=float("nan")), Effort(deadline=-1), Effort(deadline=1e6)])
def test_times_are_positive_and_bounded(effort):
    with pytest.raises(UsageError, match="is no time to measure"):
        require_effort(effort)


@pytest.mark.parametrize("size", [4, 1000, 4096, 3 << 20])
def test_a_value_has_the_size_that_its_shape_says(size):
    made = value(size, 1)
    assert len(made.payload) == size == payload_size(made.format, made.dtype, made.shape)
    assert made.payload != value(size, 2).payload
