"""Request and reply headers of every generation."""

import struct
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wire.errors import DecodeError, EncodeError
from wire.lm.enums import BINARY_FORMATS, CODES, COMMANDS, DTYPES, FORMATS, LOCATIONS, name_of, number_of
from wire.lm.frames import (
    NOTHING,
    Description,
    Reply,
    Request,
    decode_reply,
    decode_request,
    describe_reply,
    describe_request,
    encode_reply,
    encode_request,
    header_numbers,
    replace_field,
    without_location,
)
from wire.lm.profile import lm_profile
from wire.release import Release

GENERATIONS = ("0.3.1", "0.3.3", "0.3.6", "0.4.4", "0.4.5", "0.5.1")
"""The first release of every generation of the header codec."""

int32 = st.integers(-(2**31), 2**31 - 1)


def profile_of(text):
    return lm_profile(Release.parse(text))


OLD, NEW = profile_of("0.3.1"), profile_of("0.5.6")
every_generation = pytest.mark.parametrize("profile", [profile_of(text) for text in GENERATIONS], ids=GENERATIONS)


def descriptions(profile):
    """Descriptions in the one form in which a decoder reports them."""

    def shapes(format_name):
        if format_name in BINARY_FORMATS or not profile.short_shapes:
            return st.tuples(int32, int32, int32, int32)
        return st.lists(int32, min_size=1, max_size=4).filter(lambda dims: len(dims) == 1 or dims[-1] != 0).map(tuple)

    formats = st.sampled_from([name for name, number in FORMATS.items() if number <= profile.highest_format])
    return formats.flatmap(
        lambda name: st.builds(
            Description,
            length=int32,
            format=st.just(name),
            dtype=st.sampled_from(list(DTYPES)),
            shape=shapes(name),
            location=st.sampled_from(list(LOCATIONS)) if profile.has_location else st.none(),
        )
    )


keys = st.text(st.characters(codec="utf-8"), max_size=37).map(str.strip)


@every_generation
@settings(max_examples=40)
@given(data=st.data())
def test_a_request_comes_back_from_its_header(profile, data):
    request = data.draw(st.builds(Request, st.sampled_from(list(COMMANDS)), keys, descriptions(profile)))
    header = encode_request(profile, request)
    assert len(header) == profile.header.request_size
    assert decode_request(profile, header) == request


@every_generation
@settings(max_examples=40)
@given(data=st.data())
def test_a_reply_comes_back_from_its_header(profile, data):
    reply = data.draw(st.builds(Reply, st.sampled_from(list(CODES)), descriptions(profile)))
    header = encode_reply(profile, reply)
    assert len(header) == profile.header.reply_size
    assert decode_reply(profile, header) == reply


@every_generation
@settings(max_examples=40)
@given(data=st.data())
def test_a_header_comes_back_from_what_was_read_in_it(profile, data):
    numbers = {
        "code": st.sampled_from(list(CODES.values())),
        "format": st.integers(0, profile.highest_format),
        "dtype": st.sampled_from(list(DTYPES.values())),
        "location": st.integers(0, 2),
    }
    fields = profile.header.reply
    header = struct.pack(f"<{len(fields)}i", *(data.draw(numbers.get(field, int32)) for field in fields))
    assert encode_reply(profile, decode_reply(profile, header)) == header


def test_the_old_request_header_byte_by_byte():
    about = Description(0x0A0B0C0D, "KV_T2D", "bfloat16", (1, 2, 3, -1))
    assert encode_request(OLD, Request("EXIST", "k", about)) == (
        bytes.fromhex("03000000 0d0c0b0a 02000000 03000000 01000000 02000000 03000000 ffffffff") + b"k" + b" " * 149
    )


def test_location_stands_in_the_middle_of_a_request():
    about = Description(1, "KV_2LTD", "uint8", (5, 6, 7, 8), "LocalDiskBackend")
    assert struct.unpack("<9i", encode_request(NEW, Request("PUT", "k", about))[:36]) == (1, 1, 1, 6, 2, 5, 6, 7, 8)


def test_location_stands_at_the_end_of_a_reply():
    about = Description(1, "KV_2LTD", "uint8", (5, 6, 7, 8), "LocalDiskBackend")
    assert struct.unpack("<9i", encode_reply(NEW, Reply("FAIL", about))) == (400, 1, 1, 6, 5, 6, 7, 8, 2)


def test_nothing_to_describe_is_format_1_dtype_2_and_zeros():
    assert struct.unpack("<9i", encode_reply(NEW, Reply("FAIL"))) == (400, 0, 1, 2, 0, 0, 0, 0, 0)


@every_generation
def test_dtype_1_reads_as_float16(profile):
    header = replace_field(profile.header.reply, encode_reply(profile, Reply("SUCCESS")), "dtype", 1)
    assert decode_reply(profile, header).about.dtype == "float16"


@every_generation
def test_a_key_may_fill_its_field(profile):
    key = "é" * 75
    assert decode_request(profile, encode_request(profile, Request("GET", key))).key == key


@every_generation
def test_a_key_is_measured_in_bytes(profile):
    with pytest.raises(EncodeError, match="key of 151 bytes does not fit into the field of 150"):
        encode_request(profile, Request("GET", "é" * 75 + "m"))


def test_a_key_that_has_no_utf8_is_refused():
    with pytest.raises(EncodeError, match="the key cannot be written in UTF-8"):
        encode_request(NEW, Request("GET", "m\ud800@1@0@ab@half"))


def test_white_space_around_a_key_is_dropped():
    header = encode_request(NEW, Request("GET", "\t k k \r\n"))
    assert decode_request(NEW, header).key == "k k"


@every_generation
def test_a_key_field_that_is_no_utf8_is_refused(profile):
    header = encode_request(profile, Request("GET", "k"))[:-150] + b"\xff" + b" " * 149
    with pytest.raises(DecodeError, match="the key field is not UTF-8"):
        decode_request(profile, header)


@every_generation
@pytest.mark.parametrize("change", [lambda _: b"", lambda header: header[:-1], lambda header: header + b" "])
def test_a_header_of_another_size_is_refused_with_both_sizes(profile, change):
    request = change(encode_request(profile, Request("GET", "k")))
    with pytest.raises(DecodeError, match=f"a header of {len(request)} bytes, expected {profile.header.request_size}"):
        decode_request(profile, request)
    reply = change(encode_reply(profile, Reply("FAIL")))
    with pytest.raises(DecodeError, match=f"a header of {len(reply)} bytes, expected {profile.header.reply_size}"):
        decode_reply(profile, reply)


@every_generation
@pytest.mark.parametrize("number", [-1, 9, 2**31 - 1])
@pytest.mark.parametrize("field", ["dtype", "format"])
def test_a_number_outside_its_table_is_refused_by_name(profile, field, number):
    request = replace_field(profile.header.request, encode_request(profile, Request("GET", "k")), field, number)
    with pytest.raises(DecodeError, match=f"{field} {number} "):
        decode_request(profile, request)
    reply = replace_field(profile.header.reply, encode_reply(profile, Reply("FAIL")), field, number)
    with pytest.raises(DecodeError, match=f"{field} {number} "):
        decode_reply(profile, reply)


def test_an_unknown_command_code_or_location_is_refused():
    request = encode_request(NEW, Request("GET", "k"))
    with pytest.raises(DecodeError, match="command 6 is outside the table; known: 1, 2, 3, 4, 5"):
        decode_request(NEW, replace_field(NEW.header.request, request, "command", 6))
    with pytest.raises(DecodeError, match="location 3 is outside the table; known: 0, 1, 2"):
        decode_request(NEW, replace_field(NEW.header.request, request, "location", 3))
    with pytest.raises(DecodeError, match="code 201 is outside the table; known: 200, 400"):
        decode_reply(NEW, replace_field(NEW.header.reply, encode_reply(NEW, Reply("FAIL")), "code", 201))


@every_generation
def test_a_format_that_came_later_is_refused_both_ways(profile):
    for name, number in FORMATS.items():
        if number > profile.highest_format:
            with pytest.raises(EncodeError, match=f"format {name} does not exist in lmcache {profile.release}"):
                encode_reply(profile, Reply("SUCCESS", replace(NOTHING, format=name)))
            header = replace_field(profile.header.reply, encode_reply(profile, Reply("SUCCESS")), "format", number)
            with pytest.raises(DecodeError, match=f"format {number} does not exist in lmcache {profile.release}"):
                decode_reply(profile, header)


@every_generation
@pytest.mark.parametrize("value", [2**31, -(2**31) - 1])
def test_a_value_beyond_int32_is_refused_by_field(profile, value):
    with pytest.raises(EncodeError, match=rf"does not fit into int32: \{{'length': {value}\}}"):
        encode_request(profile, Request("PUT", "k", replace(NOTHING, length=value)))
    with pytest.raises(EncodeError, match=rf"does not fit into int32: \{{'shape2': {value}\}}"):
        encode_reply(profile, Reply("SUCCESS", replace(NOTHING, shape=(1, 1, value, 1))))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "KV_3D"}, "format 'KV_3D' has no number"),
        ({"dtype": "half"}, "dtype 'half' has no number on the wire; known: None, float16"),
        ({"location": "Redis"}, "location 'Redis' has no number"),
    ],
)
def test_a_name_without_a_number_is_refused(change, message):
    with pytest.raises(EncodeError, match=message):
        encode_reply(NEW, Reply("SUCCESS", replace(NOTHING, **change)))


def test_an_unknown_command_or_code_cannot_be_written():
    with pytest.raises(EncodeError, match="command 'DELETE' has no number"):
        encode_request(NEW, Request("DELETE", "k"))
    with pytest.raises(EncodeError, match="code 'MAYBE' has no number"):
        encode_reply(NEW, Reply("MAYBE"))


def test_a_location_cannot_be_written_before_0_3_3():
    with pytest.raises(EncodeError, match=r"lmcache 0\.3\.1 has no location field; got 'LocalCPUBackend'"):
        encode_reply(OLD, Reply("SUCCESS", replace(NOTHING, location="LocalCPUBackend")))


def test_a_description_without_location_can_be_written_everywhere():
    about = without_location(replace(NOTHING, location="LocalCPUBackend"))
    assert encode_reply(OLD, Reply("SUCCESS", about)) == encode_reply(OLD, Reply("SUCCESS"))


@pytest.mark.parametrize("field", ["command", "code", "format", "dtype", "location"])
def test_names_and_numbers_of_a_field_are_inverse(field):
    table = {"command": COMMANDS, "code": CODES, "format": FORMATS, "dtype": DTYPES, "location": LOCATIONS}[field]
    assert {name_of(field, number_of(field, name)) for name in table} == set(table)


@every_generation
@settings(max_examples=20)
@given(value=int32)
def test_a_replaced_field_changes_alone(profile, value):
    header = encode_request(profile, Request("PUT", "k", Description(9, "KV_2LTD", "uint8", (1, 2, 3, 4))))
    before = header_numbers(profile.header.request, header)
    patched = replace_field(profile.header.request, header, "shape1", value)
    assert header_numbers(profile.header.request, patched) == {**before, "shape1": value}
    assert patched[-150:] == header[-150:]


def test_a_field_that_a_header_lacks_cannot_be_replaced():
    with pytest.raises(EncodeError, match="the header has no field 'location'; it has code, length"):
        replace_field(OLD.header.reply, bytes(32), "location", 1)


def test_a_value_beyond_int32_cannot_replace_a_field():
    with pytest.raises(EncodeError, match="length 2147483648 does not fit into int32"):
        replace_field(NEW.header.reply, bytes(36), "length", 2**31)


def test_numbers_of_a_cut_header_are_refused():
    with pytest.raises(DecodeError, match="a header of 35 bytes, its integers alone take 36"):
        header_numbers(NEW.header.reply, bytes(35))


def test_described_fields_stand_side_by_side_and_cover_the_header():
    header = encode_request(NEW, Request("GET", "m@1@0@ab@half"))
    fields = describe_request(NEW, header)
    assert [field.offset for field in fields] == [4 * index for index in range(10)]
    assert sum(field.size for field in fields) == len(header)


def test_a_described_request_names_what_its_numbers_mean():
    about = Description(9, "KV_2LTD", "uint8", (1, 2, 3, 4), "LocalCPUBackend")
    fields = {field.name: field for field in describe_request(NEW, encode_request(NEW, Request("PUT", "m@1", about)))}
    meanings = {name: field.meaning for name, field in fields.items()}
    assert meanings["command"] == "put"
    assert meanings["format"] == "KV_2LTD"
    assert meanings["dtype"] == "uint8"
    assert meanings["location"] == "LocalCPUBackend"
    assert meanings["length"] == meanings["shape0"] == ""
    assert fields["key"].value == "m@1"


def test_a_described_reply_names_its_code_and_tolerates_nonsense():
    header = replace_field(NEW.header.reply, encode_reply(NEW, Reply("SUCCESS")), "dtype", 77)
    fields = {field.name: (field.value, field.meaning) for field in describe_reply(NEW, header)}
    assert fields["code"] == (200, "success")
    assert fields["dtype"] == (77, "outside the table")


@every_generation
@settings(max_examples=40)
@given(data=st.binary(max_size=200))
def test_any_bytes_can_be_described(profile, data):
    for fields in (describe_request(profile, data), describe_reply(profile, data)):
        assert sum(field.size for field in fields) <= len(data)


def test_a_cut_header_is_described_as_far_as_it_goes():
    assert [field.name for field in describe_reply(NEW, bytes(11))] == ["code", "length"]
    assert describe_request(NEW, bytes(36) + b"k\xff")[-1].value == "k\\xff"
