"""Runs with a list of known failures, from the command line to the exit code and every report."""

import hashlib
import subprocess
import sys
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from harness.expectations.file import read_expectations
from harness.usage import UsageError
from reports.results import read_results
from reports.schema import results_schema

CLIENT = "mutant:health-by-connecting"
FAILS = "lm.request.health-on-the-wire"
"""One case on the mock, which this client fails."""
PASSES = "lm.request.get-on-the-wire"
ERROR = "no whole HEALTH reached the server"
LATER = (datetime.now(UTC) + timedelta(days=30)).date()
PAST = (datetime.now(UTC) - timedelta(days=2)).date()


@pytest.fixture
def known(tmp_path):
    """A list of known failures with one entry; give its members, as TOML."""

    def write(*tables, name="known.toml", **changes):
        path = tmp_path / name
        text = ""
        for table in tables or (changes,):
            members = {
                "cases": f'["{FAILS}"]', "outcome": '"fail"', "error": f'"{ERROR}"', "reason": '"it only connects"',
                "issue": '"https://example.org/7"', "expires": LATER, **table,
            }  # fmt: skip
            text += "[[expectation]]\n" + "".join(f"{key} = {value}\n" for key, value in members.items() if value is not None)
        path.write_text(text)
        return path

    return write


def test_a_known_failure_does_not_fail_the_run(judged, known):
    run = judged(CLIENT, FAILS, PASSES, expectations=known())
    assert run.code == 0
    assert sorted(run.verdicts().values()) == ["known-failure", "pass"]


def test_without_the_list_it_does(judged):
    assert judged(CLIENT, FAILS).code == 1


OUTCOMES = {
    "another error": ({"error": '"a wrong header"'}, FAILS, 1, "fail"),
    "a pass": ({"cases": f'["{PASSES}"]'}, PASSES, 1, "unexpected-pass"),
    "another target": ({"targets": '"fixtures"'}, FAILS, 1, "fail"),
    "another release": ({"releases": '"up to 0.5.5"'}, FAILS, 1, "fail"),
    "this release": ({"releases": '"0.5.6"', "targets": '"mock"'}, FAILS, 0, "known-failure"),
    "expired": ({"expires": PAST}, FAILS, 1, "fail"),
    "flaky that fails": ({"outcome": '"flaky"'}, FAILS, 0, "known-failure"),
    "flaky that passes": ({"outcome": '"flaky"', "cases": f'["{PASSES}"]'}, PASSES, 0, "pass"),
    "another machine": ({"platforms": '"darwin-riscv64"'}, FAILS, 1, "fail"),
}


@pytest.mark.parametrize(("changes", "case", "code", "verdict"), OUTCOMES.values(), ids=OUTCOMES)
def test_table_of_entries_and_runs(judged, known, changes, case, code, verdict):
    run = judged(CLIENT, case, expectations=known(**changes))
    assert (run.code, run.case.verdict) == (code, verdict)


def test_a_hang_can_be_expected_where_it_is_named(judged, hosted, known):
    words = {"cases": '["keys.parse.parse[*tag*]"]', "error": None, "outcome": '"fail"'}
    listed = known(**words, verdict='"hang"')
    run = judged(hosted("HangsOnTags"), "keys.parse.parse[*tag*]", PASSES, deadline=1.0, expectations=listed)
    assert (run.code, len(run.with_verdict("known-failure")), len(run.cases)) == (0, 5, 6)


def test_a_case_that_the_client_does_not_support_is_a_stale_entry(judged, known):
    listed = known(cases='["keys.parse.parse"]')
    run = judged("python:broken_clients:FormatsKeysOnly", "keys.format.format", "keys.parse.parse", expectations=listed)
    assert run.code == 1
    assert "parse_key is unsupported (not declared), so it cannot fail" in run.with_verdict("unexpected-pass")[0].reason


def test_the_record_and_the_header_name_the_entry_and_the_file(judged, known):
    path = known()
    run = judged(CLIENT, FAILS, expectations=path)
    header, listed = run.results.header.expectations, run.case.expectation
    assert (header.file, header.sha256, header.entries) == (str(path), hashlib.sha256(path.read_bytes()).hexdigest(), 1)
    assert (listed.entry, listed.reason, listed.issue, listed.expires) == (
        1, "it only connects", "https://example.org/7", LATER.isoformat(),
    )  # fmt: skip


def test_without_a_list_the_header_names_none(judged):
    assert judged("reference", PASSES).results.header.expectations is None


def test_junit_terminal_results_and_exit_code_agree(command, known):
    known({}, {"cases": f'["{PASSES}"]'}, {"cases": '["lm.broken.health-breaks-off[*stall]"]', "error": '"another"'})
    ended = command(
        "run", "--client", CLIENT, "--lmcache", "0.5.6", "--only", FAILS, "--only", PASSES,
        "--only", "lm.broken.health-breaks-off*stall]",
        "--expectations", "known.toml", "--out", "out",
    )  # fmt: skip
    assert ended.code == 1
    assert "NOT CONFORMANT  3 cases" in ended.out
    assert "1 fail, 1 known-failure, 1 unexpected-pass" in ended.out
    assert "known    known.toml (3 entries, sha256" in ended.out
    assert "Known failures:" in ended.out
    assert "known.toml must be edited:" in ended.out
    assert "entry 2    passes: 1 case, such as lm.request.get-on-the-wire[0.5.6-mock-lm.request.sent.get]" in ended.out
    assert "entry 3    fails with another error: 1 case" in ended.out
    assert ended.out.splitlines()[-1] == "0 passed, 2 failed, 1 skipped"
    tests = list(ET.parse("out/junit.xml").getroot().iter("testcase"))
    (skipped,) = (test.find("skipped") for test in tests if test.find("skipped") is not None)
    assert skipped.get("message").startswith("known failure: it only connects (https://example.org/7, until ")
    assert ERROR in skipped.get("message")
    assert {failure.get("type") for test in tests for failure in test.iter("failure")} == {"unexpected-pass", "fail"}
    results = read_results(Path("out/results.jsonl"))
    assert (results.exit_code, results.footer.exit_code) == (1, 1)


def test_a_run_without_new_failures_is_not_called_conformant(command, known):
    known()
    ended = command("run", "--client", CLIENT, "--lmcache", "0.5.6", "--only", FAILS, "--expectations", "known.toml")
    assert ended.code == 0
    assert "NO NEW FAILURE  1 case" in ended.out
    assert "CONFORMANT" not in ended.out.replace("NO NEW FAILURE", "")


def test_flaky_cases_that_pass_are_shown(command, known):
    known(cases=f'["{PASSES}"]', outcome='"flaky"')
    ended = command("run", "--lmcache", "0.5.6", "--only", PASSES, "--expectations", "known.toml")
    assert ended.code == 0
    assert "Flaky, as listed, but passed this time:" in ended.out


def test_another_error_is_explained_with_the_one_that_was_expected(command, known):
    known(error='"a wrong header"')
    out = command("run", "--client", CLIENT, "--lmcache", "0.5.6", "--only", FAILS, "--expectations", "known.toml").out
    said = " ".join(out.split())
    assert "list of known failures entry 1 of known.toml expects fail with 'a wrong header': it only connects" in said


def test_an_expired_entry_says_so(command, known):
    known(expires=PAST)
    out = command("run", "--client", CLIENT, "--lmcache", "0.5.6", "--only", FAILS, "--expectations", "known.toml").out
    assert f"entry 1 of known.toml expired on {PAST}" in " ".join(out.split())
    assert f"entry 1    expired on {PAST}: 1 case" in out


def test_reasons_that_nobody_wrote_are_a_warning(command, known):
    known(reason='"TODO: say why"', issue=None)
    ended = command("run", "--client", CLIENT, "--lmcache", "0.5.6", "--only", FAILS, "--expectations", "known.toml")
    assert ended.code == 0
    assert "lmconform: warning: known.toml: the reason of entry 1" in ended.err


def test_a_list_that_cannot_be_read_is_a_usage_error_before_anything_runs(command, known):
    known(outcome='"skip"')
    ended = command("run", "--client", "stdio:no-such-program", "--expectations", "known.toml", "--out", "out")
    assert (ended.code, Path("out").exists()) == (2, False)
    assert "known.toml: entry 1, outcome: expected one of fail, flaky; got 'skip'" in ended.err


def test_overlapping_entries_are_a_usage_error(judged, known):
    with pytest.raises(UsageError, match=r"entries 1 and 2 both list lm\.request\.health-on-the-wire"):
        judged(CLIENT, FAILS, expectations=known({}, {"cases": '["lm.request.*"]'}))


def test_a_pattern_that_matches_nothing_is_a_usage_error_on_a_run_of_everything(judged, known):
    listed = known({}, {"cases": f'["{PASSES}", "lm.request.heath-on-the-wire"]'})
    with pytest.raises(UsageError, match=r"entry 2, cases: 'lm\.request\.heath-on-the-wire' matches no case; 'lmconform list"):
        judged(CLIENT, expectations=listed)


def test_so_is_one_whose_conditions_leave_nothing(judged, known):
    with pytest.raises(UsageError, match=r"matches no case under its conditions \(targets fixtures\)"):
        judged(CLIENT, expectations=known(targets='"fixtures"'))


def test_with_only_it_is_not_looked_for(judged, known):
    listed = known({}, {"cases": '["lm.request.heath-on-the-wire"]'})
    assert judged(CLIENT, FAILS, expectations=listed).code == 0


def test_entries_for_what_a_run_leaves_out_are_no_fault(judged, known, monkeypatch):
    """Live servers, another machine and other releases: each exists, and none is selected."""
    other = {"cases": '["servers.agreement.*"]', "targets": '"live"'}, {"platforms": '"darwin-riscv64"'}, {"releases": '"0.3.1"'}
    monkeypatch.setattr("harness.matrix.Matrix.begin", lambda _: pytest.exit("the selection was taken"))
    assert judged(CLIENT, expectations=known({"releases": '"0.5.6"'}, *other)).code == 3


def test_workers_make_the_same_records(judged, known):
    def timeless(run):
        return [{**case.to_json(), "seconds": 0} for case in run.cases]

    listed = known(cases='["lm.request.encode"]', error='"differs, the first at 0x7"')
    only = ("keys.*", "lm.request.*", "lm.reply.*")
    alone, several = (judged("python:broken_clients:WrongByte", *only, jobs=jobs, expectations=listed) for jobs in (1, 2))
    assert alone.code == several.code == 0
    assert len(several.with_verdict("known-failure")) > 10
    assert timeless(alone) == timeless(several)


def test_a_case_that_kills_its_worker_can_be_a_known_failure(judged, known):
    plain = known(cases='["keys.parse.parse[*layer-31]"]', verdict='"crash"', error='"SIGSEGV"')
    run = judged("python:broken_clients:DiesOnLayers", "keys.*", "lm.request.*", "lm.reply.*", jobs=2, expectations=plain)
    assert (run.code, [case.name for case in run.with_verdict("known-failure")]) == (0, ["keys.parse.parse"])


@pytest.mark.parametrize(
    "name", ["health-by-connecting", "health-whatever-comes", "get-counts-elements", "put-drops-the-location", "put-sent-twice"]
)
def test_a_run_under_the_list_that_it_wrote_has_no_new_failure(judged, tmp_path, name):
    only = ("lm.request.*-on-the-wire", "lm.broken.health-*", "lm.identity.*")
    client, path = f"mutant:{name}", tmp_path / "known.toml"
    first = judged(client, *only, lmcache="0.3.1,0.5.6", write_expectations=path)
    second = judged(client, *only, lmcache="0.3.1,0.5.6", expectations=path)
    assert (first.code, second.code) == (1, 0)
    assert {case.id for case in second.with_verdict("known-failure")} == {
        case.id for case in first.cases if case.verdict != "pass"
    }


def test_a_new_failure_under_a_written_list_fails_the_run(judged, tmp_path):
    path = tmp_path / "known.toml"
    judged(CLIENT, FAILS, write_expectations=path)
    run = judged(CLIENT, FAILS, "lm.broken.health-breaks-off", expectations=path)
    assert (run.code, {case.name for case in run.with_verdict("fail")}) == (1, {"lm.broken.health-breaks-off"})


def test_a_repaired_client_under_a_written_list_fails_the_run(judged, tmp_path):
    path = tmp_path / "known.toml"
    judged(CLIENT, FAILS, write_expectations=path)
    run = judged("reference", FAILS, expectations=path)
    assert (run.code, run.case.verdict) == (1, "unexpected-pass")


def test_a_list_is_written_by_the_command_which_still_fails(command):
    words = ("run", "--client", CLIENT, "--lmcache", "0.5.6", "--only", FAILS, "--write-expectations", "known.toml")
    ended = command(*words)
    assert ended.code == 1
    assert "wrote 1 entry to known.toml; fill in the reasons" in ended.err
    assert ended.out.splitlines()[-1] == "0 passed, 1 failed, 0 skipped"
    assert len(read_expectations(Path("known.toml")).entries) == 1
    assert command(*words).code == 2


USAGE = {
    "--force alone": (["--force"], "--force is for --write-expectations, which is not given"),
    "a folder": (["--write-expectations", "."], "it is a folder; name a file"),
    "no such folder": (["--write-expectations", "no/where.toml"], "cannot write no/where.toml"),
    "no such list": (
        ["--expectations", "no.toml"],
        "no.toml: no such file; the option '--write-expectations no.toml' makes one",
    ),
    "an update of a part": (
        ["--only", FAILS, "--expectations", "known.toml", "--write-expectations", "new.toml"],
        "leave out --only",
    ),
}


@pytest.mark.parametrize(("words", "message"), USAGE.values(), ids=USAGE)
def test_senseless_options_are_usage_errors(command, known, words, message):
    known()
    ended = command("run", "--client", CLIENT, *words)
    assert ended.code == 2
    assert message in ended.err


@pytest.fixture
def plain_pytest(tmp_path):
    """Cases under plain pytest, with a list."""

    def run(*words):
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-rxfX", "-p", "no:cacheprovider", "--pyargs", "cases.lm.test_request",
             "--lmcache", "0.5.6", "--client", CLIENT, "--expectations", "known.toml", *words],
            cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip

    return run


def test_under_plain_pytest_a_known_failure_is_an_expected_one(plain_pytest, known):
    known()
    ended = plain_pytest("--only", FAILS)
    assert ended.returncode == 0, ended.stdout
    assert "1 xfailed" in ended.stdout
    assert "it only connects (https://example.org/7, until" in ended.stdout


def test_under_plain_pytest_an_unexpected_pass_fails(plain_pytest, known):
    known(cases=f'["{PASSES}"]')
    ended = plain_pytest("--only", PASSES)
    assert ended.returncode == 1
    assert "passes, but entry 1 of known.toml says that it fails" in ended.stdout


@pytest.mark.parametrize("workers", ["0", "1"])
def test_under_plain_pytest_the_results_file_says_the_same(plain_pytest, known, tmp_path, workers):
    known()
    ended = plain_pytest("--only", FAILS, "--only", PASSES, "--results", "results.jsonl", "-n", workers)
    assert ended.returncode == 0, ended.stdout
    results = read_results(tmp_path / "results.jsonl")
    assert {case.name: str(case.verdict) for case in results.cases} == {FAILS: "known-failure", PASSES: "pass"}
    assert results.exit_code == 0


def test_under_plain_pytest_entries_that_overlap_are_a_usage_error(plain_pytest, known):
    known({}, {"cases": '["lm.request.*"]'})
    ended = plain_pytest("--only", FAILS)
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR, ended.stdout
    assert "entries 1 and 2 both list lm.request.health-on-the-wire" in ended.stderr


def test_under_pytest_xdist_they_fail_the_cases(plain_pytest, known):
    known({}, {"cases": '["lm.request.*"]'})
    ended = plain_pytest("--only", FAILS, "-n", "1")
    assert ended.returncode == 1, ended.stdout


def test_under_plain_pytest_a_part_of_the_cases_says_nothing_of_other_patterns(plain_pytest, known):
    known({}, {"cases": '["keys.parse.parse"]'})
    assert plain_pytest("-k", "health_on_the_wire").returncode == 0


def test_every_member_of_a_record_is_in_the_schema(judged, known):
    """The schema takes unknown members, so that a misspelt one would pass."""
    defined = results_schema()["$defs"]
    run = judged(CLIENT, FAILS, expectations=known())
    record = run.case.to_json()
    assert set(record) == set(defined["case"]["properties"])
    assert set(record["expectation"]) == set(defined["listed"]["properties"])
    assert set(run.results.header.to_json()["expectations"]) == set(defined["listFile"]["properties"])
