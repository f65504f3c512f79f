"""What a load may bring, by what is known of the object."""

from harness.l2.crashes.ledger import Ledger, State, content, difference


def kinds(ledger: Ledger, data: bytes | None, *, sure: bool = False) -> list[str]:
    return [fault.kind for fault in ledger.judge("key", data, sure=sure).faults]


def test_an_object_that_is_sure_must_be_there() -> None:
    ledger = Ledger({"key": 100})
    ledger.storing(["key"])
    ledger.stored(["key"], ok=True)
    assert ledger.state("key") is State.SURE
    assert kinds(ledger, None, sure=True) == ["lost"]
    assert kinds(ledger, content("key", 100), sure=True) == []


def test_an_object_that_was_being_stored_may_be_missing() -> None:
    ledger = Ledger({"key": 100})
    ledger.storing(["key"])
    assert kinds(ledger, None) == []
    assert kinds(ledger, content("key", 100)) == []


def test_other_bytes_are_wrong_whatever_is_known() -> None:
    ledger = Ledger({"key": 100, "other": 100})
    ledger.storing(["key"])
    assert kinds(ledger, content("other", 100)) == ["wrong"]
    assert kinds(ledger, bytes(100)) == ["wrong"]


def test_something_under_a_key_that_was_never_stored_is_wrong() -> None:
    assert kinds(Ledger({"key": 100}), content("key", 100)) == ["wrong"]


def test_a_second_store_does_not_make_an_object_doubtful_but_its_failure_does() -> None:
    ledger = Ledger({"key": 1})
    ledger.stored(["key"], ok=True)
    ledger.storing(["key"])
    assert ledger.state("key") is State.SURE
    ledger.stored(["key"], ok=False)
    assert ledger.state("key") is State.MAYBE


def test_a_difference_is_told_by_its_place() -> None:
    assert "2 of 5 bytes differ, from byte 1 to byte 2: zeros" in difference(b"abcde", b"a\0\0de")
    assert "5 bytes were expected and 3 came" in difference(b"abcde", b"abc")
