"""What a list of known failures makes of how cases end."""

import time
from datetime import date, timedelta

import pytest

from harness.expectations.book import Execution
from harness.expectations.error_text import general, matches_error, stable
from reports.expectation import Standing
from reports.results import shows_the_subject
from reports.verdict import Verdict, count_verdicts, exit_code
from wire.release import Release, ReleaseRange

TODAY = date(2027, 3, 31)
HANGS = (Verdict.HANG,)
PAST = TODAY - timedelta(days=1)

TABLE = {
    # name: (entry, how the case ended and its summary, verdict, standing, exit code of a run with this case alone)
    "a failure as listed": ({}, ("fail", "wrong length: 1"), "known-failure", "as-listed", 0),
    "another error": ({}, ("fail", "wrong type"), "fail", "other-error", 1),
    "a hang in place of a wrong answer": ({}, ("hang", "wrong length"), "hang", "other-error", 1),
    "a crash in place of a wrong answer": ({}, ("crash", "wrong length"), "crash", "other-error", 1),
    "a pass": ({}, ("pass", None), "unexpected-pass", "passed", 1),
    "no support": ({}, ("unsupported", None), "unexpected-pass", "unsupported", 1),
    "the mock differs": ({}, ("mock-drift", "wrong length"), "mock-drift", None, 3),
    "the harness fails": ({}, ("harness-error", "wrong length"), "harness-error", None, 3),
    "the environment fails": ({}, ("environment-error", "wrong length"), "environment-error", None, 3),
    "flaky and passes": ({"outcome": "flaky"}, ("pass", None), "pass", "as-listed", 0),
    "flaky and fails": ({"outcome": "flaky"}, ("fail", "wrong length"), "known-failure", "as-listed", 0),
    "flaky with another error": ({"outcome": "flaky"}, ("fail", "wrong type"), "fail", "other-error", 1),
    "flaky without support": ({"outcome": "flaky"}, ("unsupported", None), "unexpected-pass", "unsupported", 1),
    "a hang as listed": ({"verdicts": HANGS, "errors": ()}, ("hang", "no answer"), "known-failure", "as-listed", 0),
    "a wrong answer in place of a hang": ({"verdicts": HANGS, "errors": ()}, ("fail", "no answer"), "fail", "other-error", 1),
    "one of two errors": ({"errors": ("wrong type", "wrong length")}, ("fail", "wrong length"), "known-failure", "as-listed", 0),
    "none of two errors": ({"errors": ("wrong type", "wrong name")}, ("fail", "wrong length"), "fail", "other-error", 1),
    "a hang with another error": ({"verdicts": HANGS, "errors": ("get",)}, ("hang", "put: no answer"), "hang", "other-error", 1),
    "on its last day": ({"expires": TODAY}, ("fail", "wrong length"), "known-failure", "as-listed", 0),
    "expired and fails": ({"expires": PAST}, ("fail", "wrong length"), "fail", "expired", 1),
    "expired and fails otherwise": ({"expires": PAST}, ("crash", "gone"), "crash", "expired", 1),
    "expired and passes": ({"expires": PAST}, ("pass", None), "unexpected-pass", "expired", 1),
    "expired and flaky and passes": ({"expires": PAST, "outcome": "flaky"}, ("pass", None), "unexpected-pass", "expired", 1),
    "expired without support": ({"expires": PAST}, ("unsupported", None), "unexpected-pass", "expired", 1),
    "expired while the mock differs": ({"expires": PAST}, ("mock-drift", "x"), "mock-drift", None, 3),
}  # fmt: skip


@pytest.mark.parametrize(("about", "ended", "verdict", "standing", "code"), TABLE.values(), ids=TABLE)
def test_table_of_entries_and_outcomes(entry, book, record, about, ended, verdict, standing, code):
    judged = book(entry(**about)).judged(record(*ended))
    assert judged.verdict == verdict
    assert (judged.expectation and judged.expectation.standing) == standing
    assert exit_code(count_verdicts([judged.verdict]), shown=shows_the_subject([judged], "client")) == code


def test_every_standing_is_in_the_table():
    assert {standing for _, _, _, standing, _ in TABLE.values()} - {None} == set(Standing) - {Standing.LISTED_TWICE}


@pytest.mark.parametrize(
    ("ended", "verdict"), [("fail", "fail"), ("pass", "unexpected-pass"), ("unsupported", "unexpected-pass")]
)
def test_a_case_of_two_entries_fails_the_run_however_it_ends(entry, book, record, ended, verdict):
    judged = book(entry(), entry("lm.get.*", number=2, outcome="flaky")).judged(record(ended))
    assert (judged.verdict, judged.expectation.standing) == (verdict, "listed-twice")
    assert judged.reason == "entries 1 and 2 of known.toml both list the case; narrow one of them"


def test_a_case_that_is_not_listed_stays_as_it_is(entry, book, record):
    ended = record(name="lm.get.long")
    assert book(entry()).judged(ended) == ended


def test_a_record_says_what_the_list_says(entry, book, record):
    listed = book(entry(number=4, issue="https://example.org/7")).judged(record()).expectation
    assert (listed.entry, listed.reason, listed.issue, listed.expires) == (
        4,
        "it rounds down",
        "https://example.org/7",
        "2027-03-31",
    )
    assert (listed.outcome, listed.error, listed.ended) == ("fail", "wrong length", "fail")


def test_a_known_failure_keeps_its_diagnosis(entry, book, record):
    assert book(entry()).judged(record(summary="wrong length: 12")).diagnosis.summary == "wrong length: 12"


WORDS = {
    "another error": ({}, ("fail", "wrong type"), ["entry 1 of known.toml expects fail with 'wrong length'", "another one"]),
    "a pass": ({}, ("pass", None), ["passes, but entry 1 of known.toml says that it fails", "it rounds down", "remove the case"]),
    "no support": ({}, ("unsupported", None), ["is unsupported", "cannot fail as entry 1 of known.toml says"]),
    "expired": ({"expires": PAST}, ("fail", None), ["entry 1 of known.toml expired on 2027-03-30", "repair the client, or"]),
    "expired, passes": ({"expires": PAST}, ("pass", None), ["expired on 2027-03-30", "remove the case from the entry, or renew"]),
    "flaky": ({"outcome": "flaky"}, ("pass", None), ["flaky: it rounds down (until 2027-03-31)"]),
}  # fmt: skip


@pytest.mark.parametrize(("about", "ended", "words"), WORDS.values(), ids=WORDS)
def test_what_is_wrong_is_said_with_the_entry_and_what_to_do(entry, book, record, about, ended, words):
    said = book(entry(**about)).judged(record(*ended)).reason
    assert [word for word in words if word not in said] == []


CONDITIONS = {
    "the case": ({"cases": ("lm.get.short",)}, True),
    "a pattern": ({"cases": ("lm.*.sh?rt",)}, True),
    "an id": ({"cases": ("lm.get.short[0.5.6-mock-v1]",)}, True),
    "any release": ({"cases": ("lm.get.short[*-mock-v1]",)}, True),
    "one pattern of two": ({"cases": ("lm.put.*", "lm.get.*")}, True),
    "another id": ({"cases": ("lm.get.short[0.5.6-mock-v2]",)}, False),
    "half a name": ({"cases": ("lm.get.sho",)}, False),
    "a release": ({"releases": (ReleaseRange.parse("0.3.1"), ReleaseRange.parse("0.5.0 and later"))}, True),
    "another release": ({"releases": (ReleaseRange.parse("up to 0.5.5"),)}, False),
    "a target": ({"targets": ("live", "mock")}, True),
    "another target": ({"targets": ("live",)}, False),
    "a system": ({"platforms": ("darwin", "linux")}, True),
    "a machine": ({"platforms": ("x86_64",)}, True),
    "both": ({"platforms": ("linux-x86_64",)}, True),
    "another system": ({"platforms": ("darwin",)}, False),
    "another pair": ({"platforms": ("linux-aarch64",)}, False),
}  # fmt: skip


@pytest.mark.parametrize(("about", "meant"), CONDITIONS.values(), ids=CONDITIONS)
def test_an_entry_means_what_fulfils_every_condition(entry, book, record, about, meant):
    cases = about.get("cases", ("lm.get.short",))
    judged = book(entry(*cases, **{key: value for key, value in about.items() if key != "cases"})).judged(record(variant="v1"))
    assert (judged.verdict == "known-failure") is meant


ERRORS = [
    ("length", "wrong length: 1", True),
    ("wrong * 1", "wrong length: 1", True),
    ("length * wrong", "wrong length: 1", False),
    ("Length", "wrong length: 1", False),
    ("a.c", "abc", False),
    ("wrong   length", "wrong\nlength", True),
    ("aa*aa", "aaa", False),
    ("*length", "wrong length: 1", True),
    ("[0-9]", "wrong length: 1", False),
    ("a * b", "a literal * b", True),
]


@pytest.mark.parametrize(("wanted", "summary", "same"), ERRORS)
def test_an_error_is_matched_by_its_words(wanted, summary, same):
    assert matches_error(wanted, summary) is same


def test_no_text_in_a_list_keeps_a_run_busy():
    began = time.process_time()
    assert not matches_error("*a" * 5000 + "*b", "a" * 4999)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("get: no answer within 0.3 s", "get: no answer within *"),
        ("refused by 127.0.0.1:40123", "refused by 127.0.0.1:*"),
        ("no key lmconform/0a1b2c3d/17@1@0", "no key *@1@0"),
        ("object at 0x7f3a00b0c0", "object at *"),
        ("request 123e4567-e89b-12d3-a456-426614174000 failed", "request * failed"),
        ("the code is 400", "the code is 400"),
        ("1 of 186 bytes differs, the first at 0xc", "1 of 186 bytes differs, the first at 0xc"),
        ("the payload: 916980 of 1048576 bytes differ, the first at 0x1f401", "the payload: *"),
        ("\ud800 is no text\x00", "* is no text*"),
    ],
)
def test_what_differs_between_two_runs_is_not_written(said, written):
    assert stable(said) == written
    assert matches_error(written, said)


def test_what_differs_between_vectors_is_left_out_of_a_general_error():
    first, second = "1 of 186 bytes differs, the first at 0xc", "20 of 36 bytes differs, the first at 0x1f"
    assert general(first) == general(second) == "* of * bytes differs, the first at *"
    assert matches_error(general(first), first)


def test_two_entries_for_one_case_are_a_fault_that_names_both(entry, book):
    case = Execution("lm.get.short[0.5.6-mock]", "lm.get.short", Release.parse("0.5.6"), "mock")
    (fault,) = book(entry("lm.get.*"), entry("lm.get.short", number=2, outcome="flaky")).faults([case], None)
    assert "known.toml: entries 1 and 2 both list lm.get.short[0.5.6-mock]" in fault


def test_entries_apart_by_condition_do_not_overlap(entry, book):
    case = Execution("lm.get.short[0.5.6-mock]", "lm.get.short", Release.parse("0.5.6"), "mock")
    found = book(entry(targets=("mock",)), entry(number=2, targets=("live",)), entry(number=3, platforms=("darwin",)))
    assert found.faults([case], None) == []


def test_a_pattern_without_a_case_is_a_fault_that_names_entry_and_pattern(entry, book):
    (fault,) = book(entry("lm.get.short", "lm.get.shrt", number=3)).faults(
        [Execution("lm.get.short[0.5.6-mock]", "lm.get.short", Release.parse("0.5.6"), "mock")], lambda *_: False
    )
    assert "known.toml: entry 3, cases: 'lm.get.shrt' matches no case" in fault


def test_a_pattern_whose_cases_are_not_selected_is_no_fault(entry, book):
    assert book(entry("lm.get.long")).faults([], lambda pattern, _: pattern == "lm.get.long") == []


@pytest.mark.parametrize(
    ("about", "ended", "verdict"),
    [
        ({}, "fail", "known-failure"),
        ({"verdicts": HANGS, "errors": ("get",)}, "hang", "known-failure"),
        ({}, "hang", "hang"),
        ({"verdicts": HANGS, "errors": ()}, "crash", "crash"),
    ],
)
def test_of_a_case_that_was_not_run_only_the_verdict_counts(entry, book, record, about, ended, verdict):
    """Which cases a client that fails again and again is spared differs from run to run, and so does what is said of them."""
    judged = book(entry(**about)).judged(record(ended, "not run: the client hung 6 times", not_run=True))
    assert judged.verdict == verdict
