"""Which outcome is the worse, and what a cell shows."""

import pytest

from reports.compat.model import Cell
from reports.compat.outcome import MEANINGS, ORDER, STYLES, WORDS, Grade, Outcome, worst


def test_every_outcome_has_words_a_meaning_and_a_style():
    assert set(WORDS) == set(MEANINGS) == set(STYLES) == set(Outcome)


def test_every_grade_that_can_be_has_a_place_in_the_order():
    partly = {Outcome.WRONG, Outcome.HANGS, Outcome.REFUSED, Outcome.MISSES, Outcome.UNKNOWN}
    assert set(ORDER) == {Grade(outcome) for outcome in Outcome} | {Grade(outcome, plain=False) for outcome in partly}


def test_letters_tell_grades_apart():
    letters = [grade.letter for grade in ORDER if grade != Grade(Outcome.UNKNOWN, plain=False)]
    assert len(set(letters)) == len(letters)


@pytest.mark.parametrize(
    ("grades", "expected"),
    [
        ([], Grade(Outcome.OK)),
        ([Grade(Outcome.MISSES), Grade(Outcome.REFUSED)], Grade(Outcome.REFUSED)),
        ([Grade(Outcome.HANGS), Grade(Outcome.WRONG)], Grade(Outcome.WRONG)),
        ([Grade(Outcome.WRONG, plain=False), Grade(Outcome.MISSES)], Grade(Outcome.MISSES)),
        ([Grade(Outcome.MISSES, plain=False), Grade(Outcome.WRONG, plain=False)], Grade(Outcome.WRONG, plain=False)),
    ],
)
def test_the_worst_grade(grades, expected):
    assert worst(grades) == expected


def test_a_cell_has_both_answers_and_shows_the_worse(make):
    found = (make.finding(part="talk"), make.finding(Outcome.HANGS, "no reply", part="share"))
    cell = Cell("a", "b", found)
    assert (cell.grade_of("talk"), cell.grade_of("share"), cell.grade) == (
        Grade(Outcome.REFUSED), Grade(Outcome.HANGS), Grade(Outcome.HANGS),
    )  # fmt: skip


def test_a_cell_that_was_not_run_is_neither_good_nor_bad():
    cell = Cell("a", "b", problem="no wheel")
    assert {cell.grade, cell.grade_of("talk"), cell.grade_of("share")} == {Grade(Outcome.NOT_RUN)}
    assert cell.state == "not-run"


def test_a_derived_cell_says_the_same_as_its_source(make):
    found = (make.finding(),)
    assert Cell("a", "b", found).signature == Cell("c", "d", found, derived_from=("a", "b")).signature
