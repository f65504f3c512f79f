"""What a run leaves behind: a whole file when it ended, a readable one when it was cut short."""

import contextlib
import os
import select
import signal
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from harness.version import TOOL_VERSION
from reports.results import read_results


@pytest.fixture
def stuck(start, hosted, tmp_path):
    """A run whose client answered three cases and hangs in the fourth."""
    pipe = tmp_path / "stopped"
    os.mkfifo(pipe)
    words = ("run", "--client", hosted("StopsAndTells"), "--lmcache", "0.5.6", "--only", "keys.parse.parse", "--out", "out")
    process = start(*words, STOPPED=str(pipe))
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(reader) as stopped:
        assert select.select([stopped], [], [], 60)[0], f"the run never came to the fourth case: {process.poll()}"
        client = int(stopped.read())
    yield process
    # The run that was killed could not end its client, and others have ended it already.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(client, signal.SIGKILL)


def test_the_header_says_what_was_run(judged):
    header = judged("reference", "keys.parse.*", lmcache="0.3.1,0.5.6").results.header
    assert (header.client.spec, header.client.name) == ("reference", "lmconform reference client")
    assert (header.tool_version, header.releases, header.targets) == (TOOL_VERSION, ("0.3.1", "0.5.6"), ("fixtures", "mock"))


def test_the_header_names_the_seed(judged):
    only = "lm.properties.reply-round-trip"
    assert judged("reference", only).results.header.seed == 0
    assert judged("reference", only, seed=77).results.header.seed == 77


def test_every_id_is_in_the_file_once(judged):
    ids = [case.id for case in judged("reference", "keys.*", "lm.roundtrip.*").cases]
    assert len(ids) == len(set(ids)) > 100


def test_two_runs_have_the_same_ids_in_the_same_order(judged):
    first, second = (judged("reference", "keys.*", "lm.identity.*", examples=1) for _ in range(2))
    assert [case.id for case in first.cases] == [case.id for case in second.cases]


def test_the_footer_counts_the_records(judged):
    results = judged("python:broken_clients:FormatsKeysOnly", "keys.*").results
    assert results.footer.complete
    assert dict(results.footer.counts) == results.counts


def test_the_junit_file_has_a_test_for_every_record(judged):
    run = judged("python:broken_clients:WrongByte", "lm.request.encode", "keys.format.format")
    suites = ET.parse(run.folder / "junit.xml").getroot()
    assert len(list(suites.iter("testcase"))) == len(run.cases)
    assert len(list(suites.iter("failure"))) == len(run.with_verdict("fail")) > 0


def test_a_run_replaces_the_results_of_the_one_before(command):
    for pattern in ("keys.parse.*", "keys.tokens.*"):
        assert command("run", "--lmcache", "0.5.6", "--only", pattern, "--out", "out").code == 0
    assert {case.topic for case in read_results_of("out").cases} == {"keys.tokens"}


def test_a_run_that_never_begins_leaves_the_results_of_the_one_before_alone(command):
    command("run", "--lmcache", "0.5.6", "--only", "keys.tokens.*", "--out", "out")
    before = read_results_of("out")
    assert command("run", "--lmcache", "0.5.6", "--only", "nothing", "--out", "out").code == 2
    assert read_results_of("out") == before


def test_a_killed_run_leaves_whole_records_and_is_incomplete(stuck, tmp_path):
    stuck.kill()
    stuck.wait(10)
    results = read_results_of(tmp_path / "out")
    assert len(results.cases) == 3
    assert "there is no footer" in results.incomplete
    assert results.exit_code == 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_at_once_with_what_it_has(stuck, tmp_path, number):
    stuck.send_signal(number)
    out, err = stuck.communicate(timeout=10)
    assert stuck.returncode == 3
    assert "INCOMPLETE  the run was stopped before its end, after 3 cases" in out
    assert "Traceback" not in out + err
    results = read_results_of(tmp_path / "out")
    assert len(results.cases) == 3
    assert not results.footer.complete
    assert len(list(ET.parse(tmp_path / "out" / "junit.xml").getroot().iter("testcase"))) >= 3


def test_a_second_process_can_read_the_file_while_the_run_goes_on(stuck, tmp_path):
    assert len(read_results_of(tmp_path / "out").cases) == 3


def read_results_of(folder):
    return read_results(Path(folder) / "results.jsonl")


def test_properties_alone_are_the_cases_that_draw_examples(judged):
    cases = judged("reference", "lm.segments.*", properties=True, examples=1).cases
    assert {case.name for case in cases} == {"lm.segments.any-segmentation", "lm.segments.any-cuts"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_impatient_user_gets_no_traceback(stuck, tmp_path, number):
    for _ in range(3):
        stuck.send_signal(number)
    out, err = stuck.communicate(timeout=30)
    assert stuck.returncode == 3
    assert "Traceback" not in out + err
    assert read_results_of(tmp_path / "out").incomplete
