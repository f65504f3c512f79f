from __future__ import annotations

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from reports.diagnosis import FieldDifference
from reports.difference import WINDOW, changed_ranges, first_change, frame_difference, frame_dump
from wire.lm.frames import Description, Reply, Request, describe_reply, describe_request, encode_reply, encode_request
from wire.lm.profile import lm_profile
from wire.release import Release

NEW = lm_profile(Release.parse("0.5.6"))
OLD = lm_profile(Release.parse("0.3.1"))
ABOUT = Description(2048, "KV_2LTD", "bfloat16", (2, 4, 16, 8))
REPLY = encode_reply(NEW, Reply("SUCCESS", ABOUT))


def test_equal_frames_have_no_difference() -> None:
    found = frame_difference(REPLY, REPLY, partial(describe_reply, NEW))
    assert (found.summary, found.fields) == ("", ())
    assert all(not frame.marks for frame in found.frames)


def test_a_wrong_field_is_named_with_both_values() -> None:
    got = encode_reply(NEW, Reply("FAIL", ABOUT))
    found = frame_difference(REPLY, got, partial(describe_reply, NEW), cuts=[10])
    assert found.fields == (FieldDifference(0, 4, "code", "200 (success)", "400 (fail)"),)
    assert found.summary == "2 of 36 bytes differ, the first at 0x0"
    assert [frame.marks for frame in found.frames] == [((0, 2),), ((0, 2),)]
    assert [frame.cuts for frame in found.frames] == [(), (10,)]


def test_a_wrong_key_tells_where_it_departs() -> None:
    one, other = (encode_request(NEW, Request("GET", f"vllm@m@1@0@{digest}")) for digest in ("aabb", "aacc"))
    (field,) = frame_difference(one, other, partial(describe_request, NEW)).fields
    assert (field.name, field.note) == ("key", "differs from character 13 on")


def test_fields_of_a_frame_cut_short_are_not_there() -> None:
    found = frame_difference(REPLY, REPLY[:30], partial(describe_reply, NEW))
    assert [(field.name, field.got, field.note) for field in found.fields] == [
        ("shape3", None, "not there"),
        ("location", None, "not there"),
    ]
    assert found.summary == "30 bytes came, expected 36; all that both have is equal"
    assert found.frames[0].marks == ((30, 6),)
    assert found.frames[1].marks == ()


def test_a_field_that_nobody_expected_is_told() -> None:
    found = frame_difference(REPLY[:32], REPLY, partial(describe_reply, NEW))
    assert [(field.name, field.expected, field.note) for field in found.fields] == [("location", None, "not expected")]


def test_a_field_that_moved_between_layouts_is_told() -> None:
    one = describe_request(OLD, encode_request(OLD, Request("GET", "k")))
    frames = frame_difference(
        encode_request(OLD, Request("GET", "k")),
        encode_request(NEW, Request("GET", "k")),
        lambda data: one if len(data) == 182 else describe_request(NEW, data),
    )
    notes = {field.name: field.note for field in frames.fields}
    assert notes["key"] == "stands at 36"
    assert notes["location"] == "not expected"


def test_nothing_came() -> None:
    assert frame_difference(REPLY, b"").summary == "nothing came, expected 36 bytes"


def test_a_single_byte_is_singular() -> None:
    assert frame_difference(b"a", b"b").summary == "1 of 1 byte differs, the first at 0x0"


def test_lengths_and_first_difference_are_both_told() -> None:
    assert frame_difference(b"abc", b"axcd").summary == "4 bytes came, expected 3; the first difference is at 0x1"


def test_a_large_frame_keeps_only_a_window_around_the_first_difference() -> None:
    one = bytes(range(256)) * 40_000
    other = bytearray(one)
    other[5_000_003:5_000_005] = b"\xee\xee"
    other[9_000_000] ^= 1
    found = frame_difference(one, bytes(other), cuts=[1, 5_000_010, 9_000_000])
    assert found.summary == "3 of 10240000 bytes differ, the first at 0x4c4b43"
    for frame in found.frames:
        assert len(frame.data) == WINDOW
        assert frame.truncated_from == len(one)
        assert frame.offset % 16 == 0
        assert frame.offset <= 5_000_003 < frame.offset + WINDOW
        assert frame.marks == ((5_000_003, 2),)
    assert found.frames[1].cuts == (5_000_010,)


def test_the_window_reaches_the_end_of_the_frame() -> None:
    data = bytes(1000)
    dump = frame_dump("got", data, around=999, marks=[(999, 5)])
    assert dump.offset + len(dump.data) == 1000
    assert dump.marks == ((999, 1),)


def test_a_frame_much_shorter_than_the_difference_still_gives_a_dump() -> None:
    found = frame_difference(bytes(5000), b"")
    assert [len(frame.data) for frame in found.frames] == [WINDOW, 0]


near = st.binary(max_size=40)


@given(near, near)
def test_ranges_cover_exactly_what_differs(one: bytes, other: bytes) -> None:
    marked = {place for offset, length in changed_ranges(one, other) for place in range(offset, offset + length)}
    longest = max(len(one), len(other))
    assert marked == {place for place in range(longest) if one[place : place + 1] != other[place : place + 1]}
    assert first_change(one, other) == (min(marked) if marked else None)


@given(st.binary(min_size=4090, max_size=4100), st.integers(0, 4089))
def test_the_first_change_is_found_across_blocks(data: bytes, place: int) -> None:
    other = bytearray(data)
    other[place] ^= 0xFF
    assert first_change(data, bytes(other)) == place
