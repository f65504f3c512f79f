"""ZMTP by its bytes: what a stream holds, whatever the pieces were, and what ends the reading."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zmtp_speech import command, greeting, message, ready

from harness.tap.mp import zmtp
from harness.tap.mp.zmtp import Broken, Command, Greeting, Message, Stream, properties


def read(data, size=None):
    stream = Stream()
    pieces = [data] if size is None else [data[at : at + size] for at in range(0, len(data), size)]
    return [item for piece in pieces for item in stream.feed(piece)], stream


def test_a_greeting_tells_version_mechanism_and_role():
    assert read(greeting(0, b"CURVE", as_server=True))[0] == [Greeting(0, (3, 0), "CURVE", True)]


def test_the_metadata_of_ready_are_its_properties():
    _, found = read(greeting() + ready(b"DEALER", b"me"))[0]
    assert isinstance(found, Command)
    assert found.name == b"READY"
    assert properties(found.data) == {"Socket-Type": b"DEALER", "Identity": b"me"}


@pytest.mark.parametrize("data", [b"\x04name\x00\x00\x00\xff", b"\x00\x00\x00\x00\x00", b"\x04na", b"\x01a\x00"])
def test_metadata_with_wrong_lengths_are_none(data):
    assert properties(data) is None


def test_frames_of_a_message_have_their_places_in_the_stream():
    data = greeting() + message(b"\x00", b"\x18", bytes(300))
    found = read(data)[0][-1]
    assert isinstance(found, Message)
    assert [(frame.data, data[frame.offset : frame.offset + frame.length]) for frame in found.frames] == [
        (b"\x00", b"\x00"),
        (b"\x18", b"\x18"),
        (bytes(300), bytes(300)),
    ]
    assert (found.offset, found.end) == (64, len(data))


def test_heartbeats_are_commands_between_messages():
    data = greeting() + message(b"a") + command(b"PING", b"\0\0ctx") + command(b"PONG", b"ctx") + message(b"b")
    assert [type(item).__name__ for item in read(data)[0]] == ["Greeting", "Message", "Command", "Command", "Message"]


@pytest.mark.parametrize(
    ("data", "rule", "offset"),
    [
        (b"GET / HTTP/1.1\r\n", "not-zmtp", 0),
        (b"\x16\x03\x01\x02\x00\x01", "not-zmtp", 0),
        (b"\xff" + bytes(7) + b"\x01\x7e" + bytes(54), "old-zmtp", 9),
        (b"\xff" + bytes(7) + b"\x01\x7d" + bytes(54), "not-zmtp", 9),
        (b"\xff" + bytes(7) + b"\x01\x7f\x01\x05", "old-zmtp", 10),
        (b"\x01\x00\x02\x00x", "old-zmtp", 0),
        (greeting() + b"\x80\x01a", "flags", 64),
        (greeting() + b"\x05\x01a", "flags", 64),
        (greeting() + b"\x01\x01a" + command(b"PING"), "flags", 67),
        (greeting() + b"\x02" + b"\xff" * 8, "length", 65),
        (greeting() + b"\x06" + struct.pack(">Q", 1 << 40), "length", 65),
        (greeting() + command(b"WHAT"), "command", 64),
        (greeting() + b"\x04\x02\x05R", "command", 64),
    ],
)
@pytest.mark.parametrize("size", [None, 1, 3])
def test_what_no_peer_sends_ends_the_reading_at_its_byte(data, rule, offset, size):
    items, stream = read(data + b"more" * 50, size)
    assert isinstance(items[-1], Broken)
    assert (items[-1].rule, items[-1].offset) == (rule, offset)
    assert stream.offset == len(data) + 200


def test_words_of_another_protocol_are_recognised():
    assert "HTTP" in read(b"POST /v1 HTTP/1.1")[0][-1].summary
    assert "TLS" in read(b"\x16\x03\x01\x00")[0][-1].summary


def test_of_a_long_frame_the_beginning_is_kept_and_its_length_told():
    big = zmtp.KEPT + 1000
    data = greeting() + b"\x03" + struct.pack(">Q", big) + bytes(big) + b"\x00\x01x"
    found = read(data, 65536)[0][-1]
    assert [(len(frame.data), frame.length, frame.whole) for frame in found.frames] == [(zmtp.KEPT, big, False), (1, 1, True)]


def test_of_very_many_frames_the_first_are_kept_and_all_are_counted():
    found = read(greeting() + message(*[b"x"] * 3000), 4096)[0][-1]
    assert (len(found.frames), found.count) == (zmtp.KEPT_FRAMES, 3000)


def test_bytes_that_were_left_out_of_a_frame_are_zeros_and_what_follows_is_read():
    stream = Stream()
    data = greeting() + message(b"u", b"x" * 1000)
    items = [*stream.feed(data[:-900]), *stream.skip(900), *stream.feed(message(b"next"))]
    first, second = items[1:]
    assert first.frames[1].data == b"x" * 100 + bytes(900)
    assert second.frames[0].data == b"next"


def test_bytes_that_were_left_out_between_frames_end_the_reading():
    stream = Stream()
    items = [*stream.feed(greeting()), *stream.skip(3), *stream.feed(message(b"u"))]
    assert items[-1].rule == "hole"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", ""),
        (b"\xff\0", "greeting"),
        (greeting() + b"\x01\x05ab", "frame"),
        (greeting() + message(b"a", b"b")[:3], "message"),
    ],
)
def test_what_is_unfinished_is_told(data, words):
    assert words in read(data)[1].pending
    assert bool(words) is bool(read(data)[1].pending)


@given(st.binary(max_size=400), st.integers(1, 7), st.booleans())
def test_any_bytes_in_any_pieces_are_read_alike_and_nothing_raises(data, size, begun):
    whole = greeting() * begun + data
    together, one = read(whole)
    apart, other = read(whole, size)
    assert together == apart
    assert one.pending == other.pending
    assert one.offset == other.offset == len(whole)
