"""Replies that say something wrong: fields, bits, lengths, and bytes that belong nowhere."""

from __future__ import annotations

import struct

import pytest
from stored_body import BODY

from mockserver.faults import Outgoing, parse_plan


def differing(first, second):
    return [index for index, (one, other) in enumerate(zip(first, second, strict=True)) if one != other]


@pytest.mark.shows("flip-bit")
@pytest.mark.parametrize(
    ("place", "offset"),
    [
        ("0", 0),
        ("field:length", 4),
        ("field:length+3", 7),
        ("field:shape3-1", 27),
        ("body-1", -1 - len(BODY)),
        ("body", -len(BODY)),
        ("end-1", -1),
    ],
)
def test_one_bit_is_flipped_and_nothing_else(misbehave, honest, caller, finished, place, offset):
    misbehave(f"flip-bit:at={place},bit=5")
    caller.request("GET")
    expected = bytearray(honest["hit"])
    expected[offset] ^= 0b0010_0000
    got = caller.read(len(expected))
    assert got == bytes(expected)
    assert len(differing(got, honest["hit"])) == 1
    assert finished().faults == (f"flip-bit:at={place},bit=5",)


def test_the_store_keeps_the_bit(stocked, misbehave, honest, caller):
    misbehave("flip-bit:at=body,nth=1")
    for _ in range(2):
        caller.request("GET")
        last = caller.read(len(honest["hit"]))
    assert last == honest["hit"]


@pytest.mark.parametrize(
    "fault", ["flip-bit:at=end", "flip-bit:at=1000", "truncate-body:bytes=20", "extend-body:bytes=3,command=EXIST"]
)
def test_a_fault_without_anything_to_act_on_is_not_in_the_journal(misbehave, honest, caller, finished, fault):
    misbehave(fault)
    caller.request("GET")
    assert caller.read(len(honest["hit"])) == honest["hit"]
    assert finished().faults == ()


@pytest.mark.shows("extend-body")
def test_an_extended_body_has_bytes_behind_it_that_the_header_does_not_announce(misbehave, honest, caller, finished):
    misbehave("extend-body:bytes=5,fill=0x41")
    caller.request("GET")
    caller.request("EXIST")
    expected = honest["hit"] + b"AAAAA" + honest["yes"]
    assert caller.read(len(expected)) == expected
    exchange = finished("GET")
    assert (exchange.bytes_out, exchange.reply_header) == (len(honest["hit"]) + 5, honest["hit"][: -len(BODY)])
    assert exchange.faults == ("extend-body:bytes=5,fill=65",)


@pytest.mark.shows("bytes-after-miss")
def test_bytes_follow_a_miss_and_no_hit(misbehave, honest, caller, finished):
    misbehave("bytes-after-miss:bytes=4")
    caller.request("GET", caller.key.replace("model", "other"))
    caller.request("GET")
    expected = honest["miss"] + b"\xee" * 4 + honest["hit"]
    assert caller.read(len(expected)) == expected
    assert finished().faults == ()
    caller.request("EXIST", caller.key.replace("model", "other"))
    assert caller.read(len(honest["miss"]) + 4)[-4:] == b"\xee" * 4
    assert finished("EXIST").faults == ("bytes-after-miss:bytes=4",)


@pytest.mark.shows("garbage-before")
def test_garbage_comes_before_the_reply(misbehave, honest, caller, finished):
    misbehave("garbage-before:bytes=3,fill=10")
    caller.request("GET")
    assert caller.read(3 + len(honest["hit"])) == b"\n\n\n" + honest["hit"]
    exchange = finished()
    assert exchange.faults == ("garbage-before:bytes=3,fill=10",)
    assert [segment.size for segment in exchange.segments_out] == [3, len(honest["hit"]) - len(BODY), len(BODY)]


def test_garbage_leaves_the_places_in_the_reply_where_they_are(misbehave, honest, caller):
    misbehave("garbage-before:bytes=3", "close-after:bytes=body+2")
    caller.request("GET")
    assert caller.rest() == (b"\xee" * 3 + honest["hit"][: 2 - len(BODY)], "fin")


@pytest.mark.shows("truncate-body")
def test_a_body_is_truncated_on_old_and_new_releases(misbehave, honest, caller, finished):
    misbehave("truncate-body:bytes=7")
    caller.request("GET")
    assert caller.rest() == (honest["hit"][: 7 - len(BODY)], "fin")
    assert str(finished().ending) == "fault: truncate-body:bytes=7"


@pytest.mark.shows("replace-field")
@pytest.mark.parametrize(
    ("name", "value", "offset", "number"),
    [
        ("code", "400", 0, 400),
        ("code", "FAIL", 0, 400),
        ("code", "-200", 0, -200),
        ("code", "stored+1", 0, 201),
        ("length", "stored", 4, len(BODY)),
        ("length", "stored-1", 4, len(BODY) - 1),
        ("length", "stored*2", 4, 2 * len(BODY)),
        ("length", "stored*2147483648", 4, 0),
        ("length", "stored+2147483647", 4, len(BODY) + 2**31 - 1 - 2**32),
        ("length", "0x7fffffff", 4, 2**31 - 1),
        ("format", "KV_T2D", 8, 2),
        ("dtype", "float32", 12, 4),
        ("dtype", "none", 12, 0),
        ("shape3", "stored+1", 28, len(BODY) + 1),
    ],
)
def test_a_field_is_replaced_by_number_by_name_or_relative_to_what_was_stored(
    misbehave, honest, caller, finished, name, value, offset, number
):
    misbehave(f"replace-field:name={name},value={value}")
    caller.request("GET")
    expected = honest["hit"][:offset] + struct.pack("<i", number) + honest["hit"][offset + 4 :]
    assert caller.read(len(expected)) == expected
    assert finished().reply_header == expected[: -len(BODY)]


def test_a_location_is_replaced_where_there_is_one(start, dial):
    server = start("0.5.6", faults=parse_plan(["replace-field:name=location,value=LocalDiskBackend"]))
    client = dial(server)
    client.request("HEALTH")
    assert client.read(36)[-4:] == struct.pack("<i", 2)


def test_a_large_body_is_not_copied_to_be_cut_or_extended():
    body = memoryview(bytearray(1000))
    _, whole, _ = Outgoing(("code",), b"code", body, after=b"more").parts()
    _, cut = Outgoing(("code",), b"code", body, cut=504).parts()
    assert whole.obj is cut.obj is body.obj
    assert len(cut) == 500
