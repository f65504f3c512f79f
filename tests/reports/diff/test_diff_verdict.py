"""What a comparison says as a whole, and what a reader of it must know."""

import dataclasses

import pytest

from reports.diff.compare import compare
from reports.diff.kinds import MEANINGS, WORSE, Kind
from reports.diff.model import ComparisonError
from reports.diff.verdict import DEFAULT, exit_code, headline_of, parse_fail_on
from reports.expectation import ListFile
from reports.parts import Shard
from reports.verdict import ExitCode, Verdict


def judged(old, new, fail_on=DEFAULT):
    found = compare(old, new)
    return headline_of(found).word, exit_code(found, parse_fail_on(fail_on))


def test_the_words(run, make_case, fail):
    good, bad, other = run(make_case()), run(fail()), run(fail(why="in another way"))
    assert judged(good, bad) == ("WORSE", ExitCode.NOT_CONFORMANT)
    assert judged(bad, good) == ("BETTER", ExitCode.CONFORMANT)
    assert judged(bad, bad) == ("NO DIFFERENCE", ExitCode.CONFORMANT)
    assert judged(bad, other) == ("NOT WORSE", ExitCode.CONFORMANT)
    assert judged(good, run(make_case(), fail("lm.get.first"))) == ("WORSE", ExitCode.NOT_CONFORMANT)


def test_what_fails_can_be_chosen(run, make_case, fail):
    bad, other, good = run(fail()), run(fail(why="in another way")), run(make_case())
    assert judged(bad, other, "changed,not-run")[1] == 1
    assert judged(good, bad, "changed")[1] == judged(good, bad, "never")[1] == 0
    assert judged(bad, good, "any")[1] == 1


@pytest.mark.parametrize("text", ["", "nothing", "broken,x", "any,broken", "never,any", "undecided"])
def test_other_words_are_told_which_there_are(text):
    with pytest.raises(ValueError, match="broken, new-failures, changed"):
        parse_fail_on(text)


def test_nothing_is_concluded_from_a_run_that_did_not_end(run, make_case, fail):
    cut = run(fail(), incomplete="there is no footer")
    assert judged(run(make_case()), cut, "never") == ("UNDECIDED", ExitCode.UNDECIDED)
    assert judged(cut, run(make_case()), "never") == ("UNDECIDED", ExitCode.UNDECIDED)
    assert "there is no footer" in headline_of(compare(run(make_case()), cut)).because


def test_nothing_is_concluded_where_the_harness_failed_in_new_or_nothing_ran(run, make_case):
    broken = run(make_case(verdict=Verdict.MOCK_DRIFT, summary="x"))
    assert judged(run(make_case()), broken)[1] == judged(run(make_case()), run())[1] == 3
    assert judged(broken, run(make_case()))[1] == 0


def test_every_kind_has_a_meaning_and_those_that_are_worse_fail_by_default():
    assert set(MEANINGS) == set(Kind)
    assert parse_fail_on(DEFAULT) == WORSE


def test_of_the_same_shard_of_two_runs_the_verdict_speaks_of_that_shard_alone(run, make_case, fail, selection):
    part = {"shard": Shard(1, 2), "selection": selection}
    found = compare(run(make_case(), **part), run(make_case(), started="2026-01-03T00:00:00Z", **part))
    assert headline_of(found).because == "1 case as before, in shard 1/2 alone."
    assert found.notes == ("OLD and NEW are shard 1/2 alone: nothing is said of the cases of other shards.",)
    assert exit_code(found, WORSE) == 0
    assert judged(run(make_case(), **part), run(fail(), **part)) == ("WORSE", 1)


def test_two_shards_of_one_run_are_not_compared(run, make_case):
    with pytest.raises(ComparisonError, match=r"no case is in both; compare the same shard of two runs, or .* 'lmconform merge'"):
        compare(run(make_case(), shard=Shard(1, 2)), run(make_case("lm.get.x"), shard=Shard(2, 2)))


def test_whether_a_failure_is_new_is_not_concluded_from_a_part_of_the_old_run(run, make_case, fail, selection):
    new = run(make_case(), fail("lm.get.elsewhere"))
    old = run(make_case(), shard=Shard(1, 2), selection=selection)
    assert judged(old, new, "never") == ("UNDECIDED", 3)
    assert "OLD is shard 1/2 alone: whether 1 failure of NEW is new is not known" in headline_of(compare(old, new)).because
    other = dataclasses.replace(selection, ids="cd" * 32)  # which deals cases to other shards
    assert judged(old, run(*new.results.cases, shard=Shard(1, 2), selection=other)) == ("UNDECIDED", 3)
    assert judged(old, run(*new.results.cases, shard=Shard(1, 2), selection=selection)) == ("WORSE", 1)
    assert judged(old, run(fail(), fail("lm.get.elsewhere"))) == ("UNDECIDED", 3)


def test_nothing_is_concluded_where_no_case_is_in_both(run, make_case):
    assert judged(run(make_case("lm.get.a")), run(make_case("lm.get.b")), "never") == ("UNDECIDED", 3)
    assert judged(run(make_case("lm.get.a")), run(make_case("lm.get.b"), make_case("lm.get.a")), "never")[1] == 0


NOTES = [
    ({"started": "2025-01-01T00:00:00Z"}, "are they in the right order?"),
    ({"tool_version": "0.2.0"}, "Another lmconform: cases may have been added, changed or renamed."),
    ({"corpus": "other"}, "Another corpus: expected values may have changed."),
    ({"seed": 8}, "Other seeds (7, 8): cases that draw examples drew other ones."),
    ({"releases": ("0.5.6",)}, "Only OLD has lmcache 0.5.5."),
    ({"targets": ("mock", "live")}, "Only NEW has the target live."),
    ({"shard": Shard(1, 2)}, "OLD is the whole run, NEW is shard 1/2."),
    ({"expectations": ListFile("known.toml", "ab" * 32, 3)}, "Another list of known failures"),
]


@pytest.mark.parametrize(("about", "said"), NOTES, ids=[next(iter(about)) for about, _ in NOTES])
def test_what_else_differs_is_told(run, make_case, about, said):
    old, new = run(make_case(), make_case("lm.get.x", release="0.5.5")), run(make_case(), **about)
    assert any(said in note for note in compare(old, new).notes)
    assert compare(old, run(make_case())).notes == ()


def test_another_client_is_told(run, make_case, header):
    other = dataclasses.replace(header.client, name="theirs")
    (note,) = compare(run(make_case()), run(make_case(), client=other)).notes
    assert note == "Another client is judged in NEW: what differs need not be a change of either."


def test_other_settings_are_told(run, make_case, selection):
    selection = dataclasses.replace(selection, require="should")
    other = dataclasses.replace(selection, deadline=5.0, examples=100, runtime="docker", require="must")
    found = compare(run(make_case(), selection=selection), run(make_case(), selection=other))
    assert [note.partition(" (")[0] for note in found.notes] == [
        "Other numbers of examples of each property",
        "Other deadlines",
        "Live servers ran elsewhere",
        "Failures of a SHOULD count in one and not in the other",
    ]
    unknown = dataclasses.replace(selection, require=None)
    assert compare(run(make_case(), selection=unknown), run(make_case(), selection=selection)).notes == ()


def test_the_same_run_is_told(run, make_case):
    assert compare(run(make_case()), run(make_case())).notes == ("OLD and NEW are the same run.",)
