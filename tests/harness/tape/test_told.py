"""A conversation for a report is of bounded size, tells silence, and says what is left out."""

import itertools

import pytest

from harness.tape.tapes import Seen, Tapes
from harness.tape.told import conversation
from mockserver.endings import Ending
from mockserver.mp.journal import MpJournal
from mockserver.tape import FIRST, LAST, Moment, Tape
from reports.conversation import BYTES, EVENTS
from wire.release import Release

RELEASE = Release.parse("0.5.6")


def seen(*moments, until=None):
    return Seen("the mock", tuple(moments), (), 0, until if until is not None else moments[-1].at)


def data(at, sender="client", size=186):
    return Moment(at, 1, sender, "data", size, bytes(range(186))[:size])


def test_a_pause_is_told_as_silence():
    told = conversation(seen(data(10.0), data(12.5, "server", 36)), RELEASE, protocol="lm")
    assert [(event.what, event.sender) for event in told.events] == [("data", "client"), ("silence", None), ("data", "server")]
    assert told.events[1].label == "2.5 s without a word"
    assert [event.at for event in told.events] == [0.0, 0.0, 2.5]


def test_silence_until_the_end_is_told_too():
    told = conversation(seen(data(10.0), until=25.0), RELEASE, protocol="lm")
    assert told.events[-1].label == "15.0 s without a word, until the case ended"


@pytest.mark.parametrize("count", [FIRST, FIRST + LAST, FIRST + LAST + 1, 5000])
@pytest.mark.parametrize("pause", [0.001, 3.0])
def test_events_and_bytes_are_bounded_and_counted(count, pause):
    tape = Tape()
    for number in range(count):
        tape.note(data(number * pause, size=100 if number else 186))
    first, last, left_out = tape.moments()
    told = conversation(Seen("the mock", tuple(first), tuple(last), left_out, count * pause), RELEASE, protocol="lm")
    assert len(told.events) <= EVENTS
    assert sum(len(event.data) for event in told.events) <= BYTES
    kept = sum(event.what == "data" for event in told.events)
    silences = len(told.events) - kept
    assert told.left_out >= count - kept - silences
    assert (told.left_out > 0) == (kept < count)
    assert 0 <= told.gap < len(told.events)


def test_the_last_events_are_those_that_are_kept():
    tape = Tape()
    for number in range(1000):
        tape.note(data(float(number) / 1000))
    first, last, left_out = tape.moments()
    told = conversation(Seen("the mock", tuple(first), tuple(last), left_out, 0.999), RELEASE, protocol="lm")
    assert told.events[-1].at == pytest.approx(0.999)
    assert told.events[0].at == 0.0


def test_who_ended_a_connection_and_how():
    tape = Tape()
    ends = [Ending("peer closed"), Ending("peer reset"), Ending("bad request", "why"), Ending("fault", "close")]
    for ending, by_reset in zip(ends, (False, False, False, True), strict=True):
        tape.ended(tape.open(), ending, by_reset=by_reset)
    first, _, _ = tape.moments()
    assert [(one.sender, one.did, one.note) for one in first if one.did != "open"] == [
        ("client", "close", ""),
        ("client", "reset", ""),
        ("server", "close", "bad request: why"),
        ("server", "reset", "fault: close"),
    ]


@pytest.mark.parametrize(("ours", "by"), [(True, "connections of the harness"), (False, "the mock")])
def test_where_no_client_takes_part_our_own_connections_tell(ours, by):
    tapes = Tapes()
    for tape in (tapes.ours, tapes.mock):
        tape.open()
    assert tapes.seen(ours=ours).by == by


def test_our_own_connections_do_not_stand_for_a_client():
    tapes = Tapes()
    tapes.ours.open()
    assert tapes.seen(ours=False) is None


def test_servers_that_share_a_tape_share_no_connection():
    tape = Tape()
    journals = [MpJournal(), MpJournal()]
    for journal in journals:
        journal.tape = tape
    for journal in (*journals, *journals):
        connection = journal.connection_of(b"peer")
        journal.sent(journal.begin(connection, b"peer", [b"\x07", b"\x13"], 2, 2), [b"\x07"], last=True)
    met = [(one.connection, one.did) for one in tape.moments()[0]]
    first, second = [(1, "data")] * 2, [(2, "data")] * 2
    assert met == [(1, "open"), *first, (2, "open"), *second, *first, *second]


def test_a_connection_that_was_there_before_is_no_other_one():
    tape = Tape()
    before = tape.open()
    tape.clear()
    new = tape.open()
    tape.data(before, "client", b"x")
    tape.data(new, "client", b"x")
    assert [one.connection for one in tape.moments()[0]] == [1, 2, 1]


def test_messages_of_the_multiprocess_server_are_named():
    tape = Tape()
    tape.message(1, "client", [b"\x07", b"\x13"])
    tape.message(1, "client", [b"\x08", b"\xc1", bytes(5000)])
    tape.message(1, "server", [b"\x09"])
    tape.message(1, "client", [])
    first, _, _ = tape.moments()
    labels = [event.label for event in conversation(Seen("x", tuple(first), (), 0, first[-1].at), RELEASE, protocol="mp").events]
    assert labels[0].endswith("(uid 7)")
    assert all(labels)
    assert len(list(itertools.chain(*labels))) < 4000
