"""The words of statistics are found wherever a plugin has them."""

from harness.l2.words import counts


def test_words_are_names_or_parts_of_names_at_any_depth() -> None:
    told = {"stored": 3, "loads": {"objects_loaded": 4, "missed-objects": 5}, "name": "mine", "damaged": True}
    assert counts(told) == {"stored": 3, "loaded": 4, "missed": 5}


def test_several_members_of_a_word_are_added_up() -> None:
    assert counts({"dropped_by_timeout": 2, "dropped_at_close": 3}) == {"dropped": 5}


def test_what_counts_no_objects_is_left_out() -> None:
    assert counts({"stored_bytes": 9, "stored_now": 1, "loaded_seconds": 4, "restored": 7}) == {}
