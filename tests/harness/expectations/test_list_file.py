"""A list of known failures as a file: what is understood, and how a mistake is told."""

import hashlib
import os
import re
from datetime import date
from pathlib import Path

import pytest

from harness.expectations.file import _KEYS, read_expectations
from harness.usage import UsageError
from reports.verdict import Verdict
from wire.release import Release

GOOD = {
    "cases": '["lm.get.*", "lm.put.large[*-mock]"]',
    "outcome": '"fail"',
    "error": '"wrong length"',
    "reason": '"it rounds down"',
    "issue": '"https://example.org/issues/7"',
    "expires": "2027-03-31",
}


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        path = tmp_path / "known.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_expectations(path)

    return read_text


def table(**changes):
    members = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
    return "[[expectation]]\n" + "".join(f"{key} = {value}\n" for key, value in members.items())


def test_an_entry_is_read(read):
    (entry,) = read(table()).entries
    assert (entry.number, entry.cases, entry.outcome) == (1, ("lm.get.*", "lm.put.large[*-mock]"), "fail")
    assert (entry.error, entry.reason, entry.issue) == ("wrong length", "it rounds down", "https://example.org/issues/7")
    assert (entry.expires, entry.verdicts) == (date(2027, 3, 31), (Verdict.FAIL,))


def test_conditions_are_read(read):
    changes = {"releases": '["up to 0.3.2", "0.4.4 and later"]', "targets": '["mock", "live"]', "platforms": '"linux-aarch64"'}
    (entry,) = read(table(**changes)).entries
    among = {text: entry.means_release(Release.parse(text)) for text in ("0.3.1", "0.3.2", "0.3.3", "0.4.3", "0.4.4", "0.5.6")}
    assert among == {"0.3.1": True, "0.3.2": True, "0.3.3": False, "0.4.3": False, "0.4.4": True, "0.5.6": True}
    assert (entry.targets, entry.platforms) == (("mock", "live"), ("linux-aarch64",))


def test_one_text_stands_for_a_list_of_one(read):
    assert (
        read(table(cases='"lm.get.*"', verdict='"hang"')).entries == read(table(cases='["lm.get.*"]', verdict='["hang"]')).entries
    )


def test_a_hang_needs_no_error(read):
    (entry,) = read(table(verdict='"hang"', error=None)).entries
    assert (entry.verdicts, entry.error) == ((Verdict.HANG,), None)


def test_the_file_is_named_by_what_it_holds(read):
    text = table()
    assert read(text).sha256 == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("text", ["", "# nothing yet\n", b"\xef\xbb\xbf# with a byte order mark\r\n"])
def test_a_list_may_be_empty(read, text):
    assert read(text).entries == ()


BAD_VALUES = {
    "no cases": ({"cases": None}, "entry 1, cases: missing; expected patterns over case ids"),
    "an empty list of cases": ({"cases": "[]"}, "entry 1, cases: expected a pattern"),
    "a number among cases": ({"cases": '["lm.get.*", 7]'}, "entry 1, cases: expected a pattern"),
    "an empty pattern": ({"cases": '[""]'}, "entry 1, cases: expected a pattern over case ids, such as 'lm.get.*'"),
    "spaces around a pattern": ({"cases": '[" lm.get.*"]'}, "without spaces around it; got ' lm.get.*'"),
    "a pattern twice": ({"cases": '["lm.get.*", "lm.get.*"]'}, "'lm.get.*' stands there twice"),
    "an unknown outcome": ({"outcome": '"skip"'}, "entry 1, outcome: expected one of fail, flaky; got 'skip'"),
    "no outcome": ({"outcome": None}, "entry 1, outcome: missing"),
    "an outcome that is no text": ({"outcome": "true"}, "entry 1, outcome: expected one of fail, flaky; got True"),
    "no reason": ({"reason": None}, "entry 1, reason: missing"),
    "an empty reason": ({"reason": '"  "'}, "entry 1, reason: expected a text that is not empty; got '  '"),
    "no error": ({"error": None}, "entry 1, error: missing; expected text that the error must contain"),
    "an error of stars": ({"error": '"* *"'}, "entry 1, error: expected text"),
    "an error of stars among others": ({"error": '["wrong", "*"]'}, "entry 1, error: expected text"),
    "a list of no error": ({"error": "[]"}, "entry 1, error: expected text"),
    "no date": ({"expires": None}, "entry 1, expires: missing"),
    "a date in quotes": ({"expires": '"2027-03-31"'}, "without quotes and without a time, such as 2027-03-31; got '2027-03-31'"),
    "a date with a time": ({"expires": "2027-03-31T00:00:00Z"}, "entry 1, expires: expected a date"),
    "a number as date": ({"expires": "2027"}, "entry 1, expires: expected a date without quotes and without a time"),
    "a day that is none": ({"expires": "2027-02-30"}, "not TOML"),
    "an issue that is no address": ({"issue": '"#7"'}, "entry 1, issue: expected an address that begins with https://"),
    "an issue without a host": ({"issue": '"https://"'}, "entry 1, issue: expected an address"),
    "an issue that breaks off": ({"issue": '"https://[::1"'}, "entry 1, issue: expected an address"),
    "releases that are none": ({"releases": '"newest"'}, "entry 1, releases: expected releases, such as '0.5.6', '0.3.3"),
    "releases backwards": ({"releases": '"0.4.3 to 0.3.3"'}, "ends before it begins"),
    "an unknown target": ({"targets": '"cloud"'}, "entry 1, targets: expected one of fixtures, mock, live, alone; got 'cloud'"),
    "an unknown platform": ({"platforms": '"linus"'}, "entry 1, platforms: expected one of linux, darwin"),
    "a verdict nobody is blamed for": ({"verdict": '"mock-drift"'}, "one of fail, hang, crash; got 'mock-drift'; that the mock"),
    "an unknown verdict": ({"verdict": '"slow"'}, "entry 1, verdict: expected one of fail, hang, crash; got 'slow'"),
    "a misspelt key": ({"expire": "2027-03-31"}, "entry 1, expire: unknown key; did you mean expires?"),
    "an unknown key": ({"zzz": "1"}, "entry 1, zzz: unknown key; known are cases, releases, targets"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), BAD_VALUES.values(), ids=BAD_VALUES)
def test_a_mistake_is_told_with_file_entry_key_and_what_was_expected(read, tmp_path, changes, message):
    with pytest.raises(UsageError) as caught:
        read(table(**changes))
    assert str(caught.value).startswith(f"{tmp_path / 'known.toml'}: ")
    assert message in str(caught.value)


BAD_FILES = {
    "no TOML": ("expectation = [", "not TOML"),
    "not UTF-8": (b"# \xff\n", "not UTF-8, which TOML must be: byte 2 is 0xff"),
    "one bracket": ("[expectation]\ncases = 'x'\n", "expected [[expectation]], with two brackets, before each entry"),
    "another table": ("[[expectations]]\ncases = 'x'\n", "expectations: unknown; the file holds [[expectation]] tables"),
    "no tables": ("expectation = [1]\n", "entry 1: expected a table"),
    "nested deeply": ("x = " + "[" * 5000, "nested too deeply"),
}


@pytest.mark.parametrize(("text", "message"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_file_that_is_no_list_is_refused(read, text, message):
    with pytest.raises(UsageError) as caught:
        read(text)
    assert message in str(caught.value)


def test_a_file_that_is_not_there_says_how_to_make_one(tmp_path):
    with pytest.raises(UsageError, match=r"no such file; the option '--write-expectations .*known\.toml' makes one"):
        read_expectations(tmp_path / "known.toml")


def test_every_mistake_is_told_at_once(read):
    with pytest.raises(UsageError) as caught:
        read(table(outcome='"skip"') + table(reason='""', targets='"x"'))
    assert [line.split(": ")[1] for line in str(caught.value).splitlines()] == [
        "entry 1, outcome",
        "entry 2, reason",
        "entry 2, targets",
    ]


def test_reasons_that_nobody_wrote_and_missing_issues_are_warnings(read):
    first, second = read(table() + table(reason='"TODO: say why"') + table(issue=None)).warnings()
    assert "the reason of entry 2 is still TODO" in first
    assert "no issue is named in entry 3" in second


def test_a_list_without_faults_has_no_warnings(read):
    assert read(table()).warnings() == []


GUIDE = (Path(__file__).resolve().parents[3] / "docs" / "guides" / "known-failures.md").read_text()


def test_the_entry_of_the_guide_is_understood(read):
    (example,) = re.findall(r"^```toml\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    listed = read(example)
    assert (len(listed.entries), listed.warnings()) == (1, [])


def test_the_guide_explains_every_key():
    assert set(re.findall(r"^\| `([a-z]+)` \|", GUIDE, re.MULTILINE)) == set(_KEYS)


def test_a_pipe_without_a_writer_holds_up_nobody(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="not a file that holds a list"):
        read_expectations(tmp_path / "pipe")


@pytest.mark.parametrize("text", [f"x = {'9' * 5000}", f"[[expectation]]\nexpires = {'9' * 5000}"])
def test_a_number_of_thousands_of_digits_is_a_mistake_like_others(tmp_path, text):
    path = tmp_path / "known.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match="not a list of known failures"):
        read_expectations(path)
