"""RemoteMetadata: the prefix of values in other remote backends."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wire.errors import DecodeError, EncodeError
from wire.lm.enums import BINARY_FORMATS, DTYPES, FORMATS
from wire.lm.metadata import Group, RemoteMetadata, decode_metadata, encode_metadata, metadata_size
from wire.lm.profile import lm_profile
from wire.release import Release

GENERATIONS = ("0.3.11", "0.3.12", "0.4.4", "0.4.5", "0.5.6")
int32 = st.integers(-(2**31), 2**31 - 1)


def profile_of(text):
    return lm_profile(Release.parse(text))


OLD, NEW = profile_of("0.3.11"), profile_of("0.5.6")


def metadata(profile):
    """Metadata in the one form in which a decoder reports it."""

    def shapes(format_name):
        if format_name in BINARY_FORMATS or not profile.short_shapes:
            return st.tuples(int32, int32, int32, int32)
        return st.lists(int32, min_size=1, max_size=4).filter(lambda dims: len(dims) == 1 or dims[-1] != 0).map(tuple)

    def with_format(name):
        group = st.builds(Group, st.sampled_from(list(DTYPES)), shapes(name))
        groups = st.lists(group, min_size=1, max_size=3 if profile.metadata_groups else 1).map(tuple)
        return st.builds(RemoteMetadata, int32, st.just(name), groups)

    return st.sampled_from([name for name, number in FORMATS.items() if number <= profile.highest_format]).flatmap(with_format)


@pytest.mark.parametrize("release", GENERATIONS)
@settings(max_examples=30)
@given(data=st.data())
def test_metadata_comes_back_from_its_bytes(release, data):
    profile = profile_of(release)
    value = data.draw(metadata(profile))
    written = encode_metadata(profile, value)
    assert len(written) == metadata_size(len(value.groups))
    assert decode_metadata(profile, written, len(value.groups)) == value


def test_metadata_of_two_groups_byte_by_byte():
    value = RemoteMetadata(258, "KV_T2D", (Group("bfloat16", (1, 2, 3)), Group(None, (4, 0, 5, -1))))
    assert encode_metadata(NEW, value) == bytes.fromhex(
        "02010000 02000000  03000000 01000000 02000000 03000000 00000000  00000000 04000000 00000000 05000000 ffffffff"
    )


def test_bytes_behind_the_metadata_are_the_value_and_are_left_alone():
    value = RemoteMetadata(7, "KV_T2D", (Group("uint8", (7,)),))
    assert decode_metadata(NEW, encode_metadata(NEW, value) + b"payload", 1) == value


@pytest.mark.parametrize("count", [0, 2])
def test_until_0_3_11_there_is_exactly_one_group(count):
    groups = (Group("uint8", (1, 1, 1, 1)),) * count
    with pytest.raises(EncodeError, match=rf"lmcache 0\.3\.11 has one group, not {count}"):
        encode_metadata(OLD, RemoteMetadata(1, "KV_2LTD", groups))
    with pytest.raises(DecodeError, match=rf"lmcache 0\.3\.11 has one group, not {count}"):
        decode_metadata(OLD, bytes(100), count)


@pytest.mark.parametrize("size", [0, 27, 47])
def test_too_few_bytes_are_refused_with_both_sizes(size):
    with pytest.raises(DecodeError, match=f"metadata of 2 groups needs 48 bytes, got {size}"):
        decode_metadata(NEW, bytes(size), 2)


def test_a_format_that_came_later_is_refused_both_ways():
    with pytest.raises(EncodeError, match=r"format EC_TD does not exist in lmcache 0\.3\.11"):
        encode_metadata(OLD, RemoteMetadata(1, "EC_TD", (Group("uint8", (1, 1, 1, 1)),)))
    with pytest.raises(DecodeError, match=r"format 7 does not exist in lmcache 0\.3\.11"):
        decode_metadata(OLD, bytes(4) + b"\x07" + bytes(23), 1)


@pytest.mark.parametrize(("offset", "message"), [(4, "format -1 is outside the table"), (8, "dtype -1 is outside the table")])
def test_a_number_outside_its_table_is_refused_by_name(offset, message):
    data = bytearray(28)
    data[offset : offset + 4] = b"\xff" * 4
    with pytest.raises(DecodeError, match=message):
        decode_metadata(NEW, bytes(data), 1)


def test_a_value_beyond_int32_is_refused():
    with pytest.raises(EncodeError, match="does not fit into int32"):
        encode_metadata(NEW, RemoteMetadata(2**31, "KV_2LTD", (Group("uint8", (1,)),)))


def test_a_name_without_a_number_is_refused():
    with pytest.raises(EncodeError, match="dtype 'half' has no number"):
        encode_metadata(NEW, RemoteMetadata(1, "KV_2LTD", (Group("half", (1,)),)))
