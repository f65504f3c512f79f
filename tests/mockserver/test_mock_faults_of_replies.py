"""Replies that are dropped, doubled, swapped, or sent where none is due."""

from __future__ import annotations

import pytest

from wire.lm.frames import decode_reply


@pytest.mark.shows("drop-reply")
def test_a_dropped_reply_never_comes_and_the_next_one_does(stocked, misbehave, honest, caller, finished):
    misbehave("drop-reply:command=GET")
    caller.request("GET")
    assert (finished("GET").bytes_out, finished("GET").faults) == (0, ("drop-reply",))
    assert caller.silent()
    caller.request("EXIST")
    assert caller.read(len(honest["yes"])) == honest["yes"]
    assert stocked.journal.connection(2).is_open


@pytest.mark.shows("duplicate-reply")
def test_a_duplicated_reply_comes_twice_with_its_body(misbehave, honest, caller, finished):
    misbehave("duplicate-reply:command=GET")
    caller.request("GET")
    caller.request("EXIST")
    assert caller.read(2 * len(honest["hit"]) + len(honest["yes"])) == honest["hit"] * 2 + honest["yes"]
    assert caller.silent()
    assert finished("GET").bytes_out == 2 * len(honest["hit"])
    assert finished("GET").faults == ("duplicate-reply",)


def test_a_reply_may_come_more_often_and_be_cut_in_a_later_copy(misbehave, honest, caller, finished):
    misbehave("duplicate-reply:copies=5", f"close-after:bytes={len(honest['yes']) + 3}")
    caller.request("EXIST")
    assert caller.rest() == (honest["yes"] + honest["yes"][:3], "fin")


@pytest.mark.shows("reorder-replies")
def test_a_reordered_reply_comes_behind_the_next(misbehave, honest, caller, finished):
    misbehave("reorder-replies:command=GET,nth=1")
    caller.request("GET")
    assert finished("GET").faults == ("reorder-replies",)
    assert caller.silent()
    caller.request("EXIST")
    assert caller.read(len(honest["yes"]) + len(honest["hit"])) == honest["yes"] + honest["hit"]
    assert caller.silent()
    assert finished("GET").bytes_out == 0
    assert finished("EXIST").bytes_out == len(honest["yes"]) + len(honest["hit"])


def test_a_put_does_not_bring_a_held_reply_out(misbehave, honest, caller, finished):
    misbehave("reorder-replies:command=EXIST,nth=1")
    caller.request("EXIST")
    caller.put(b"x", caller.key.replace("model", "other"))
    finished("PUT")
    assert caller.silent()


def test_several_replies_can_be_held_and_keep_their_order(misbehave, honest, caller):
    misbehave("reorder-replies:nth=1..2")
    caller.request("GET")
    caller.request("EXIST")
    caller.request("GET", caller.key.replace("model", "other"))
    expected = honest["miss"] + honest["hit"] + honest["yes"]
    assert caller.read(len(expected)) == expected


@pytest.mark.shows("unasked-reply")
def test_a_put_is_answered_although_no_reply_is_due(stocked, misbehave, honest, caller, finished):
    misbehave("unasked-reply:command=PUT")
    caller.put(b"new")
    assert caller.read(len(honest["yes"])) == honest["yes"]
    exchange = finished("PUT")
    assert (exchange.faults, exchange.reply_header) == (("unasked-reply",), honest["yes"])
    assert bytes(stocked.store.get(stocked.key(caller.key)).data) == b"new"
    assert caller.silent()


def test_an_unasked_reply_may_say_that_it_failed(stocked, misbehave, caller):
    misbehave("unasked-reply:code=FAIL")
    caller.put(b"new")
    assert decode_reply(stocked.profile, caller.read(stocked.profile.header.reply_size)).code == "FAIL"


def test_a_reply_that_is_due_is_not_sent_again_by_the_fault_of_unasked_ones(misbehave, honest, caller, finished):
    misbehave("unasked-reply")
    caller.request("GET")
    assert caller.read(len(honest["hit"])) == honest["hit"]
    assert finished().faults == ()


@pytest.mark.parametrize("fault", ["drop-reply", "duplicate-reply", "reorder-replies", "garbage-before:bytes=1"])
def test_a_put_has_no_reply_to_act_on(misbehave, caller, finished, fault):
    misbehave(fault)
    caller.put(b"x")
    assert finished("PUT").faults == ()
    assert caller.silent()
