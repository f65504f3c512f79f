"""Segments of an lm:// conversation are named by what they bring of which frame."""

import struct

import pytest

from harness.tape.lm_labels import LmLabels
from mockserver.tape import HEAD, Moment
from wire.lm.profile import lm_profile
from wire.release import Release

NEW, OLD = Release.parse("0.5.6"), Release.parse("0.3.1")


def request(command, length=0, key=b"a/key"):
    """A request header of 0.5.6, written by hand: nine int32 and 150 bytes of key."""
    return struct.pack("<9i", command, length, 1, 0, 0, 0, 0, 0, 0) + key.ljust(150)


def reply(code, length=0):
    """A reply header of 0.5.6, likewise."""
    return struct.pack("<9i", code, length, 1, 0, 0, 0, 0, 0, 0)


@pytest.fixture
def says():
    """What a conversation of segments is called: ``says(("client", data), ("server", data))``."""
    labels = LmLabels(lm_profile(NEW))

    def told(*segments):
        return [labels.label(Moment(0.0, 1, sender, "data", len(data), data[:HEAD])) for sender, data in segments]

    told.labels = labels
    return told


def test_a_put_and_its_payload_in_pieces(says):
    assert says(("client", request(1, 300)), ("client", bytes(100)), ("client", bytes(200))) == [
        "PUT a/key, 300 bytes follow",
        "payload, bytes 0 to 99 of 300",
        "payload, bytes 100 to 299 of 300",
    ]


def test_a_reply_header_in_two_segments(says):
    whole = reply(200, 64) + bytes(64)
    assert says(("client", request(2)), ("server", whole[:1]), ("server", whole[1:])) == [
        "GET a/key",
        "header, byte 0 of 36",
        "header, bytes 1 to 35 of 36: reply to GET: 200 (success), 64 bytes follow; value, 64 bytes",
    ]


def test_a_put_has_no_reply_and_others_are_named_in_their_order(says):
    asked = [("client", request(1, 0)), ("client", request(3)), ("client", request(2))]
    assert says(*asked, ("server", reply(200)), ("server", reply(400)))[3:] == [
        "reply to EXIST: 200 (success)",
        "reply to GET: 400 (fail)",
    ]


def test_numbers_that_mean_nothing_are_told_as_they_are(says):
    found = says(("client", request(77)), ("server", reply(7)))
    assert found == ["77 (OUTSIDE THE TABLE) a/key", "reply to 77 (OUTSIDE THE TABLE): 7 (outside the table)"]


def test_what_cannot_be_followed_is_not_named_until_a_header_is_recognized_again(says):
    assert says(("client", request(1, 9) + bytes(9) + request(2) + request(2)))[0].endswith("; and more behind it")
    assert says(("client", b"\xff" * 40)) == [""]
    assert says(("client", request(3))) == ["EXIST a/key"]


def test_after_a_gap_the_next_header_is_recognized(says):
    says(("client", request(1, 500)))
    says.labels.lose()
    assert says(("client", bytes(200)), ("client", request(2)), ("server", reply(200, 5))) == [
        "",
        "GET a/key",
        "reply to GET: 200 (success), 5 bytes follow",
    ]


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xff" * 186, bytes(186), b"\x80" * 1000])
@pytest.mark.parametrize("release", [OLD, NEW])
def test_no_bytes_are_too_wild(release, data):
    labels = LmLabels(lm_profile(release))
    for sender in ("client", "server"):
        for _ in range(3):
            assert isinstance(labels.label(Moment(0.0, 1, sender, "data", len(data), data[:HEAD])), str)
