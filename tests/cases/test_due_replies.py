"""What may come of a reply, decided by its bytes: spelled out by hand for replies of 0.5.6."""

import struct

import pytest

from cases.lm.replies import Spoken, due
from wire.lm.profile import lm_profile
from wire.release import Release

PROFILE = lm_profile(Release.parse("0.5.6"))
EXPECT = {"format": "KV_2TD", "dtype": "bfloat16", "shape": [2, 1, 3]}
PAYLOAD = b"twelve bytes"


def header(code, length=0, layout=1, dtype=2, shape=(0, 0, 0, 0), location=0):
    return struct.pack("<9i", code, length, layout, dtype, *shape, location)


HIT = header(200, 12, 3, 3, (2, 1, 3, 0)) + PAYLOAD


def outcomes(op, data, ending="close"):
    return due(PROFILE, Spoken(op, EXPECT if op == "get" else None, data, ending), len(PAYLOAD)).outcomes(op)


def test_the_reply_that_is_due_is_the_value_and_nothing_else():
    assert outcomes("get", HIT) == ["value"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        HIT[:35],
        HIT[:-1],
        header(200, 12, 2, 3, (2, 1, 3, 0)) + PAYLOAD,
        header(200, 12, 3, 2, (2, 1, 3, 0)) + PAYLOAD,
        header(200, 12, 3, 3, (1, 2, 3, 0)) + PAYLOAD,
        header(200, 12, 3, 3, (2, 1, 3, 1)) + PAYLOAD,
        header(200, 11, 3, 3, (2, 1, 3, 0)) + PAYLOAD,
        header(200, -12, 3, 3, (2, 1, 3, 0)) + PAYLOAD,
        header(201, 12, 3, 3, (2, 1, 3, 0)) + PAYLOAD,
        header(400, 12, 3, 3, (2, 1, 3, 0)) + PAYLOAD,
    ],
)
def test_any_other_reply_to_a_get_is_no_value(data):
    assert outcomes("get", data) == ["miss", "error"]


def test_a_clean_miss_is_a_miss():
    assert outcomes("get", header(400)) == ["miss"]


def test_more_bytes_than_were_due_excuse_an_error():
    assert outcomes("get", HIT + b"x") == ["value", "miss", "error"]


def test_a_reset_behind_the_value_excuses_an_error():
    assert outcomes("get", HIT, "reset") == ["value", "miss", "error"]


@pytest.mark.parametrize(
    ("code", "expected"), [(200, ["true"]), (400, ["false"]), (404, ["false", "error"]), (456, ["false", "error"])]
)
@pytest.mark.parametrize("op", ["exist", "health"])
def test_yes_and_no_go_by_the_whole_code(op, code, expected):
    assert outcomes(op, header(code)) == expected


def test_half_a_header_is_no_yes():
    assert outcomes("exist", header(200)[:20]) == ["error"]


def test_yes_with_a_payload_may_be_an_error():
    assert outcomes("exist", header(200, 5) + b"hello") == ["true", "false", "error"]
