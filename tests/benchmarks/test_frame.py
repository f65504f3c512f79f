"""Comparisons are measured in turns, judged by ratios of the same round, and written between the marks of a page."""

from __future__ import annotations

import contextlib
import types

import pytest

from benchmarks import groups
from benchmarks.__main__ import main
from benchmarks.comparison import Comparison, Contender, Target
from benchmarks.measure import measured
from benchmarks.table import BEGIN, END, markdown, number, put


def _comparison(called, *targets, rounds=None):
    def contender(name, figures):
        drawn = iter(figures)

        def measure(seconds):
            called.append((name, seconds))
            return next(drawn)

        return Contender(name, measure)

    # The first figure of each is that of the warm-up.
    first, second = ([7.0, 2.0, 40.0, 6.0], [7.0, 1.0, 10.0, 3.0]) if rounds is None else ([2.0], [1.0])
    return Comparison("EXIST", "1/s", "more", (contender("mock", first), contender("floor", second)), targets, rounds=rounds)


def test_contenders_take_turns_and_another_one_begins_each_round():
    called = []
    measured(_comparison(called), rounds=3, seconds=1.0)
    assert [name for name, _ in called[2:]] == ["mock", "floor", "floor", "mock", "mock", "floor"]
    assert [seconds for _, seconds in called] == [0.2, 0.2, 1, 1, 1, 1, 1, 1]


def test_a_ratio_is_the_median_of_the_ratios_within_a_round():
    outcome = measured(_comparison([], Target("mock", at_least=2, over="floor"), Target("mock", at_most=5)), rounds=3, seconds=1)
    assert outcome.figure("mock") == 6
    assert outcome.ratio("mock", "floor") == 2
    assert [judged.met for judged in outcome.judged] == [True, False]


def test_what_takes_long_has_no_warm_up_and_its_own_number_of_rounds():
    called = []
    measured(_comparison(called, rounds=1), rounds=5, seconds=1)
    assert [name for name, _ in called] == ["mock", "floor"]


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (12_345, "1/s", "12.3 k/s"),
        (1_234_567, "keys/s", "1.23 M keys/s"),
        (432, "1/s", "432 /s"),
        (1.5, "GB/s", "1.50 GB/s"),
        (0.00123, "s", "0.00123 s"),
        (23.45, "us", "23.4 us"),
    ],
)
def test_figures_have_three_digits(value, unit, said):
    assert number(value, unit) == said


def test_a_missed_target_stands_out():
    outcome = measured(_comparison([], Target("mock", at_least=2, over="floor"), Target("mock", at_most=5)), rounds=3, seconds=1)
    table = markdown("Title", [outcome])
    assert "mock ≥ 2 x floor: 2.00 x" in table
    assert "**mock ≤ 5 1/s: 6.00 /s, missed**" in table


def test_tables_replace_what_stands_between_the_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    put(page, "new")
    put(page, "newer")
    assert page.read_text() == f"before\n{BEGIN}\n\nnewer\n\n{END}\nafter\n"


@pytest.mark.parametrize("text", ["no marks", f"{END} {BEGIN}", f"{BEGIN}{BEGIN}{END}", f"{BEGIN}{END}{END}"])
def test_a_page_without_one_pair_of_marks_is_left_alone(tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(ValueError, match="needs one line"):
        put(page, "new")
    assert page.read_text() == text


@pytest.mark.parametrize(
    "wrong",
    [
        {"contenders": ()},
        {"contenders": (Contender("a", float), Contender("a", float))},
        {"unit": "furlongs"},
        {"targets": (Target("b", at_least=1),)},
        {"targets": (Target("a", at_least=1, over="b"),)},
    ],
)
def test_a_comparison_that_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError, match="'x'"):
        Comparison(**{"name": "x", "unit": "s", "better": "less", "contenders": (Contender("a", float),), **wrong})


@pytest.mark.parametrize("bounds", [{}, {"at_least": 1, "at_most": 2}])
def test_a_target_has_one_bound(bounds):
    with pytest.raises(ValueError, match="at_least or at_most"):
        Target("a", **bounds)


@pytest.fixture
def one_group(monkeypatch):
    @contextlib.contextmanager
    def opened():
        yield [_comparison([], Target("mock", at_least=2, over="floor"))]

    monkeypatch.setattr(groups.importlib, "import_module", lambda _: types.SimpleNamespace(opened=opened))


def test_the_program_prints_the_table_and_writes_it_into_a_page(one_group, tmp_path, capsys):
    page = tmp_path / "page.md"
    assert main(["lm", "--rounds", "3", "--out", str(page)]) == 0
    assert "mock ≥ 2 x floor" in capsys.readouterr().out
    assert "mock ≥ 2 x floor" in page.read_text()


def test_the_program_lists_and_measures_nothing(one_group, capsys):
    assert main(["lm", "--list"]) == 0
    assert capsys.readouterr().out == "lm: EXIST (mock, floor)\n"


def test_a_page_without_marks_is_told_before_anything_is_measured(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(groups.importlib, "import_module", lambda name: pytest.fail(f"{name} was opened"))
    page = tmp_path / "page.md"
    page.write_text("no marks")
    for out, said in (
        (page, "needs one line"),
        (tmp_path / "no" / "page.md", "there is no folder"),
        (tmp_path, "cannot be read"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["lm", "--out", str(out)])
        assert ended.value.code == 2
        assert said in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [["nothing"], ["lm", "--rounds", "0"], ["lm", "--seconds", "0"], ["lm", "--only", "nothing"]])
def test_wrong_options_are_told_and_end_with_2(one_group, wrong, capsys):
    with pytest.raises(SystemExit) as ended:
        main(wrong)
    assert ended.value.code == 2
    assert "error:" in capsys.readouterr().err
