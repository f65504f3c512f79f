"""Releases, ranges of them, and tables by release."""

import itertools

import pytest

from wire.chunks import CHUNK_CHAINS
from wire.errors import UnknownReleaseError
from wire.keys import KEY_GRAMMARS
from wire.lm.profile import HEADER_LAYOUTS, HIGHEST_FORMATS, METADATA_GROUPS, SHORT_SHAPES, STRICT_ENUMS, lm_profile
from wire.release import KNOWN_RELEASES, RangeTable, Release, ReleaseRange

TABLES = (HEADER_LAYOUTS, HIGHEST_FORMATS, STRICT_ENUMS, SHORT_SHAPES, METADATA_GROUPS, KEY_GRAMMARS, CHUNK_CHAINS)


def release(text):
    return Release.parse(text)


def test_known_releases_are_listed_oldest_first_and_once():
    known = [release(text) for text in KNOWN_RELEASES]
    assert known == sorted(set(known))


def test_a_release_keeps_the_name_that_the_index_gives_it():
    assert [str(release(text)) for text in KNOWN_RELEASES] == list(KNOWN_RELEASES)


def test_releases_compare_as_versions_and_not_as_text():
    assert release("0.3.9") < release("0.3.9.post1") < release("0.3.10") < release("0.3.10.post2") < release("0.4.1")


def test_two_spellings_of_a_release_are_equal_and_hash_alike():
    assert release(" v0.5.6\n") == release("0.5.6")
    assert hash(release("v0.5.6")) == hash(release("0.5.6"))
    assert release("0.5.6") != "0.5.6"


@pytest.mark.parametrize("text", ["", "latest", "0.5.x", "0.5.6 or so"])
def test_text_that_is_no_version_is_refused_with_an_example(text):
    with pytest.raises(UnknownReleaseError, match=r"is not a version of lmcache; give one such as 0\.5\.6"):
        release(text)


@pytest.mark.parametrize("text", ["0.3.0", "0.2", "0.3.1rc1"])
def test_a_release_before_every_table_is_refused_by_name(text):
    with pytest.raises(UnknownReleaseError, match=rf"lmcache {text} is older than 0\.3\.1"):
        release(text)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_release_newer_than_every_row_gets_the_newest_row(table):
    assert table[release("99.0")] == table[release(KNOWN_RELEASES[-1])]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_rows_of_a_table_cover_every_known_release_once_and_with_its_value(table):
    rows = list(table.rows())
    for text in KNOWN_RELEASES:
        assert [value for where, value in rows if release(text) in where] == [table[release(text)]]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_neighbouring_rows_of_a_table_differ(table):
    values = [value for _, value in table.rows()]
    assert all(left != right for left, right in itertools.pairwise(values))


def test_a_profile_gathers_the_rows_of_its_release():
    profile = lm_profile(release("0.4.4"))
    assert (profile.highest_format, profile.strict_enums, profile.short_shapes, profile.metadata_groups) == (6, True, True, True)
    assert profile.has_location
    assert not lm_profile(release("0.3.2")).has_location


def test_header_sizes_of_both_generations():
    headers = [lm_profile(release(text)).header for text in KNOWN_RELEASES]
    sizes = [(header.request_size, header.reply_size) for header in headers]
    assert sizes == [(182, 32)] * 3 + [(186, 36)] * (len(KNOWN_RELEASES) - 3)


def test_a_table_holds_from_each_row_until_the_next():
    table = RangeTable("colour", ("0.3.3", "red"), ("0.4.4", "blue"))
    assert [table[release(text)] for text in ("0.3.3", "0.4.3", "0.4.4", "0.5.6")] == ["red", "red", "blue", "blue"]


def test_a_table_names_itself_when_a_release_comes_before_its_first_row():
    with pytest.raises(UnknownReleaseError, match=r"colour: nothing is known for lmcache 0\.3\.2"):
        RangeTable("colour", ("0.3.3", "red"))[release("0.3.2")]


@pytest.mark.parametrize("firsts", [("0.4.4", "0.3.3"), ("0.3.3", "0.3.3")])
def test_a_table_whose_rows_do_not_rise_is_refused(firsts):
    with pytest.raises(ValueError, match="'colour': rows must be in rising order"):
        RangeTable("colour", *((first, first) for first in firsts))


def test_rows_end_at_the_last_release_before_the_next_row():
    table = RangeTable("colour", ("0.3.1", "red"), ("0.3.9", "green"), ("0.4.4", "blue"))
    assert [(str(where), value) for where, value in table.rows()] == [
        ("0.3.1 to 0.3.7", "red"),
        ("0.3.9 to 0.4.3", "green"),
        ("0.4.4 and later", "blue"),
    ]


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("0.3.3 to 0.4.3", ("0.3.3", "0.3.9.post1", "0.4.3"), ("0.3.2", "0.4.4")),
        ("0.4.4 and later", ("0.4.4", "0.5.6", "7.0"), ("0.4.3",)),
        ("up to 0.3.2", ("0.3.1", "0.3.1.post1", "0.3.2"), ("0.3.3",)),
        ("all", (*KNOWN_RELEASES, "7.0"), ()),
        ("0.3.9", ("0.3.9",), ("0.3.7", "0.3.9.post1")),
    ],
)
def test_a_range_holds_the_releases_that_it_says(text, inside, outside):
    found = ReleaseRange.parse(text)
    assert all(release(name) in found for name in inside)
    assert not any(release(name) in found for name in outside)


@pytest.mark.parametrize("text", ["0.3.3 to 0.4.3", "0.4.4 and later", "0.3.9.post1"])
def test_a_range_prints_as_it_was_read(text):
    assert str(ReleaseRange.parse(f" {text} ")) == text


def test_up_to_and_all_print_as_the_range_that_they_are():
    assert str(ReleaseRange.parse("up to 0.3.2")) == "0.3.1 to 0.3.2"
    assert str(ReleaseRange.parse("all")) == "0.3.1 and later"


@pytest.mark.parametrize("text", ["", "since 0.3.3", "0.3.3 until 0.3.5", "0.3.3 to", "0.2.0 to 0.3.3", "and later"])
def test_a_range_of_another_form_is_refused(text):
    with pytest.raises(UnknownReleaseError):
        ReleaseRange.parse(text)


def test_a_range_may_begin_and_end_with_the_same_release():
    assert ReleaseRange.parse("0.4.3 to 0.4.3") == ReleaseRange.parse("0.4.3")


def test_a_range_that_ends_before_it_begins_is_refused():
    with pytest.raises(UnknownReleaseError, match=r"0\.4\.3 to 0\.3\.3.*ends before it begins"):
        ReleaseRange.parse("0.4.3 to 0.3.3")
