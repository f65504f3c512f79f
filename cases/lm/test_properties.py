"""Properties of the pure operations: what is written is read back as it was."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from harness.case import case
from harness.examples import Examples
from harness.judge import Judge
from harness.subject import Subject
from harness.values import Keys, storable_formats
from wire.keys import KEY_GRAMMARS
from wire.lm.enums import BINARY_FORMATS, CODES, COMMANDS, DTYPES, LOCATIONS
from wire.lm.profile import LmProfile
from wire.release import Release

INT32 = st.integers(-(2**31), 2**31 - 1)


@case("LM-REQ-005", "LM-REQ-006", "LM-REQ-007", "LM-REQ-008", needs=("encode_request", "decode_request"))
def test_request_round_trip(client: Subject, judge: Judge, keys: Keys, profile: LmProfile, examples: Examples) -> None:
    """A request header that a client writes, it reads back as it was."""

    @examples
    @given(descriptions(profile), st.sampled_from(list(COMMANDS)))
    def check(about: dict[str, Any], command: str) -> None:
        wanted = {**about, "command": command, "key": keys() if reads_hashes_as_written(keys.release) else keys(hash=9)}
        data = client.ok("encode_request", **wanted)["bytes"]
        judge.holds(len(data) == profile.header.request_size, f"a request header of {len(data)} bytes", cite="LM-REQ-005")
        got = client.ok("decode_request", bytes=data)
        judge.same_value(wanted, {name: got.get(name) for name in wanted}, what="the request read back")

    check()


@case("LM-REPLY-001", "LM-REPLY-002", needs=("encode_reply", "decode_reply"))
def test_reply_round_trip(client: Subject, judge: Judge, profile: LmProfile, examples: Examples) -> None:
    """A reply header that a client writes, it reads back as it was."""

    @examples
    @given(descriptions(profile), st.sampled_from(list(CODES)))
    def check(about: dict[str, Any], code: str) -> None:
        wanted = {**about, "code": code}
        data = client.ok("encode_reply", **wanted)["bytes"]
        judge.holds(len(data) == profile.header.reply_size, f"a reply header of {len(data)} bytes")
        got = client.ok("decode_reply", bytes=data)
        judge.same_value(wanted, {name: got.get(name) for name in wanted}, what="the reply read back")

    check()


@case("LM-REQ-012", "LM-REPLY-001", "LM-REPLY-002", needs=("decode_reply",))
def test_any_bytes(client: Subject, judge: Judge, profile: LmProfile, examples: Examples) -> None:
    """Any bytes of the size of a reply header are read or refused, never a fault of the client."""

    @examples
    @given(st.binary(min_size=profile.header.reply_size, max_size=profile.header.reply_size))
    def check(data: bytes) -> None:
        answer = client.call("decode_reply", bytes=data)
        judge.read_or_refused("decode_reply", answer, got=data)

    check()


@case("KEY-PARSE-001", needs=("format_key", "parse_key"))
def test_key_round_trip(client: Subject, judge: Judge, keys: Keys, examples: Examples) -> None:
    """A key string that a client writes, it reads back as the key that it was."""
    hashes = st.integers(-(2**63), 2**64) if reads_hashes_as_written(keys.release) else st.integers(0, 9)

    @examples
    @given(hashes, st.integers(1, 4096), st.integers(0, 4095), st.text("abc/-._", min_size=1, max_size=20))
    def check(number: int, world: int, worker: int, model: str) -> None:
        wanted = keys(hash=number, world_size=world, worker_id=worker, model=model)
        text = client.ok("format_key", key=wanted)["text"]
        got = client.ok("parse_key", text=text)["key"]
        judge.same_value(wanted, {name: got.get(name) for name in wanted}, what="the key read back")

    check()


def reads_hashes_as_written(release: Release) -> bool:
    """Whether a hash survives its own round trip; where it does not (KEY-PARSE-002), one decimal digit still does."""
    return KEY_GRAMMARS[release].hash_style != "decimal-read-as-hex"


def descriptions(profile: LmProfile) -> st.SearchStrategy[dict[str, Any]]:
    """Any legal description; where trailing zeros are dropped on reading, shapes do not end in one."""
    rank = st.integers(1, 4) if profile.short_shapes else st.just(4)
    last = INT32.filter(bool) if profile.short_shapes else INT32
    shapes = rank.flatmap(lambda size: st.tuples(*([INT32] * (size - 1)), last).map(list))
    formats = [name for name in storable_formats(profile) if name not in BINARY_FORMATS]
    return st.fixed_dictionaries(
        {
            "length": INT32,
            "format": st.sampled_from(formats),
            "dtype": st.sampled_from(list(DTYPES)),
            "shape": shapes,
            "location": st.sampled_from(list(LOCATIONS)) if profile.has_location else st.none(),
        }
    )
