"""Replies that no server should give: any numbers in the header, any bytes behind it, any bytes at all."""

import struct
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cases.lm.replies import Op, Spoken, exchange
from harness.case import MOCK, case, parameters
from harness.examples import Examples
from harness.judge import Judge
from harness.scripted_server import ENDINGS, scripted_server
from harness.subject import Subject
from harness.values import Keys, Value, binary, sample
from wire.lm.enums import DTYPES, FORMATS
from wire.lm.profile import LmProfile
from wire.lm.shapes import pad_shape

CITES = ("LM-GET-004", "LM-REPLY-005", "LM-ID-006", "LM-ID-007", "LM-ID-008", "LM-ID-009", "LM-CONN-001", "LM-CONN-003")
OPERATIONS = ("get", "exist", "health")
NEEDS = ("connect", "exist")
FEW = 5
ENDS = st.sampled_from(["close"] * 18 + ["reset"] * 6 + list(ENDINGS))
"""Silence costs the whole timeout of a connection, so that it is drawn seldom."""
EDGES = st.sampled_from(
    [0, 1, -1, 2, 7, 8, 9, 127, 128, 255, 256, 257, 200, 400, 456, 65736, 1 << 16, 1 << 30, 2**31 - 1, -(2**31)]
)


@case(*CITES, targets=MOCK, needs=NEEDS, variants=parameters(*OPERATIONS))
def test_any_header(client: Subject, judge: Judge, keys: Keys, profile: LmProfile, vector: Op, examples: Examples) -> None:
    """A header of any numbers with any number of bytes behind it gives a value only where it is the reply that was due."""
    client.needs(vector)
    values = [sample(profile), sample(profile, "KV_2TD", "bfloat16"), binary(bytes(range(128))), binary(b"")]

    @examples.costly(FEW)
    @given(st.sampled_from(values).flatmap(lambda value: st.tuples(st.just(value), headers(profile, value), tails(value))), ENDS)
    def check(drawn: tuple[Value, bytes, bytes], ending: Any) -> None:
        value, header, tail = drawn
        spoken = Spoken(vector, value.expect if vector == "get" else None, header + tail, ending)
        exchange(client, judge, peer, keys, profile, spoken, len(value.payload))

    with scripted_server(profile) as peer:
        check()


@case(*CITES, targets=MOCK, needs=NEEDS, variants=parameters(*OPERATIONS))
def test_any_reply(client: Subject, judge: Judge, keys: Keys, profile: LmProfile, vector: Op, examples: Examples) -> None:
    """Any bytes in place of a reply, then the end or silence: no crash, no hang, no value, and the next answer is right."""
    client.needs(vector)
    value = sample(profile)

    @examples.costly(FEW)
    @given(st.binary(max_size=profile.header.reply_size + 64), ENDS)
    def check(data: bytes, ending: Any) -> None:
        spoken = Spoken(vector, value.expect if vector == "get" else None, data, ending)
        exchange(client, judge, peer, keys, profile, spoken, len(value.payload))

    with scripted_server(profile) as peer:
        check()


def headers(profile: LmProfile, value: Value) -> st.SearchStrategy[bytes]:
    """Reply headers near the one that is due: most fields as they must be, some of them anything."""
    right = {
        "code": 200,
        "length": len(value.payload),
        "format": FORMATS[value.format],
        "dtype": DTYPES[value.dtype],
        "location": 0,
        **{f"shape{index}": dim for index, dim in enumerate(pad_shape(profile, value.shape))},
    }
    miss = {**dict.fromkeys(right, 0), "code": 400, "format": 1, "dtype": 2}
    names = profile.header.reply
    changed = st.dictionaries(st.sampled_from(names), EDGES, max_size=3)
    return st.builds(
        lambda start, changes: struct.pack(f"<{len(names)}i", *({**start, **changes}[name] for name in names)),
        st.sampled_from([right, right, miss, {**miss, "code": 200}]),
        changed,
    )


def tails(value: Value) -> st.SearchStrategy[bytes]:
    """What stands behind a header: the payload, a part of it, more than it, nothing, or something else."""
    payload = value.payload
    return st.one_of(
        st.just(payload),
        st.integers(0, len(payload)).map(lambda size: payload[:size]),
        st.binary(min_size=1, max_size=40).map(lambda more: payload + more),
        st.just(b""),
        st.binary(max_size=64),
    )
