"""What a key may hold while PUTs, which nobody answers, are on their way."""

from cases.lm.play import Slot
from harness.values import binary

ONE, TWO, THREE = (binary(bytes([number])) for number in (1, 2, 3))


def test_nothing_is_there_at_first():
    assert Slot().seen_by("a") == [None]


def test_a_connection_sees_what_it_put_itself():
    slot = Slot()
    slot.put("a", ONE)
    assert slot.seen_by("a") == [ONE]


def test_others_may_see_it_or_not_until_its_connection_was_answered():
    slot = Slot()
    slot.put("a", ONE)
    assert slot.seen_by("b") == [None, ONE]
    slot.landed("a")
    assert slot.seen_by("b") == [ONE]


def test_of_two_writers_either_may_have_been_the_last():
    slot = Slot()
    slot.put("a", ONE)
    slot.put("b", TWO)
    slot.landed("a")
    slot.landed("b")
    assert sorted(slot.seen_by("c"), key=lambda value: value.payload) == [ONE, TWO]


def test_a_connection_may_find_what_others_put_since_it_was_answered_last():
    slot = Slot()
    slot.put("a", ONE)
    slot.put("b", TWO)
    slot.landed("b")
    assert slot.seen_by("a") == [ONE, TWO]


def test_a_later_put_hides_what_had_landed_before_it():
    slot = Slot()
    slot.put("a", ONE)
    slot.put("b", TWO)
    slot.landed("b")
    slot.put("a", THREE)
    assert slot.seen_by("a") == [THREE]


def test_what_somebody_saw_is_settled():
    slot = Slot()
    slot.put("a", ONE)
    slot.put("b", TWO)
    slot.landed("a")
    slot.landed("b")
    slot.found([TWO])
    assert slot.seen_by("c") == [TWO]
