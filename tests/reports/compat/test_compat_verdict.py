"""Exit codes of a matrix."""

import pytest

from reports.compat.model import Cell
from reports.compat.outcome import Outcome
from reports.compat.verdict import exit_code, parse_fail_on


def code(result, words="any"):
    return int(exit_code(result, parse_fail_on(words)))


def test_a_green_matrix_is_0(make):
    assert code(make({("1", "1"): []})) == 0


@pytest.mark.parametrize("outcome", [Outcome.WRONG, Outcome.HANGS, Outcome.REFUSED, Outcome.MISSES, Outcome.UNKNOWN])
@pytest.mark.parametrize("plain", [True, False])
def test_every_trouble_is_1_unless_it_is_not_asked_for(make, outcome, plain):
    result = make({("1", "1"): [make.finding(outcome, plain=plain)]})
    assert code(result) == 1
    assert code(result, str(outcome)) == 1
    assert code(result, "never") == 0
    assert code(result, "plain") == int(plain)


def test_a_trouble_behind_a_worse_one_is_seen(make):
    assert (
        code(make({("1", "1"): [make.finding(Outcome.HANGS, "a"), make.finding(Outcome.WRONG, "b", plain=False)]}), "wrong") == 1
    )


def test_another_trouble_is_0(make):
    assert code(make({("1", "1"): [make.finding(Outcome.MISSES)]}), "wrong,hangs") == 0


@pytest.mark.parametrize("words", ["any", "never", "wrong"])
def test_a_cell_that_was_not_run_is_3_whatever_fails(make, words):
    assert code(make({("1", "1"): [make.finding()], ("1", "2"): Cell("1", "2", problem="no wheel")}), words) == 3


@pytest.mark.parametrize("words", ["", " , ", "some", "any,never", "plain,wrong", "ok", "not-run"])
def test_words_that_make_no_sense_are_refused(words):
    with pytest.raises(ValueError, match="write one of any, plain and never, or some of wrong, hangs, refused, misses, unknown"):
        parse_fail_on(words)
