"""Connections that end between requests, in one direction, or are no longer read."""

from __future__ import annotations

import pytest
from stored_body import BODY


@pytest.mark.shows("close-after")
@pytest.mark.parametrize(
    ("place", "missing"), [("field:length", None), ("body", len(BODY)), ("body+3", len(BODY) - 3), ("end", 0)]
)
def test_a_connection_is_closed_at_a_place_with_a_name(misbehave, honest, caller, finished, place, missing):
    misbehave(f"close-after:bytes={place}")
    caller.request("GET")
    expected = honest["hit"][:4] if missing is None else honest["hit"][: len(honest["hit"]) - missing]
    assert caller.rest() == (expected, "fin")
    assert finished().bytes_out == len(expected)


@pytest.mark.shows("close-between")
@pytest.mark.parametrize("reset", [False, True])
def test_a_connection_ends_between_two_requests(stocked, misbehave, honest, caller, finished, reset):
    misbehave(f"close-between:command=GET,reset={reset}")
    caller.request("EXIST")
    assert caller.read(len(honest["yes"])) == honest["yes"]
    caller.request("GET")
    assert caller.rest() == (honest["hit"], "rst" if reset else "fin")
    assert finished().ending.kind == "fault"
    assert finished().bytes_out == len(honest["hit"])


def test_a_connection_that_ends_after_a_put_has_stored_it(stocked, misbehave, caller, finished):
    misbehave("close-between:command=PUT")
    caller.put(b"new")
    assert caller.rest() == (b"", "fin")
    assert bytes(stocked.store.get(stocked.key(caller.key)).data) == b"new"
    assert finished("PUT").faults == ("close-between",)


@pytest.mark.shows("half-close")
def test_a_half_closed_connection_says_nothing_more_and_still_obeys(stocked, misbehave, honest, caller, finished):
    misbehave("half-close:command=GET,bytes=body+8")
    caller.request("GET")
    assert caller.rest() == (honest["hit"][: 8 - len(BODY)], "fin")
    caller.request("EXIST")
    caller.put(b"still stored")
    exchange = finished("PUT")
    assert exchange.ending is None
    assert bytes(stocked.store.get(stocked.key(caller.key)).data) == b"still stored"
    assert finished("EXIST").bytes_out == 0
    assert finished("GET").faults == ("half-close:bytes=body+8",)
    assert stocked.journal.connection(2).is_open
    caller.close()
    ended = stocked.journal.wait_for(lambda journal: journal.connection(2).ending)
    assert ended.kind == "peer closed"


def test_a_half_close_comes_after_the_whole_reply_unless_told(misbehave, honest, caller):
    misbehave("half-close")
    caller.request("GET")
    assert caller.rest() == (honest["hit"], "fin")


@pytest.mark.shows("stop-reading")
def test_a_server_that_stops_reading_takes_only_what_fits_into_buffers(stocked, misbehave, honest, caller):
    misbehave("stop-reading:command=EXIST")
    caller.request("EXIST")
    assert caller.read(len(honest["yes"])) == honest["yes"]
    caller.request("GET")
    assert caller.silent()
    caller.socket.settimeout(0.2)
    with pytest.raises(TimeoutError):
        caller.socket.sendall(bytes(64 << 20))
    exchanges = stocked.journal.exchanges(connection=2)
    assert [(exchange.command, exchange.faults, exchange.done) for exchange in exchanges] == [("EXIST", ("stop-reading",), False)]


@pytest.mark.shows("stall")
@pytest.mark.parametrize(("place", "missing"), [("body", len(BODY)), ("end-1", 1)])
def test_a_reply_stalls_at_a_place_with_a_name(stocked, misbehave, honest, caller, place, missing):
    misbehave(f"stall:bytes={place}")
    caller.request("GET")
    expected = honest["hit"][: len(honest["hit"]) - missing]
    assert caller.read(len(expected)) == expected
    assert caller.silent()
    assert stocked.journal.last_exchange("GET").faults == (f"stall:bytes={place}",)


@pytest.mark.shows("segments")
@pytest.mark.parametrize(
    ("sizes", "inside", "body"),
    [("10+body+7", [10, None], [7, 7, 6]), ("body", [None], [20]), ("field:length+body+100", [4, None], [20])],
)
def test_a_size_may_be_up_to_a_place(stocked, misbehave, caller, finished, sizes, inside, body):
    misbehave(f"segments:sizes={sizes}")
    header = stocked.profile.header.reply_size
    caller.request("GET")
    caller.read(header + len(BODY))
    expected = [header - sum(size or 0 for size in inside) if size is None else size for size in inside] + body
    assert [segment.size for segment in finished().segments_out] == expected


@pytest.mark.shows("delay")
def test_a_delay_is_seen_in_the_times_of_the_journal(misbehave, honest, caller, finished):
    misbehave("delay:seconds=0.1,command=GET")
    caller.request("GET")
    assert caller.read(len(honest["hit"])) == honest["hit"]
    exchange = finished()
    assert exchange.segments_out[0].at - exchange.segments_in[0].at >= 0.1
    assert exchange.faults == ("delay:seconds=0.1",)
