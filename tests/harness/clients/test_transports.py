"""The reference client answers the same inside this process and over standard streams."""

import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.client import PURE, Error, Ok, Unsupported
from harness.clients.inprocess import InProcessSession
from harness.clients.samples import sample_arguments, sample_key
from harness.clients.stdio import StdioSession
from harness.reference.lm import ReferenceClient
from wire.lm.enums import COMMANDS, DTYPES, FORMATS, LOCATIONS
from wire.release import KNOWN_RELEASES

ROOT = Path(__file__).parents[3]
RELEASES = st.sampled_from(KNOWN_RELEASES)
INT32 = st.integers(-(2**31), 2**31 - 1)
ABOUT = {
    "length": st.integers(-(2**33), 2**33) | INT32,
    "format": st.sampled_from(sorted(FORMATS)),
    "dtype": st.sampled_from(list(DTYPES)),
    "shape": st.lists(INT32, min_size=1, max_size=4),
    "location": st.sampled_from(list(LOCATIONS)),
}

SMALL = st.integers(-1, 9).map(lambda number: number.to_bytes(4, "little", signed=True))
FIELDS = st.lists(SMALL, min_size=8, max_size=9).map(b"".join)
HEADERS = (
    st.binary(max_size=200)
    | st.builds(lambda code, fields: code.to_bytes(4, "little") + fields[4:], st.sampled_from([200, 400, 300]), FIELDS)
    | st.builds(lambda fields, key: fields + key.ljust(150), FIELDS, st.sampled_from([b"m@1@0@7@half", b"vllm@m@1@0@7", b"\xff"]))
)


@pytest.fixture(scope="module")
def sessions():
    inside = InProcessSession(ReferenceClient)
    outside = StdioSession([sys.executable, "-m", "harness.clients.host", "reference"], cwd=ROOT)
    yield inside, outside
    assert inside.starts == outside.starts == 1
    inside.stop()
    outside.stop()
    assert outside.exit_status == 0


def same(sessions, op, args):
    inside, outside = (session.call(op, args, deadline=20) for session in sessions)
    assert inside == outside
    assert type(inside) is type(outside)
    return inside


def test_the_descriptions_are_the_same(sessions):
    inside, outside = sessions
    assert inside.description == outside.description


@pytest.mark.parametrize("op", PURE)
@pytest.mark.parametrize("release", ["0.3.1", "0.3.4", "0.3.9", "0.4.4", "0.5.6"])
def test_ordinary_arguments(sessions, op, release):
    answer = same(sessions, op, sample_arguments(op, release))
    if op not in {"decode_request", "parse_key"}:
        assert isinstance(answer, Ok)


@settings(deadline=None, max_examples=60)
@given(
    release=RELEASES, command=st.sampled_from(sorted(COMMANDS)), model=st.text(max_size=60), about=st.fixed_dictionaries(ABOUT)
)
def test_request_headers(sessions, release, command, model, about):
    key = {**sample_key(release), "model": model}
    answer = same(sessions, "encode_request", {"release": release, "command": command, "key": key, **about})
    if isinstance(answer, Ok):
        same(sessions, "decode_request", {"release": release, **answer.values})
    else:
        assert answer.kind == "refused"


@settings(deadline=None, max_examples=60)
@given(release=RELEASES, code=st.sampled_from(["SUCCESS", "FAIL"]), about=st.fixed_dictionaries(ABOUT))
def test_reply_headers(sessions, release, code, about):
    answer = same(sessions, "encode_reply", {"release": release, "code": code, **about})
    if isinstance(answer, Ok):
        same(sessions, "decode_reply", {"release": release, **answer.values})
    else:
        assert answer.kind == "refused"


@settings(deadline=None, max_examples=60)
@given(release=RELEASES, op=st.sampled_from(["decode_request", "decode_reply"]), data=HEADERS)
def test_headers_of_arbitrary_bytes(sessions, release, op, data):
    answer = same(sessions, op, {"release": release, "bytes": data})
    assert isinstance(answer, Ok) or answer.kind == "protocol"


@settings(deadline=None, max_examples=40)
@given(release=RELEASES, text=st.text(max_size=40) | st.from_regex(r"\A[a-z]{1,3}(@-?[0-9a-f]{1,4}){2,5}(@half)?\Z"))
def test_key_strings(sessions, release, text):
    answer = same(sessions, "parse_key", {"release": release, "text": text})
    assert isinstance(answer, Ok) or answer.kind == "protocol"


@settings(deadline=None, max_examples=40)
@given(
    release=RELEASES,
    format_name=st.sampled_from(sorted(FORMATS)),
    groups=st.lists(st.fixed_dictionaries({"dtype": ABOUT["dtype"], "shape": ABOUT["shape"]}), max_size=3),
)
def test_metadata(sessions, release, format_name, groups):
    answer = same(sessions, "encode_metadata", {"release": release, "length": 1, "format": format_name, "groups": groups})
    if isinstance(answer, Ok):
        same(sessions, "decode_metadata", {"release": release, **answer.values, "groups": len(groups)})


@pytest.mark.parametrize("size", [1, 64 * 1024, 64 * 1024 + 1, 1 << 20])
def test_bytes_of_all_sizes(sessions, size):
    layout = {"release": "0.5.6", "format": "KV_MLA_FMT", "dtype": "uint8", "slots": [0]}
    memory = bytes(range(256)) * (size // 256) + bytes(size % 256)
    packed = same(sessions, "pack_layout", {**layout, "paged": memory, "paged_shape": [1, 1, 1, size]})
    assert isinstance(packed, Ok)
    assert packed.values["bytes"] == memory
    assert sessions[1].leftovers == 0


def test_builtin_chunk_keys_that_contain_an_address_are_those_of_the_process_that_answers(sessions):
    args = {**sample_arguments("chunk_keys", "0.3.15"), "algorithm": "builtin"}
    for session in sessions:
        answer = session.call("chunk_keys", args, deadline=10)
        assert isinstance(answer, Ok)
        assert [(chunk["start"], chunk["end"]) for chunk in answer.values["chunks"]]


@pytest.mark.parametrize("release", ["", "nonsense", "0.0.1", "99.0.0"])
def test_unknown_releases_are_unsupported(sessions, release):
    answer = same(sessions, "encode_reply", {**sample_arguments("encode_reply", "0.5.6"), "release": release or "?"})
    assert isinstance(answer, Unsupported)


@pytest.mark.parametrize(
    ("op", "change", "kind"),
    [
        ("encode_request", {"key": {**sample_key("0.5.6"), "model": "é" * 80}}, "refused"),
        ("encode_request", {"length": 2**31}, "refused"),
        ("chunk_keys", {"skip": 1}, "refused"),
        ("chunk_keys", {"algorithm": "md5"}, "refused"),
        ("token_hashes", {"tokens": [1, 2**32]}, "refused"),
        ("token_hashes", {"tokens": [1, -1]}, "refused"),
        ("pack_layout", {"paged": b"x"}, "refused"),
        ("pack_layout", {"slots": [7]}, "refused"),
        ("pack_layout", {"dtype": None}, "refused"),
        ("pack_layout", {"format": "BINARY"}, "refused"),
        ("decode_metadata", {"groups": 2}, "protocol"),
    ],
)
def test_what_cannot_be_done_has_its_error_class(sessions, op, change, kind):
    answer = same(sessions, op, {**sample_arguments(op, "0.5.6"), **change})
    assert isinstance(answer, Error)
    assert answer.kind == kind
