"""Messages of the multiprocess server in reports: which frame differs, in its bytes and in what it holds."""

from reports.mp_frames import in_words, message_difference, message_text
from wire.mp.values import pack


def test_equal_messages_do_not_differ():
    found = message_difference([b"\x18", b"\x01"], [b"\x18", b"\x01"])
    assert (found.summary, found.values, found.frames) == ("", (), ())


def test_the_frame_the_byte_and_the_member_are_named():
    one, other = ([b"\x08", pack({"start": 0, "salt": salt})] for salt in ("", "x"))
    found = message_difference(one, other)
    assert found.summary.startswith("frame 1: 15 bytes came, expected 14; the first difference is at 0xd")
    assert [(value.path, value.expected, value.got) for value in found.values] == [("frame 1.salt", "", "x")]
    assert [dump.title for dump in found.frames] == ["expected, frame 1", "got, frame 1"]
    assert [dump.data for dump in found.frames] == [one[1], other[1]]


def test_a_longer_form_of_the_same_value_differs_in_bytes_alone():
    found = message_difference([b"\x08"], [b"\xcc\x08"])
    assert found.values == ()
    assert found.summary == "operation: 2 bytes came, expected 1; the first difference is at 0x0"


def test_frames_that_are_missing_or_too_many_are_shown():
    found = message_difference([b"\x08"], [b"\x08", b"\xc3"])
    assert found.summary == "2 frames behind the uid, expected 1"
    assert [(dump.title, dump.data) for dump in found.frames] == [("got, and not expected: frame 1", b"\xc3")]
    assert "expected, and not there: frame 1" in [dump.title for dump in message_difference([b"\x08", b"\xc3"], [b"\x08"]).frames]


def test_a_frame_that_is_no_msgpack_says_so():
    assert in_words([b"\x08", b"\xc1"])["operation"] == 8
    assert "no msgpack value" in in_words([b"\x08", b"\xc1"])["frame 1"]


def test_a_message_on_one_line_is_shortened():
    text = message_text([b"\x08", pack("x" * 1000)])
    assert text.startswith("8, xxx")
    assert len(text) < 200
