"""What a client does wrong ends in the right verdict, with an explanation that can be acted on."""

import json
import re
import shlex

import pytest

from fixturegen.corpus import load_corpus
from harness.judge import Judge
from mockserver.lm.replies import Replies
from wire.release import Release

ENCODE = "lm.request.encode[0.5.6-fixtures-lm.request.sent.put-kv-2ltd-float16]"


@pytest.fixture
def wrong_byte(judged):
    return judged("python:broken_clients:WrongByte", ENCODE).case


def test_the_reference_client_is_conformant(judged):
    run = judged("reference", "keys.parse.*", "lm.roundtrip.exist")
    assert run.code == 0
    assert set(run.verdicts().values()) == {"pass"}


def test_a_wrong_byte_is_a_failure(judged):
    run = judged("python:broken_clients:WrongByte", ENCODE)
    assert (run.code, run.case.verdict) == (1, "fail")


def test_a_wrong_byte_is_explained_field_by_field(wrong_byte):
    (field,) = wrong_byte.diagnosis.fields
    assert (field.offset, field.name, field.expected, field.got) == (4, "length", "256", str(256 + 2**24))
    assert "1 of 186 bytes differs, the first at 0x7" in wrong_byte.diagnosis.summary


def test_a_wrong_byte_is_shown_in_both_frames(wrong_byte):
    expected, got = wrong_byte.diagnosis.frames
    assert [index for index, (one, other) in enumerate(zip(expected.data, got.data, strict=True)) if one != other] == [7]


def test_a_failure_quotes_the_requirement(wrong_byte):
    diagnosis = wrong_byte.diagnosis
    assert diagnosis.requirement in wrong_byte.requirements
    assert diagnosis.level == "MUST"
    assert diagnosis.statement
    assert diagnosis.why_it_matters


def test_a_failure_names_vector_wheel_hash_and_upstream_module(wrong_byte):
    manifest = load_corpus(Release.parse("0.5.6")).manifest
    for part in ("lm.request.sent.put-kv-2ltd-float16", manifest.wheel_sha256[:12], "lmcache.v1.protocol"):
        assert part in wrong_byte.diagnosis.provenance


def test_the_rerun_line_runs_exactly_the_case_that_failed(wrong_byte, program, tmp_path):
    name, *words = shlex.split(wrong_byte.diagnosis.rerun)
    assert name == "lmconform"
    again = program(*words, "--out", "again")
    assert again.code == 1
    assert "NOT CONFORMANT  1 case" in again.out
    assert f"FAIL  {ENCODE}" in again.out


def test_the_rerun_line_repeats_options_that_change_what_a_case_does(judged):
    found = judged("python:broken_clients:WrongByte", ENCODE, examples=7, seed=9, deadline=3.5).case.diagnosis.rerun
    assert "--examples 7 --seed 9 --deadline 3.5" in found


def test_a_property_that_fails_tells_an_example_that_can_be_kept(judged):
    failed = judged("mutant:code-by-its-low-byte", "lm.fuzz.any-header*", examples=300, seed=11).with_verdict("fail")
    kept = [json.loads(case.diagnosis.counterexample) for case in failed]
    assert {example["reply"]["op"] for example in kept} <= {"get", "exist", "health"}
    assert any(bytes.fromhex(example["reply"]["bytes"])[:2] == b"\xc8\x01" for example in kept)


def test_a_requirement_that_only_a_part_of_a_case_is_about_is_quoted_although_the_case_does_not_cite_it(judged, monkeypatch):
    def out_of_step(judge, *_, **__):
        judge.fail("out of step", cite="LM-CONN-003")

    monkeypatch.setattr(Judge, "in_step", out_of_step)
    case = judged("reference", "lm.broken.exist-stalls").case
    assert "LM-CONN-003" not in case.requirements
    assert case.diagnosis.requirement == "LM-CONN-003"


def test_a_client_that_hangs_is_called_hanging_and_the_run_goes_on(judged, hosted):
    run = judged(hosted("HangsOnTags"), "keys.parse.parse", deadline=1.0)
    hung = run.with_verdict("hang")
    assert run.code == 1
    assert all("tag" in case.id for case in hung)
    assert {case.diagnosis.summary for case in hung} == {"parse_key: no answer within 1 s"}
    assert len(run.with_verdict("pass")) == len(run.cases) - len(hung)


def test_a_hanging_client_inside_the_process_does_not_keep_it_alive(program):
    ended = program(
        "run", "--client", "python:broken_clients:HangsOnTags", "--lmcache", "0.5.6", "--only", "keys.parse.parse",
        "--deadline", "1",
    )  # fmt: skip
    assert ended.code == 1
    assert re.search(r"\d+ pass, 5 hang", ended.out)


def test_a_client_that_dies_is_a_crash_that_names_the_signal_and_the_run_goes_on(judged, hosted):
    run = judged(hosted("DiesOnLayers"), "keys.parse.parse")
    (crash,) = run.with_verdict("crash")
    assert run.code == 1
    assert crash.id == "keys.parse.parse[0.5.6-fixtures-lm.key.parse.layer-31]"
    assert crash.diagnosis.summary == "parse_key: the process ended with signal SIGSEGV"
    assert len(run.with_verdict("pass")) == len(run.cases) - 1


def test_an_answer_against_the_contract_is_a_failure_that_quotes_it(judged):
    case = judged("python:broken_clients:AnswersNonsense", "keys.parse.parse[0.5.6-fixtures-lm.key.parse.plain]").case
    assert case.verdict == "fail"
    assert case.diagnosis.summary == "parse_key: ok.key: expected a key object, got 7"
    assert '{"key": 7}' in case.diagnosis.client_answered


def test_a_line_that_is_no_json_is_a_failure_and_the_run_goes_on(judged, garbage_adapter):
    run = judged(garbage_adapter, "keys.parse.parse[0.5.6-fixtures-lm.key.parse.plain]", "keys.format.format")
    (failed,) = run.with_verdict("fail")
    assert failed.name == "keys.parse.parse"
    assert "Segmentation fault (not really)" in failed.diagnosis.client_answered
    assert {case.name for case in run.with_verdict("pass")} == {"keys.format.format"}


def test_an_operation_that_is_not_declared_is_unsupported_and_costs_nothing(judged):
    run = judged("python:broken_clients:FormatsKeysOnly", "keys.format.format", "keys.parse.parse")
    assert run.code == 0
    skipped = run.with_verdict("unsupported")
    assert {(case.name, case.operation, case.reason) for case in skipped} == {("keys.parse.parse", "parse_key", "not declared")}


def test_a_release_that_is_not_declared_is_unsupported_with_the_reason(judged):
    run = judged("python:broken_clients:OldestOnly", "keys.format.format", lmcache="0.3.1,0.5.6")
    assert run.code == 0
    assert {case.release for case in run.with_verdict("pass")} == {"0.3.1"}
    assert {case.reason for case in run.with_verdict("unsupported")} == {"the client does not declare lmcache 0.5.6"}


def test_only_unsupported_is_not_conformant(judged):
    run = judged("python:broken_clients:FormatsKeysOnly", "keys.parse.*")
    assert set(run.verdicts().values()) == {"unsupported"}
    assert run.code == 1


def test_a_mock_that_differs_from_the_capture_is_drift_for_which_no_client_pays(judged, monkeypatch):
    right = Replies.answer
    monkeypatch.setattr(Replies, "answer", lambda self, request, store: self._no if request.command == "EXIST" else
                        right(self, request, store))  # fmt: skip
    run = judged("reference", "servers.transcripts.replay[0.5.6-mock-lm.server.put-silent]")
    assert (run.code, run.case.verdict) == (3, "mock-drift")
    assert "corpus 0.5.6, lm.server.put-silent" in run.case.diagnosis.provenance


def test_a_live_target_without_an_environment_is_an_environment_error_that_says_what_to_do(judged, monkeypatch, tmp_path):
    monkeypatch.setenv("LMCONFORM_OFFLINE", "1")
    monkeypatch.setenv("LMCONFORM_CACHE", str(tmp_path / "empty"))
    run = judged("reference", "lm.roundtrip.exist", target="live")
    assert (run.code, run.case.verdict) == (3, "environment-error")
    assert "LMCONFORM_OFFLINE forbids" in run.case.diagnosis.summary
    assert "without live in --target" in run.case.diagnosis.summary


def test_an_exception_in_the_harness_is_the_fault_of_the_harness_and_names_the_place(judged, monkeypatch):
    def broken(*_, **__):
        raise LookupError("no such thing")

    monkeypatch.setattr(Judge, "same_value", broken)
    run = judged("reference", "keys.parse.parse[0.5.6-fixtures-lm.key.parse.plain]")
    assert (run.code, run.case.verdict) == (3, "harness-error")
    assert "LookupError: no such thing (in " in run.case.diagnosis.summary
    assert "test_parse.py" in run.case.diagnosis.summary


def test_a_harness_error_wins_over_failures_of_the_client(judged, monkeypatch):
    def broken(*_, **__):
        raise LookupError("no such thing")

    monkeypatch.setattr(Judge, "same_value", broken)
    run = judged("python:broken_clients:WrongByte", ENCODE, "keys.parse.parse[0.5.6-fixtures-lm.key.parse.plain]")
    assert set(run.verdicts().values()) == {"fail", "harness-error"}
    assert run.code == 3
