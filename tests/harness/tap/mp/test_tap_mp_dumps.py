"""The frames that findings are shown with: the right one, with the wrong bytes marked."""

import pytest
from zmtp_speech import Talk, key

from harness.tap.mp.story import tell
from harness.tap.page import story_page
from harness.tap.recording import Header
from harness.tap.text import story_lines
from wire.mp.values import pack
from wire.release import Release

RELEASE = Release.parse("0.5.6")


def story(talk):
    return tell(Header("mp", "127.0.0.1:1", "127.0.0.1:2", started="2026-11-30T12:00:00+00:00"), talk.events, RELEASE)


def found(talk, rule):
    return next(one for one in story(talk).findings if one.rule.name == rule)


def at_work():
    return Talk().open().ask("NOOP").answer("NOOP", "OK")


@pytest.mark.parametrize("more", [{}, {"token_ids": list(range(5000))}])
def test_the_bytes_of_a_member_are_marked_in_its_frame(more):
    record = pack(key("0.5.6", worker=None, start="7", **more))
    one = found(at_work().frames(b"u", pack(8), record, pack(1)), "mp.payload.type")
    ((start, length),) = one.frame.marks
    assert one.frame.data[start : start + length] == pack("7")
    assert record.startswith(one.frame.data)
    assert one.frame.title == f"frame 2 of request 2, {len(record)} bytes"
    assert one.frame.truncated_from in {None, len(record)}


def test_a_reply_is_shown_as_one():
    one = found(at_work().ask("NOOP").frames(b"\x01", pack(24), pack(500), side="server"), "mp.reply.form")
    assert (one.frame.title, one.frame.data, one.frame.marks) == (
        "frame 2 of the reply to request 2, 3 bytes",
        pack(500),
        ((0, 3),),
    )


def test_what_is_missing_has_no_bytes_and_those_behind_are_not_shown_for_it():
    talk = at_work().frames(b"u", pack(13)).frames(b"v", pack(13), pack("r1"))
    assert found(talk, "mp.payload.count").frame is None


def test_of_a_long_frame_no_more_is_kept_than_is_shown():
    record = pack(key("0.5.6", worker=None, token_ids=["x" * 200_000, 1]))
    one = found(at_work().frames(b"u", pack(8), record, pack(1)), "mp.payload.type")
    assert len(one.frame.data) < 1000
    assert one.frame.truncated_from == len(record)


def test_terminal_and_page_show_the_marked_bytes():
    told = story(at_work().frames(b"u", pack(13), pack(300)))
    lines = [line.plain for line in story_lines(told, 100)]
    where = next(index for index, line in enumerate(lines) if "frame 2 of request 2, 3 bytes" in line)
    assert "cd 01 2c" in lines[where + 1]
    assert lines[where + 2].split() == ["^^", "^^", "^^"]
    assert "frame 2 of request 2, 3 bytes" in story_page(told)
