"""What became of a case."""

import pytest

from reports.diff.compare import compare
from reports.diff.kinds import Kind
from reports.diff.model import ComparisonError, Releases
from reports.diff.reasons import reason_of
from reports.parts import Merged, Part, Shard
from reports.verdict import Verdict

ID = "lm.get.partial-header[0.5.6-mock]"


def test_there_is_a_case_of_every_kind_and_the_gravest_come_first(every_kind):
    found = compare(*every_kind)
    assert list(dict.fromkeys(change.kind for change in found.changes)) == list(Kind)
    assert {kind: number for kind, number in found.counts.items() if number != 1} == {Kind.BROKEN: 2}
    assert {str(state): number for state, number in found.same.items()} == {"passing": 1, "failing": 1}


@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.HANG, Verdict.CRASH])
@pytest.mark.parametrize("before", [Verdict.PASS, Verdict.UNSUPPORTED, Verdict.SHORTFALL, Verdict.UNEXPECTED_PASS])
def test_a_case_that_did_not_fail_and_fails_is_broken(run, make_case, fail, kinds, before, verdict):
    assert kinds(run(make_case(verdict=before)), run(fail(verdict=verdict))) == {ID: "broken"}


def test_a_known_failure_that_is_no_longer_listed_is_broken_and_told(run, make_case, fail, listed):
    old = run(fail(verdict=Verdict.KNOWN_FAILURE, expectation=listed()))
    (change,) = compare(old, run(fail())).changes
    assert (change.kind, change.note) == (Kind.BROKEN, "OLD had it on the list of known failures")


@pytest.mark.parametrize("before", [Verdict.FAIL, Verdict.KNOWN_FAILURE, Verdict.SHORTFALL, Verdict.CRASH])
def test_a_case_that_passes_and_did_not_is_fixed(run, make_case, fail, kinds, before):
    assert kinds(run(fail(verdict=before)), run(make_case())) == {ID: "fixed"}


def test_a_case_that_harness_or_environment_failed_in_is_never_fixed_or_broken(run, make_case, fail, kinds):
    error = make_case(verdict=Verdict.ENVIRONMENT_ERROR, summary="no network")
    assert kinds(run(fail()), run(error)) == {ID: "undecided"}
    assert kinds(run(error), run(fail())) == {ID: "new-failures"}
    assert kinds(run(error), run(make_case())) == {ID: "new"}
    assert kinds(run(error), run(error)) == {ID: "undecided"}


def test_a_case_that_fails_in_another_way_has_changed(run, fail, kinds):
    assert kinds(run(fail()), run(fail(verdict=Verdict.CRASH))) == {ID: "changed"}
    assert kinds(run(fail()), run(fail(why="wrong length"))) == {ID: "changed"}
    assert kinds(run(fail()), run(fail())) == {}


def test_what_is_listed_as_flaky_may_pass_or_fail_once_it_was_told(run, make_case, fail, listed, kinds):
    fails = fail(verdict=Verdict.KNOWN_FAILURE, expectation=listed("flaky"))
    passes = make_case(expectation=listed("flaky", Verdict.PASS))
    assert kinds(run(make_case()), run(passes)) == kinds(run(fail()), run(fails)) == {ID: "flaky"}
    assert kinds(run(passes), run(fails)) == kinds(run(fails), run(passes)) == {}


def test_a_case_that_is_broken_and_listed_at_once_is_told_as_both(run, make_case, fail, listed):
    (change,) = compare(run(make_case()), run(fail(verdict=Verdict.KNOWN_FAILURE, expectation=listed()))).changes
    assert (change.kind, change.note) == (Kind.KNOWN, "it passed in OLD: it is broken, and listed")


def test_a_case_that_was_not_asked_for_again_says_so(run, make_case, fail):
    (change,) = compare(run(make_case()), run(fail(verdict=Verdict.HANG, not_run=True))).changes
    assert "NEW did not ask" in change.note


def missing(old, new):
    (change,) = compare(old, new).changes
    return change.kind, change.note


@pytest.mark.parametrize(
    ("about", "note"),
    [
        ({"releases": ("0.5.5",)}, "NEW did not run lmcache 0.5.6"),
        ({"targets": ("fixtures",)}, "NEW did not run the target mock"),
        ({"shard": Shard(1, 4)}, "NEW is shard 1/4 alone"),
        ({"left_out": ("lm",)}, "NEW left out the cases of lm: the client declares none of their operations"),
        ({"command_line": ("lmconform", "run", "--only", "lm.put.*")}, "NEW ran with --only lm.put.*"),
        (
            {"command_line": ("lmconform", "run", "--only=lm.get.partial-header[*-fixtures]")},
            "NEW ran with --only lm.get.partial",
        ),
        ({"command_line": ("lmconform", "run", "--protocol", "mp")}, "NEW ran with --protocol mp alone"),
        ({"command_line": ("lmconform", "run", "--properties")}, "NEW ran with --properties"),
        ({"incomplete": "the run was stopped"}, "NEW did not end"),
    ],
)
def test_a_case_that_was_not_selected_is_not_run_and_never_gone(run, make_case, about, note):
    kind, said = missing(run(make_case()), run(**{"releases": ("0.5.5", "0.5.6"), **about}))
    assert kind is Kind.NOT_RUN
    assert said.startswith(note)


@pytest.mark.parametrize("pattern", ["lm.get.*", "lm.get.partial-header", ID, "lm.get.partial-header[0.5.6*"])
def test_a_case_that_was_selected_and_is_not_there_is_gone(run, make_case, pattern):
    new = run(make_case("lm.get.other"), command_line=("lmconform", "run", "--only", pattern))
    assert compare(run(make_case()), new).counts[Kind.GONE] == 1


def test_of_a_merged_run_the_shards_say_what_was_selected(run, make_case):
    part = Part(1, "2026-01-02T03:04:05Z", 1.0, "3.11", "Linux", ("lmconform", "run", "--only", "lm.put.*"))
    kind, note = missing(run(make_case()), run(merged=Merged(1, (part,)), command_line=("lmconform", "merge", "shards")))
    assert (kind, note) == (Kind.NOT_RUN, "NEW ran with --only lm.put.*")


def test_what_old_did_not_run_is_said_of_a_new_failure(run, make_case, fail):
    found = compare(run(make_case(release="0.5.5"), releases=("0.5.5",)), run(fail(), make_case(release="0.5.5")))
    (change,) = found.changes
    assert (change.kind, change.note) == (Kind.NEW_FAILURES, "OLD did not run lmcache 0.5.6")


def test_two_releases_are_paired_by_case_target_and_variant(run, make_case, fail, kinds):
    old = run(make_case("lm.get.a", release="0.5.5", variant="v"), fail("lm.get.b", "lmcache 0.5.5 differs", release="0.5.5"))
    new = run(fail("lm.get.a", variant="v"), fail("lm.get.b", "lmcache 0.5.6 differs"), make_case("lm.get.c", release="0.5.5"))
    assert kinds(old, new, Releases("0.5.5", "0.5.6")) == {"lm.get.a[0.5.6-mock-v]": "broken"}


def test_between_two_releases_what_passes_and_only_one_of_them_has_is_counted_and_not_listed(run, make_case, fail):
    old = run(make_case(release="0.5.5"), make_case("lm.get.only-before", release="0.5.5"), releases=("0.5.5",))
    new = run(make_case(), make_case("lm.get.only-now"), fail("lm.get.fails-now"), releases=("0.5.6",))
    found = compare(old, new, Releases("0.5.5", "0.5.6"))
    assert [(change.case.case, str(change.kind)) for change in found.changes] == [("fails-now", "new-failures")]
    assert found.notes[-1] == ("Executions that pass and that only one of the releases has are left out: 1 of 0.5.5, 1 of 0.5.6.")


def test_two_releases_of_one_run_can_be_compared(run, make_case, fail, kinds):
    both = run(make_case(release="0.5.5"), fail())
    assert kinds(both, both, Releases("0.5.5", "0.5.6")) == {ID: "broken"}


@pytest.mark.parametrize(
    ("old", "new", "releases", "said"),
    [
        ({"side": "server"}, {}, None, "judges a server, main a client"),
        ({"releases": ("0.5.5",)}, {"releases": ("0.5.6",)}, None, "add --releases 0.5.5:0.5.6"),
        ({}, {}, Releases("0.5.5", "0.4.1"), "main has no lmcache 0.4.1; its releases are 0.5.5, 0.5.6"),
    ],
)
def test_runs_that_have_nothing_in_common_are_not_compared(run, make_case, old, new, releases, said):
    with pytest.raises(ComparisonError) as error:
        compare(run(make_case(), **old), run(make_case(), **new), releases)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("no answer within 30.0 s", "no answer within 29.98 s"),
        ("the peer at 127.0.0.1:41234 closed", "the peer at 127.0.0.1:50001 closed"),
        ("<object at 0x7f3a12bc90d0>", "<object at 0x7f3a00bc90aa>"),
        ("cannot open /tmp/lmconform-a1b2/x", "cannot open /tmp/lmconform-c3d4/x"),
        ("process 4242 was killed", "process 17 was killed"),
        (
            "it failed; the client answered error connection: the peer closed after 0 of 36 bytes",
            "it failed; the client answered error connection: reset by peer",
        ),
    ],
)
def test_what_differs_from_run_to_run_is_no_other_reason(fail, one, other):
    assert reason_of(fail(why=one)) == reason_of(fail(why=other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2 of 36 bytes differ, the first at 0x4", "2 of 36 bytes differ, the first at 0x8"),
        ("got 3 keys", "got 4 keys"),
        ("x; the client answered error protocol: code", "x; the client answered error connection: code"),
    ],
)
def test_what_the_harness_measured_is_another_reason(fail, one, other):
    assert reason_of(fail(why=one)) != reason_of(fail(why=other))
