"""msgpack values, their JSON, and which of them a decoder of lmcache takes."""

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.errors import WireError
from wire.mp.cpu_tensors import read_cpu_tensor
from wire.mp.frames import decode_reply, decode_value, encode_value
from wire.mp.operations import operation_table
from wire.mp.records import KEY_RECORD, RECORDS
from wire.mp.types import Named, parse_type
from wire.mp.values import DEEPEST, ValueRefused, check_salts, complete, from_json, pack, to_json, typed, unpack
from wire.release import KNOWN_RELEASES, Release

NEWEST = Release.parse("0.5.6")
KEY = {
    "model_name": "m",
    "world_size": 2,
    "worker_id": None,
    "token_ids": [1, 2**32 - 1],
    "start": 0,
    "end": 2,
    "request_id": "r",
}
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.text(max_size=8)
    | st.binary(max_size=8)
    | st.builds(msgspec.msgpack.Ext, st.integers(-128, 127).filter(lambda code: code != -1), st.binary(max_size=8)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


def of_key(release: str) -> Named:
    return Named(KEY_RECORD[Release.parse(release)])


@given(VALUES)
def test_values_survive_msgpack_and_json(value: object) -> None:
    assert unpack(pack(value)) == value
    assert from_json(to_json(value)) == value


@pytest.mark.parametrize("time", ["00000000", "0000000200000001", "00000000ffffffffffffffff"])
def test_a_timestamp_is_an_extension_value_like_any_other(time: str) -> None:
    value = [msgspec.msgpack.Ext(-1, bytes.fromhex(time))]
    assert unpack(pack(value)) == value
    assert to_json(unpack(pack(value))) == [{"ext": -1, "data": {"hex": time}}]


def test_a_broken_timestamp_is_refused() -> None:
    with pytest.raises(ValueRefused, match="no msgpack value: Invalid MessagePack timestamp"):
        unpack(bytes.fromhex("d4ff00"))


def test_a_timestamp_is_no_key_of_a_map() -> None:
    with pytest.raises(ValueRefused, match="a timestamp is a key of a map"):
        unpack(bytes.fromhex("81d6ff0000000001"))


def test_a_range_stands_for_its_integers() -> None:
    assert from_json({"token_ids": {"range": [3, 6]}}) == {"token_ids": [3, 4, 5]}


@pytest.mark.parametrize("value", [{"hex": "0"}, {"hex": 5}, {"ext": 1, "data": "00"}, {"range": [1]}, {"range": ["a", "b"]}])
def test_malformed_json_values_are_refused_by_name(value: object) -> None:
    with pytest.raises(ValueRefused, match="no value of the contract"):
        from_json(value)


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x01\x02", b"\xa5ab", b"\x91" * 100_000, b"\xa1\xff", b"\xdd\xff\xff\xff\xff"])
def test_bytes_that_are_not_one_value_are_refused(data: bytes) -> None:
    with pytest.raises(ValueRefused, match="no msgpack value"):
        unpack(data)


def test_integers_beyond_64_bits_cannot_be_packed() -> None:
    with pytest.raises(ValueRefused, match="msgpack cannot hold it"):
        pack(2**64)


def test_missing_members_with_a_default_are_filled_in_and_unknown_ones_dropped() -> None:
    found = typed(NEWEST, of_key("0.5.6"), {**KEY, "later": 1})
    assert found == {**KEY, "cache_salt": "", "request_configs": None, "num_kv_readers": 0}


def test_an_array_for_a_record_is_refused() -> None:
    with pytest.raises(ValueRefused, match="an array, and a IPCCacheServerKey is a map"):
        typed(NEWEST, of_key("0.5.6"), list(KEY.values()))


@pytest.mark.parametrize(
    ("member", "value", "words"),
    [
        ("world_size", "2", "value.world_size is a text, and int was expected"),
        ("world_size", True, "value.world_size is a boolean"),
        ("worker_id", 1.0, "value.worker_id is a float"),
        ("token_ids", [1, None], r"value.token_ids\[1\] is nil"),
        ("model_name", b"m", "value.model_name is bytes, and str was expected"),
        ("cache_salt", "a@b", "one of the characters"),
        ("cache_salt", "s" * 129, "129 characters"),
    ],
)
def test_a_member_of_another_type_is_named(member: str, value: object, words: str) -> None:
    with pytest.raises(ValueRefused, match=words):
        typed(NEWEST, of_key("0.5.6"), {**KEY, member: value})


def test_a_missing_required_member_is_named() -> None:
    with pytest.raises(ValueRefused, match="lacks request_id"):
        typed(NEWEST, of_key("0.5.6"), {name: value for name, value in KEY.items() if name != "request_id"})


@pytest.mark.parametrize(
    ("release", "names"),
    [
        ("0.3.12", ["model_name", "world_size", "worker_id"]),
        ("0.4.2", list(KEY)),
        ("0.4.4", [*KEY, "cache_salt"]),
        ("0.5.5", [*KEY, "cache_salt", "request_configs", "num_kv_readers"]),
    ],
)
def test_a_record_is_written_with_all_fields_of_its_release_in_their_order(release: str, names: list[str]) -> None:
    shuffled = dict(reversed([*KEY.items(), ("later", 1)]))
    assert list(complete(Release.parse(release), of_key(release), shuffled)) == names


def test_engine_types_are_texts_of_their_release() -> None:
    assert typed(NEWEST, parse_type("EngineType"), "atom") == "atom"
    with pytest.raises(ValueRefused, match="one of vllm, sglang, trtllm, mock"):
        typed(Release.parse("0.5.4"), parse_type("EngineType"), "atom")


def test_every_record_that_a_field_names_exists_in_the_releases_of_that_field() -> None:
    for table in RECORDS.values():
        for range_, fields in table.rows():
            for release in (Release.parse(text) for text in KNOWN_RELEASES):
                if release in range_:
                    for field in fields:
                        complete(release, field.type, None if field.required else field.default)


def nested(depth: int, head: bytes = b"\x91") -> bytes:
    return head * depth + b"\xc0"


@pytest.mark.parametrize("head", [b"\x91", b"\x81\xa1a"], ids=["arrays", "maps"])
def test_json_holds_what_is_nested_as_deep_as_documented_and_no_deeper(head: bytes) -> None:
    assert from_json(to_json(unpack(nested(DEEPEST, head)))) == unpack(nested(DEEPEST, head))
    with pytest.raises(ValueRefused, match="arrays and maps are nested more than 64 deep"):
        to_json(unpack(nested(DEEPEST + 1, head)))


def test_a_salt_is_looked_for_as_deep_as_documented() -> None:
    with pytest.raises(ValueRefused, match=r"cache_salt has 129 characters"):
        check_salts(unpack(b"\x91" * (DEEPEST - 1) + pack({"cache_salt": "x" * 129})))
    with pytest.raises(ValueRefused, match="nested more than 64 deep"):
        check_salts(unpack(nested(DEEPEST + 1)))


def hardly_read(shape: str) -> list[bytes]:
    """Values that are nested as deep as can just be read here, and about half as deep, where walks of two calls a level end."""
    heads = {"arrays": b"\x91", "maps": b"\x81\xa1a"}
    made = {
        depth: nested(depth, heads[shape]) if shape in heads else b"\x81" + nested(depth) + b"\xc0" for depth in range(300, 1100)
    }
    deepest = max(depth for depth, data in made.items() if reads(data))
    return [made[depth] for depth in made if deepest - 8 <= depth <= deepest + 1 or abs(2 * depth - deepest) < 60]


def reads(data: bytes) -> bool:
    try:
        unpack(data)
    except ValueRefused:
        return False
    return True


READERS = {
    "told as JSON": lambda data: to_json(unpack(data)),
    "written": lambda data: pack(unpack(data)),
    "echoed operation": lambda data: decode_reply(operation_table(NEWEST), "PING", [data, b"\xc3"]),
    "operation": lambda data: operation_table(NEWEST).numbered(unpack(data)),
    "tensor": lambda data: read_cpu_tensor(NEWEST, data),
    "kind of tensor": lambda data: read_cpu_tensor(NEWEST, b"\x81\xa4type" + data),
    "enumeration": lambda data: decode_value(NEWEST, Named("EngineType"), data, "it"),
    "map": lambda data: decode_value(NEWEST, parse_type("{int: int}"), data, "it"),
    "written again": lambda data: encode_value(NEWEST, parse_type("any"), decode_value(NEWEST, parse_type("any"), data, "it")),
}


@pytest.mark.parametrize("shape", ["arrays", "maps", "keys"])
@pytest.mark.parametrize("reader", READERS)
def test_a_value_that_hardly_fits_on_the_stack_is_taken_or_refused_in_words(reader: str, shape: str) -> None:
    for data in hardly_read(shape):
        with contextlib.suppress(WireError):
            READERS[reader](data)
