"""Key strings of every generation: written, read, and read as a server reads them."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wire.errors import DecodeError, EncodeError
from wire.keys import KEY_GRAMMARS, CacheKey, format_key, format_keys, parse_key, parse_key_as_server
from wire.release import KNOWN_RELEASES, Release

OPAQUE = "9f86d081884c7d65"


def release(text):
    return Release.parse(text)


def key_of(text, **changes):
    """A key that a release can write, with parts changed."""
    grammar = KEY_GRAMMARS[release(text)]
    plain = CacheKey(
        model="m",
        world_size=2,
        worker_id=1,
        chunk_hash=OPAQUE if grammar.hash_style == "text" else 0x1A2B,
        dtype="bfloat16" if grammar.dtype_names else None,
        fmt="vllm" if grammar.prefix else None,
    )
    return replace(plain, **changes)


WRITTEN = {
    "0.3.1": f"vllm@m@2@1@{OPAQUE}",
    "0.3.2": f"vllm@m@2@1@{OPAQUE}",
    "0.3.3": "vllm@m@2@1@6699",
    "0.3.4": "vllm@m@2@1@6699",
    "0.3.5": "vllm@m@2@1@6699",
    "0.3.6": "vllm@m@2@1@1a2b",
    "0.3.7": "vllm@m@2@1@1a2b",
    "0.3.9": "vllm@m@2@1@1a2b",
    "0.3.9.post1": "vllm@m@2@1@1a2b@bfloat16",
    "0.3.12": "vllm@m@2@1@1a2b@bfloat16",
    "0.3.13": "m@2@1@1a2b@bfloat16",
    "0.3.14": "m@2@1@1a2b@bfloat16",
    "0.5.6": "m@2@1@1a2b@bfloat16",
}
ROUND_TRIPS = [text for text in KNOWN_RELEASES if text not in {"0.3.4", "0.3.5"}]
LOSING_TAGS = ["0.3.4", "0.3.5"]
WITH_TAGS = [text for text in KNOWN_RELEASES if release(text) >= release("0.3.6")]
WITH_DTYPE = [text for text in KNOWN_RELEASES if release(text) >= release("0.3.9.post1")]


@pytest.mark.parametrize(("text", "written"), WRITTEN.items())
def test_each_generation_writes_its_own_key_string(text, written):
    assert format_key(release(text), key_of(text)) == written


@pytest.mark.parametrize("text", ROUND_TRIPS)
@settings(max_examples=10)
@given(data=st.data())
def test_a_key_comes_back_from_its_string(text, data):
    grammar = KEY_GRAMMARS[release(text)]
    names = st.text(st.characters(codec="utf-8", exclude_characters="@%"), max_size=10)
    tags = st.dictionaries(names, names, max_size=3).map(lambda found: tuple(found.items()))
    hashes = names if grammar.hash_style == "text" else st.integers(-(2**256), 2**256)
    dtypes = st.sampled_from(sorted(grammar.dtype_of_name.values())) if grammar.dtype_names else st.none()
    key = CacheKey(
        model=data.draw(names),
        world_size=data.draw(st.integers()),
        worker_id=data.draw(st.integers()),
        chunk_hash=data.draw(hashes),
        dtype=data.draw(dtypes),
        fmt=data.draw(names) if grammar.prefix else None,
        layer=data.draw(st.none() | st.integers(0, 200)),
        tags=data.draw(tags) if grammar.tags else (),
    )
    assert parse_key(release(text), format_key(release(text), key)) == key


def test_0_3_3_writes_and_reads_decimal():
    key = key_of("0.3.3", chunk_hash=-6699)
    assert format_key(release("0.3.3"), key) == "vllm@m@2@1@-6699"
    assert parse_key(release("0.3.3"), "vllm@m@2@1@-6699") == key


def test_0_3_3_reads_no_hexadecimal():
    with pytest.raises(DecodeError, match="invalid literal for int"):
        parse_key(release("0.3.3"), "vllm@m@2@1@1a2b")


@pytest.mark.parametrize("text", ["0.3.4", "0.3.5"])
def test_0_3_4_and_0_3_5_read_their_decimal_as_hexadecimal(text):
    written = format_key(release(text), key_of(text, chunk_hash=-6699))
    assert written == "vllm@m@2@1@-6699"
    assert parse_key(release(text), written).chunk_hash == -0x6699
    assert parse_key_as_server(release(text), written).chunk_hash == -0x6699


@pytest.mark.parametrize("text", ["0.3.4", "0.3.5"])
def test_0_3_4_and_0_3_5_read_hexadecimal_that_they_never_write(text):
    assert parse_key(release(text), "vllm@m@2@1@1a2b").chunk_hash == 0x1A2B


@pytest.mark.parametrize("text", ["0.3.6", "0.3.12", "0.3.13", "0.5.6"])
def test_a_negative_hash_is_signed_hexadecimal(text):
    key = key_of(text, chunk_hash=-0x1A2B)
    assert "@-1a2b" in format_key(release(text), key)
    assert parse_key(release(text), format_key(release(text), key)) == key


@pytest.mark.parametrize("text", ["0.3.13", "0.5.6"])
def test_a_digest_is_written_with_all_its_digits_and_read_as_an_integer(text):
    written = format_key(release(text), key_of(text, chunk_hash=b"\x00\xab" + bytes(30)))
    assert written == f"m@2@1@00ab{'00' * 30}@bfloat16"
    assert parse_key(release(text), written).chunk_hash == 0xAB << 240


@pytest.mark.parametrize("text", ["0.3.1", "0.3.3", "0.3.5", "0.3.6", "0.3.12"])
def test_a_digest_cannot_be_written_before_0_3_13(text):
    with pytest.raises(EncodeError, match=f"a chunk hash of type bytes cannot be written in keys of lmcache {text}"):
        format_key(release(text), key_of(text, chunk_hash=bytes(32)))


@pytest.mark.parametrize(("text", "value", "kind"), [("0.3.1", 5, "int"), ("0.3.3", "5", "str"), ("0.5.6", "5", "str")])
def test_a_hash_of_the_wrong_generation_cannot_be_written(text, value, kind):
    with pytest.raises(EncodeError, match=f"a chunk hash of type {kind} cannot be written"):
        format_key(release(text), key_of(text, chunk_hash=value))


def test_the_engine_is_missing_until_0_3_12():
    with pytest.raises(EncodeError, match=r"keys of lmcache 0\.3\.12 begin with the engine's name; fmt is missing"):
        format_key(release("0.3.12"), key_of("0.3.12", fmt=None))


@pytest.mark.parametrize("dtype", [None, "half", "complex64"])
def test_a_dtype_without_a_name_in_keys_cannot_be_written(dtype):
    with pytest.raises(EncodeError, match=rf"dtype {dtype!r} has no name in keys of lmcache 0\.5\.6"):
        format_key(release("0.5.6"), key_of("0.5.6", dtype=dtype))


@pytest.mark.parametrize("text", WITH_DTYPE)
def test_every_dtype_name_of_a_key_reads_as_a_dtype_with_that_name(text):
    grammar = KEY_GRAMMARS[release(text)]
    for name, dtype in grammar.dtype_of_name.items():
        assert grammar.dtype_names[dtype] == name
        assert parse_key(release(text), format_key(release(text), key_of(text, dtype=dtype))).dtype == dtype


def test_two_float8_dtypes_share_a_name_until_0_3_13_and_the_later_one_is_read():
    shared = [format_key(release("0.3.13"), key_of("0.3.13", dtype=name)) for name in ("float8_e4m3fn", "float8_e4m3fnuz")]
    assert shared == ["m@2@1@1a2b@fp8_e4m3"] * 2
    assert parse_key(release("0.3.13"), shared[0]).dtype == "float8_e4m3fnuz"


def test_every_float8_dtype_has_its_own_name_from_0_3_14():
    names = KEY_GRAMMARS[release("0.3.14")].dtype_names
    assert len(set(names.values())) == len(names)


@pytest.mark.parametrize("text", WITH_TAGS)
def test_tags_keep_their_order(text):
    key = key_of(text, tags=(("b", "2"), ("a", "1")))
    assert format_key(release(text), key).endswith("@b%2@a%1")
    assert parse_key(release(text), f"{format_key(release(text), key_of(text))}@b%2@a%1").tags == key.tags


@pytest.mark.parametrize("text", LOSING_TAGS)
def test_0_3_4_and_0_3_5_write_tags_and_read_settings(text):
    written = format_key(release(text), key_of(text, tags=(("b", "2"), ("a", "1"))))
    assert written == "vllm@m@2@1@6699@b%2@a%1"
    found = parse_key(release(text), written)
    assert (found.tags, found.settings) == ((), (("a", "1"), ("b", "2")))
    assert format_key(release(text), replace(found, chunk_hash=6699)) == "vllm@m@2@1@6699"


@pytest.mark.parametrize("text", LOSING_TAGS)
def test_0_3_4_and_0_3_5_read_a_tag_where_the_prefix_of_settings_is_written_out(text):
    found = parse_key(release(text), "vllm@m@2@1@6699@lmcache.tag.b%2@user%alice@lmcache.tag.a%1")
    assert (found.tags, found.settings) == ((("b", "2"), ("a", "1")), (("user", "alice"),))


def test_a_tag_given_twice_keeps_its_place_and_its_last_value():
    assert parse_key_as_server(release("0.5.6"), "m@2@1@ab@half@a%1@b%2@a%3").tags == (("a", "3"), ("b", "2"))


@pytest.mark.parametrize("text", ["0.3.4", "0.3.5"])
def test_servers_of_0_3_4_and_0_3_5_do_not_see_the_order_of_tags(text):
    there, back = (parse_key_as_server(release(text), f"vllm@m@2@1@ab@{tags}") for tags in ("a%1@b%2", "b%2@a%1"))
    assert there == back


@pytest.mark.parametrize("text", ["0.3.4", "0.3.5"])
def test_servers_of_0_3_4_and_0_3_5_see_the_order_of_tags_that_carry_the_prefix_of_settings(text):
    tags = ("lmcache.tag.a%1@lmcache.tag.b%2", "lmcache.tag.b%2@lmcache.tag.a%1")
    there, back = (parse_key_as_server(release(text), f"vllm@m@2@1@ab@{written}") for written in tags)
    assert there != back


@pytest.mark.parametrize("text", ["0.3.6", "0.3.12", "0.5.6"])
def test_later_servers_see_the_order_of_tags(text):
    written = format_key(release(text), key_of(text))
    there, back = (parse_key_as_server(release(text), f"{written}@{tags}") for tags in ("a%1@b%2", "b%2@a%1"))
    assert there != back


def test_a_tag_is_split_at_its_first_percent_sign():
    assert parse_key(release("0.5.6"), "m@2@1@ab@half@a%1%2@%@b%").tags == (("a", "1%2"), ("", ""), ("b", ""))


@pytest.mark.parametrize("text", ["0.3.1", "0.3.3"])
def test_tags_do_not_exist_before_0_3_4(text):
    with pytest.raises(EncodeError, match=f"keys of lmcache {text} carry no tags"):
        format_key(release(text), key_of(text, tags=(("user", "alice"),)))
    with pytest.raises(DecodeError, match=f"has 6 parts, lmcache {text} needs 5"):
        parse_key(release(text), "vllm@m@2@1@12@user%alice")


@pytest.mark.parametrize("text", ["0.3.4", "0.5.6"])
@pytest.mark.parametrize("tag", ["user", ""])
def test_a_part_without_percent_sign_is_no_tag(text, tag):
    with pytest.raises(DecodeError, match=f"'{tag}' is no tag, a tag reads name%value"):
        parse_key(release(text), f"{format_key(release(text), key_of(text))}@{tag}")


@pytest.mark.parametrize("text", KNOWN_RELEASES)
def test_a_layer_stands_behind_the_fixed_parts_and_before_the_tags(text):
    tags = (("user", "alice"),) if KEY_GRAMMARS[release(text)].tags else ()
    written = format_key(release(text), key_of(text, layer=31, tags=tags))
    assert written.removeprefix(format_key(release(text), key_of(text))) == "@31" + "@user%alice" * bool(tags)
    found = parse_key(release(text), written)
    assert (found.layer, found.tags or found.settings) == (31, tags)


def test_layers_count_from_zero_and_may_be_padded():
    assert parse_key(release("0.5.6"), "m@2@1@ab@half@0").layer == 0
    assert parse_key(release("0.5.6"), "m@2@1@ab@half@007").layer == 7


def test_a_superscript_is_a_digit_to_the_parser_and_no_integer():
    with pytest.raises(DecodeError, match="invalid literal for int"):
        parse_key(release("0.5.6"), "m@2@1@ab@half@²")


def test_a_negative_layer_is_neither_layer_nor_tag():
    with pytest.raises(DecodeError, match="'-1' is no tag"):
        parse_key(release("0.5.6"), "m@2@1@ab@half@-1")


@pytest.mark.parametrize("text", KNOWN_RELEASES)
def test_servers_take_layer_keys_from_0_3_14(text):
    written = format_key(release(text), key_of(text, layer=3))
    if release(text) >= release("0.3.14"):
        assert parse_key_as_server(release(text), written).layer == 3
    else:
        with pytest.raises(DecodeError, match=r"is no tag|has 6 parts"):
            parse_key_as_server(release(text), written)


@pytest.mark.parametrize("text", KNOWN_RELEASES)
def test_too_few_parts_are_refused_with_both_numbers(text):
    written = format_key(release(text), key_of(text)).rpartition("@")[0]
    count = written.count("@") + 1
    with pytest.raises(DecodeError, match=f"has {count} parts, lmcache {text} needs {count + 1}"):
        parse_key(release(text), written)


def test_a_separator_in_a_model_name_moves_every_part():
    with pytest.raises(DecodeError, match="no dtype is called '1a2b'"):
        parse_key(release("0.5.6"), format_key(release("0.5.6"), key_of("0.5.6", model="a@b")))


def test_an_unknown_dtype_name_is_refused_by_name():
    with pytest.raises(DecodeError, match=r"no dtype is called 'float16' in lmcache 0\.5\.6"):
        parse_key(release("0.5.6"), "m@2@1@ab@float16")


SPELLINGS = ["m@+2@1@ab@half", "m@02@1@ab@half", "m@ 2 @1@ab@half", "m@2@1@AB@half", "m@2@1@0xab@half", "m@2@1@+00a_b@half"]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_several_spellings_name_one_key(spelling):
    plain = parse_key_as_server(release("0.5.6"), "m@2@1@ab@half")
    assert parse_key_as_server(release("0.5.6"), spelling) == plain


@pytest.mark.parametrize("spelling", ["m@٢@1@ab@half", "m@2@١@ab@half"])
def test_digits_of_any_script_name_the_same_number(spelling):
    assert parse_key_as_server(release("0.5.6"), spelling) == parse_key_as_server(release("0.5.6"), "m@2@1@ab@half")


@pytest.mark.parametrize("other", ["M@2@1@ab@half", " m@2@1@ab@bfloat16", "m @2@1@ab@half", "m@2@1@-ab@half", "m@2@1@ab@half@0"])
def test_what_is_no_integer_is_compared_as_text(other):
    assert parse_key_as_server(release("0.5.6"), other) != parse_key_as_server(release("0.5.6"), "m@2@1@ab@half")


def test_a_server_drops_white_space_around_a_key_and_a_reader_of_keys_does_not():
    text = "  m@2@1@ab@half\t"
    assert parse_key_as_server(release("0.5.6"), text).model == "m"
    with pytest.raises(DecodeError, match="no dtype is called"):
        parse_key(release("0.5.6"), text)


def test_the_opaque_hash_of_the_first_releases_is_compared_as_text():
    read = [parse_key_as_server(release("0.3.1"), f"vllm@m@2@1@{digest}").chunk_hash for digest in ("ab", "AB", "0xab", "")]
    assert read == ["ab", "AB", "0xab", ""]


@pytest.mark.parametrize("number", ["one", "1.0", "", "0x1"])
def test_world_and_worker_are_integers_in_decimal(number):
    for text in (f"m@{number}@1@ab@half", f"m@2@{number}@ab@half"):
        with pytest.raises(DecodeError, match="invalid literal for int"):
            parse_key_as_server(release("0.5.6"), text)


@pytest.mark.parametrize("text", ["0.3.1", "0.3.3", "0.3.5", "0.3.12", "0.5.6"])
@pytest.mark.parametrize(
    "identity",
    [
        CacheKey("m", 8, 3, 0, "float16", fmt="vllm"),
        CacheKey("m", 8, 3, 0, "float16", fmt="vllm", layer=2, tags=(("user", "alice"), ("a", "b"))),
        CacheKey("m", 8, 3, 0),
        CacheKey("m", 8, 3, 0, "no dtype", fmt="vllm"),
    ],
)
@pytest.mark.parametrize("hashes", [[], [1, -5, 2**64], ["ab"], [b"\x01" * 32], [7, b"\x01"], [b"\x01", 7]])
def test_keys_that_differ_in_their_hash_are_written_as_each_alone(text, identity, hashes):
    release = Release.parse(text)

    def outcome(what):
        try:
            return what()
        except EncodeError as error:
            return str(error)

    alone = outcome(lambda: [format_key(release, replace(identity, chunk_hash=value)) for value in hashes])
    assert outcome(lambda: format_keys(release, identity, hashes)) == alone


@pytest.mark.parametrize("text", ["0.3.3", "0.3.4", "0.3.5"])
@pytest.mark.parametrize("number", [16**4000, -(16**4000)], ids=["positive", "negative"])
def test_a_hash_that_is_too_long_for_base_10_is_refused_as_it_is_upstream(text, number):
    with pytest.raises(EncodeError, match="the chunk hash of a key cannot be written: a number of 16001 bits"):
        format_key(release(text), key_of(text, chunk_hash=number))
    with pytest.raises(EncodeError, match="too many decimal digits"):
        format_keys(release(text), key_of(text), [1, number])


@pytest.mark.parametrize("text", ["0.3.6", "0.5.6"])
def test_a_hash_in_base_16_may_be_as_long_as_it_likes(text):
    key = key_of(text, chunk_hash=-(16**4000))
    assert parse_key(release(text), format_key(release(text), key)) == key


@pytest.mark.parametrize(("part", "said"), [("world_size", "world size"), ("worker_id", "worker id"), ("layer", "layer")])
def test_other_numbers_of_a_key_are_refused_likewise(part, said):
    with pytest.raises(EncodeError, match=f"the {said} of a key cannot be written"):
        format_key(release("0.5.6"), key_of("0.5.6", **{part: 10**5000}))


@pytest.mark.parametrize("digit", ["1", "\u0663"])
@pytest.mark.parametrize("form", ["m@{}@1@a@half", "m@1@{}@a@half", "m@1@1@a@half@{}"])
def test_numbers_of_too_many_digits_are_refused_when_they_are_read(form, digit):
    with pytest.raises(DecodeError, match="4300"):
        parse_key(release("0.5.6"), form.format(digit * 4400))
